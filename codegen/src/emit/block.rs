//! Statements in a row, run for one element or for the neighbours a thread owns.

use super::Emitter;
use super::elements::Elements;
use super::facts::{Neighbours, Place};
use super::prelude::Section;
use super::text::{Binding, Text};
use super::writer::LINE;
use crate::{Affine, BufferId, DType, Expr, IndexWidth, Stmt, Var};

impl Emitter<'_> {
    pub(super) fn emit_block(&mut self, body: &[Stmt]) {
        body.iter().for_each(|stmt| self.emit_stmt(stmt));
    }

    pub(super) fn emit_stmt(&mut self, stmt: &Stmt) {
        if !self.facts.is_live(stmt) {
            return;
        }
        match stmt {
            Stmt::Let { var, expr } => self.emit_let(*var, expr),
            Stmt::Store { buffer, at, value, .. } => self.emit_store(*buffer, at, *value),
            Stmt::Reduce(_) | Stmt::Loop(_) => {
                if let Some(elements) = Elements::of(stmt) {
                    self.emit_serial(&elements);
                }
            }
            // Of the top level of a group, which knows how to.
            Stmt::Combine(_) => {}
        }
    }

    fn emit_store(&mut self, buffer: BufferId, at: &Affine, value: Var) {
        let stored = self.encoded(self.buffer_dtype(buffer), value);
        if let Some(to) = &self.turned[buffer.0 as usize] {
            return self.out.line(&format!("{} = {};", to.code, stored.code));
        }
        let to = format!("{}[{}]", self.names.buffer(buffer), self.affine(at).code);
        let conditions: Vec<&str> = self.guard.iter().chain(&self.in_range).map(|text| text.code.as_str()).collect();
        let condition =
            if conditions.is_empty() { String::new() } else { format!("if ({}) ", conditions.join(" && ")) };
        let line = format!("{condition}{to} = {};", stored.code);
        if line.len() <= LINE || stored.code.len() < 16 {
            self.out.line(&line);
        } else {
            let (name, c_type) = (self.fresh_name("y"), self.dialect.storage_type(self.buffer_dtype(buffer)));
            self.out.line(&format!("const {c_type} {name} = {};", stored.code));
            self.out.line(&format!("{condition}{to} = {name};"));
        }
    }

    /// Runs a body for neighbours of which the thread owns `width`, or fewer at the end of a row.
    pub(super) fn emit_for_neighbours(&mut self, body: &[Stmt], neighbours: Neighbours) {
        self.emit_placed(body, neighbours, Place::Before);
        self.emit_left(neighbours);
        self.emit_wide_loads(body, neighbours, false);
        self.emit_neighbour_loop(body, neighbours);
    }

    /// Names how many neighbours there are at the most, from the first to the end of the row.
    pub(super) fn emit_left(&mut self, neighbours: Neighbours) {
        let index = self.dialect.index_type(self.kernel.index);
        let extent = self.extent(neighbours.axis).to_owned();
        let first = self.axes[neighbours.axis.0 as usize].code.clone();
        self.out.line(&format!("const {index} left = {extent} - {first};"));
    }

    /// The loop over neighbours, once what is loaded of all of them is there, and their stores.
    pub(super) fn emit_neighbour_loop(&mut self, body: &[Stmt], neighbours: Neighbours) {
        let stores = self.declare_wide_stores(body, neighbours);
        self.out.line("#pragma unroll");
        self.out.open(&format!("for (int v = 0; v < {}; ++v)", neighbours.width));
        let outer_axis = self.enter_loop(neighbours);
        self.guard = Some(Text::new("v < left", Binding::Relation));
        self.emit_each(body, neighbours, &stores);
        self.guard = None;
        self.axes[neighbours.axis.0 as usize] = outer_axis;
        self.out.close();
        self.emit_wide_stores(body, neighbours, &stores, false);
    }

    /// Within the loop over neighbours the axis's index is that of the first one, plus v.
    pub(super) fn enter_loop(&mut self, neighbours: Neighbours) -> Text {
        let axis = &mut self.axes[neighbours.axis.0 as usize];
        let each = Text::infix(axis, "+", &Text::atom("v"), Binding::Sum);
        std::mem::replace(axis, each)
    }

    /// The statements of one place, in order.
    pub(super) fn emit_placed(&mut self, body: &[Stmt], neighbours: Neighbours, place: Place) {
        for stmt in body {
            if self.facts.place(stmt, neighbours) == place {
                self.emit_stmt(stmt);
            }
        }
    }

    /// Loads runs of neighbours, all of which are there if `full`, else `left` of them.
    pub(super) fn emit_wide_loads(&mut self, body: &[Stmt], neighbours: Neighbours, full: bool) {
        for (var, buffer, at) in self.wide_loads(body, neighbours) {
            let name = self.fresh_name("x");
            let from = format!("&{}[{}]", self.names.buffer(buffer), self.affine(at).code);
            if full {
                let (wide, global) = (self.wide_type(buffer, neighbours.width, None), self.words.global);
                self.out.line(&format!("const {wide} {name} = *({global}const {wide} *){from};"));
            } else {
                let wide = self.wide_type(buffer, neighbours.width, Some("LOAD"));
                self.out.line(&format!("const {wide} {name} = {wide}_load({from}, left);"));
            }
            self.set_value(var, Text::atom(format!("{name}.v[v]")));
        }
    }

    /// The loads of runs of neighbours.
    pub(super) fn wide_loads<'b>(&self, body: &'b [Stmt], neighbours: Neighbours) -> Vec<(Var, BufferId, &'b Affine)> {
        body.iter()
            .filter_map(|stmt| match stmt {
                Stmt::Let { var, expr: Expr::Load { buffer, at, .. } }
                    if self.facts.is_live(stmt) && self.facts.place(stmt, neighbours) == Place::WideLoad =>
                {
                    Some((*var, *buffer, at))
                }
                _ => None,
            })
            .collect()
    }

    /// Declares runs of neighbours that will be stored; returns their names in order.
    pub(super) fn declare_wide_stores(&mut self, body: &[Stmt], neighbours: Neighbours) -> Vec<String> {
        let mut stores = Vec::new();
        for stmt in body {
            let Stmt::Store { buffer, .. } = stmt else { continue };
            if self.facts.place(stmt, neighbours) == Place::WideStore {
                let wide = self.wide_type(*buffer, neighbours.width, None);
                let name = self.fresh_name("y");
                self.out.line(&format!("{wide} {name};"));
                stores.push(name);
            }
        }
        stores
    }

    /// The statements of the loop over neighbours; `stores` collect what is stored after it.
    pub(super) fn emit_each(&mut self, body: &[Stmt], neighbours: Neighbours, stores: &[String]) {
        let mut stores = stores.iter();
        for stmt in body {
            match (stmt, self.facts.place(stmt, neighbours)) {
                (_, Place::Before) => {}
                (_, Place::Each) => self.emit_stmt(stmt),
                (Stmt::Let { var, expr: Expr::Load { buffer, .. } }, _) if self.facts.is_live(stmt) => {
                    let element = self.value(*var).clone();
                    // Kept as it was loaded.
                    if self.slots[var.0 as usize].as_ref().is_some_and(|slot| slot.code == element.code) {
                        continue;
                    }
                    let value = self.arithmetic.decoded(self.buffer_dtype(*buffer), element);
                    self.bind(*var, value, "v", false);
                }
                (Stmt::Store { buffer, value, .. }, _) => {
                    let value = self.encoded(self.buffer_dtype(*buffer), *value);
                    if let Some(name) = stores.next() {
                        self.out.line(&format!("{name}.v[v] = {};", value.code));
                    }
                }
                _ => {}
            }
        }
    }

    /// Stores the runs that were collected; as for loads.
    pub(super) fn emit_wide_stores(&mut self, body: &[Stmt], neighbours: Neighbours, stores: &[String], full: bool) {
        let mut stores = stores.iter();
        for stmt in body {
            let Stmt::Store { buffer, at, .. } = stmt else { continue };
            if self.facts.place(stmt, neighbours) != Place::WideStore {
                continue;
            }
            if let Some(name) = stores.next() {
                let to = format!("&{}[{}]", self.names.buffer(*buffer), self.affine(at).code);
                let condition = self.in_range.as_ref().map_or(String::new(), |text| format!("if ({}) ", text.code));
                if full {
                    let (wide, global) = (self.wide_type(*buffer, neighbours.width, None), self.words.global);
                    self.out.line(&format!("{condition}*({global}{wide} *){to} = {name};"));
                } else {
                    let wide = self.wide_type(*buffer, neighbours.width, Some("STORE"));
                    self.out.line(&format!("{condition}{wide}_store({to}, {name}, left);"));
                }
            }
        }
    }

    pub(super) fn buffer_dtype(&self, buffer: BufferId) -> DType {
        self.kernel.buffers[buffer.0 as usize].dtype
    }

    /// The type of `width` neighbours in memory, with its load or store of some of them made available.
    pub(super) fn wide_type(&mut self, buffer: BufferId, width: u32, direction: Option<&str>) -> String {
        let dtype = self.buffer_dtype(buffer).storage();
        let name = self.arithmetic.prelude.dtype(dtype);
        let index = match self.kernel.index {
            IndexWidth::I32 => "i32",
            IndexWidth::I64 => "i64",
        };
        let bytes = dtype.size_bytes() * width as usize;
        self.arithmetic.prelude.define(Section::Wide, format!("LAZULI_WIDE({name}, {width}, {bytes})"));
        if let Some(direction) = direction {
            self.arithmetic.prelude.define(Section::Wide, format!("LAZULI_WIDE_{direction}({name}, {width}, {index})"));
        }
        format!("{name}x{width}")
    }
}
