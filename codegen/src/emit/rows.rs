//! Several rows for each thread: what they need of memory is read for all of them before the first is computed, so that the
//! reads are under way together.

use super::Emitter;
use super::facts::{Place, root_neighbours};
use super::text::{Binding, Text};
use super::writer::LINE;
use crate::{Affine, AxisId, BufferId, Expr, Stmt, Term, Var};

/// The rows of one thread: `count` of them along `axis`, `step` apart.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rows {
    pub axis: AxisId,
    pub count: u32,
    pub step: u32,
}

/// A load that is done before anything is computed.
pub(super) struct Read<'b> {
    pub var: Var,
    pub buffer: BufferId,
    pub at: &'b Affine,
    /// True for a run of neighbours.
    pub wide: bool,
}

impl<'b> Read<'b> {
    /// The load of a statement.
    pub fn of(stmt: &'b Stmt) -> Option<Self> {
        match stmt {
            Stmt::Let { var, expr: Expr::Load { buffer, at, wide } } => {
                Some(Self { var: *var, buffer: *buffer, at, wide: *wide })
            }
            _ => None,
        }
    }

    fn moves_along(&self, axis: AxisId) -> bool {
        self.at.terms.iter().any(|(term, _)| *term == Term::Axis(axis))
    }
}

impl Emitter<'_> {
    /// Reads what the rows need, apart from what goes through a tile and what is found through a computed index. `column` is the
    /// condition under which the thread's column exists, where it may not.
    pub(super) fn emit_row_reads(&mut self, body: &[Stmt], rows: Rows, column: Option<&Text>) {
        let (each, once): (Vec<Read<'_>>, Vec<Read<'_>>) =
            self.row_reads(body).into_iter().partition(|read| read.moves_along(rows.axis));
        for read in &once {
            let (c_type, name) = (self.read_type(read), self.fresh_name("x"));
            let mut element = self.read_element(read);
            if let Some(column) = column.filter(|_| self.facts.address_varies(read.at)) {
                element = Text::choice(column, &element, &Text::atom("0"));
            }
            self.out.line(&format!("const {c_type} {name} = {};", element.code));
            self.set_read(read, &name);
        }
        let names = self.declare_reads(&each, rows);
        self.emit_read_loop(&each, &names, rows, column);
        for (read, name) in each.iter().zip(&names) {
            self.set_read(read, &format!("{name}[r]"));
        }
    }

    fn row_reads<'b>(&self, body: &'b [Stmt]) -> Vec<Read<'b>> {
        let neighbours = root_neighbours(self.kernel, self.schedule);
        let is_ready = |stmt: &&Stmt| {
            // One by one, neighbours are loaded where they are computed.
            neighbours.is_none_or(|neighbours| self.facts.place(stmt, neighbours) != Place::Each)
        };
        let of_axes = |read: &Read<'_>| read.at.terms.iter().all(|(term, _)| matches!(term, Term::Axis(_)));
        body.iter()
            .filter(|stmt| self.facts.is_live(stmt))
            .filter(is_ready)
            .filter_map(Read::of)
            .filter(|read| of_axes(read) && !self.schedule.is_tiled(self.kernel, read.at))
            .map(|read| Read { wide: read.wide && neighbours.is_some(), ..read })
            .collect()
    }

    /// Declares an array for each read, an element a row; returns their names.
    pub(super) fn declare_reads(&mut self, reads: &[Read<'_>], rows: Rows) -> Vec<String> {
        let declare = |read| {
            let (c_type, name) = (self.read_type(read), self.fresh_name("x"));
            self.out.line(&format!("{c_type} {name}[{}];", rows.count));
            name
        };
        reads.iter().map(declare).collect()
    }

    /// Fills the arrays of the rows that exist.
    pub(super) fn emit_read_loop(&mut self, reads: &[Read<'_>], names: &[String], rows: Rows, column: Option<&Text>) {
        if reads.is_empty() {
            return;
        }
        let outer_axis = self.open_rows(rows);
        let mut condition = format!("{} < {}", self.axes[rows.axis.0 as usize].code, self.extent(rows.axis));
        if let Some(column) = column {
            condition = format!("{condition} && {}", column.code);
        }
        let lines: Vec<String> = reads
            .iter()
            .zip(names)
            .map(|(read, name)| format!("{name}[r] = {};", self.read_element(read).code))
            .collect();
        match lines.as_slice() {
            [line] if condition.len() + line.len() + 20 <= LINE => self.out.line(&format!("if ({condition}) {line}")),
            lines => {
                self.out.open(&format!("if ({condition})"));
                lines.iter().for_each(|line| self.out.line(line));
                self.out.close();
            }
        }
        self.close_rows(rows, outer_axis);
    }

    /// Computes and stores the rows.
    pub(super) fn emit_rows(&mut self, body: &[Stmt], rows: Rows) {
        let outer_axis = self.open_rows(rows);
        let row = self.axes[rows.axis.0 as usize].code.clone();
        self.out.line(&format!("if ({row} >= {}) return;", self.extent(rows.axis)));
        match root_neighbours(self.kernel, self.schedule) {
            Some(neighbours) => {
                self.emit_placed(body, neighbours, Place::Before);
                self.emit_neighbour_loop(body, neighbours);
            }
            None => self.emit_block(body),
        }
        self.close_rows(rows, outer_axis);
    }

    /// Opens a loop over rows, in which the axis's index is that of the first one, plus those passed; returns the former.
    pub(super) fn open_rows(&mut self, rows: Rows) -> Text {
        self.out.line("#pragma unroll");
        self.out.open(&format!("for (int r = 0; r < {}; ++r)", rows.count));
        let axis = &mut self.axes[rows.axis.0 as usize];
        let each = Text::infix(axis, "+", &rows.passed(), Binding::Sum);
        std::mem::replace(axis, each)
    }

    pub(super) fn close_rows(&mut self, rows: Rows, outer_axis: Text) {
        self.axes[rows.axis.0 as usize] = outer_axis;
        self.out.close();
    }

    /// The type of what a read gives, as it lies in memory.
    fn read_type(&mut self, read: &Read<'_>) -> String {
        match root_neighbours(self.kernel, self.schedule).filter(|_| read.wide) {
            Some(neighbours) => self.wide_type(read.buffer, neighbours.width, "LOAD"),
            None => self.dialect.storage_type(self.buffer_dtype(read.buffer)).to_owned(),
        }
    }

    fn read_element(&mut self, read: &Read<'_>) -> Text {
        let element = format!("{}[{}]", self.names.buffer(read.buffer), self.affine(read.at).code);
        match read.wide {
            true => Text::atom(format!("{}_load(&{element}, left)", self.read_type(read))),
            false => Text::atom(element),
        }
    }

    /// From here on the variable is found where it was read to.
    fn set_read(&mut self, read: &Read<'_>, name: &str) {
        let element = Text::atom(if read.wide { format!("{name}.v[v]") } else { name.to_owned() });
        if read.wide {
            self.set_value(read.var, element.clone());
        }
        self.read[read.var.0 as usize] = Some(element);
    }
}

impl Rows {
    /// How many rows lie between the first one and row number r.
    pub fn passed(&self) -> Text {
        match self.step {
            1 => Text::atom("r"),
            step => Text::new(format!("r * {step}"), Binding::Product),
        }
    }
}
