//! Several rows for each thread: what they need of memory is read for all of them before the first is computed, so that the
//! reads are under way together.

use super::Emitter;
use super::facts::{Neighbours, Place, root_neighbours};
use super::text::{Binding, Text};
use super::writer::LINE;
use crate::{Affine, AxisId, BufferId, Expr, Placement, Stmt, Term, Var};

/// The rows of one thread: `count` of them along `axis`, `step` apart.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rows {
    pub axis: AxisId,
    pub count: u32,
    pub step: u32,
}

/// What is read before anything is computed, for one load or for several that share it.
pub(super) struct Read {
    /// The variables loaded, each so many rows ahead.
    pub vars: Vec<(Var, u32)>,
    pub buffer: BufferId,
    pub at: Affine,
    /// True for a run of neighbours.
    pub wide: bool,
}

impl Read {
    /// The load of a statement.
    pub fn of(stmt: &Stmt) -> Option<Self> {
        match stmt {
            Stmt::Let { var, expr: Expr::Load { buffer, at, wide } } => {
                Some(Self { vars: vec![(*var, 0)], buffer: *buffer, at: at.clone(), wide: *wide })
            }
            _ => None,
        }
    }

    /// Rows that are read beyond those that are computed.
    fn more(&self) -> u32 {
        self.vars.iter().map(|(_, ahead)| *ahead).max().unwrap_or(0)
    }

    fn moves_along(&self, axis: AxisId) -> bool {
        self.at.terms.iter().any(|(term, _)| *term == Term::Axis(axis))
    }
}

impl Emitter<'_> {
    /// Finds the thread's rows, reads what they need, computes them.
    pub(super) fn emit_run_of_rows(&mut self, width: u32, count: u32, placement: Placement) {
        let Some((&inner, outer)) = self.kernel.parallel.split_last() else { return };
        let Some((&axis, others)) = outer.split_last() else { return };
        self.emit_run_place((inner, width), (axis, count), others, placement);
        if width > 1 {
            self.emit_left(Neighbours { width, axis: inner, by_hand: true });
        }
        let rows = Rows { axis, count, step: 1 };
        self.emit_row_reads(&self.kernel.body, rows, None);
        self.emit_rows(&self.kernel.body, rows, None);
    }

    /// Finds the thread's column, its first row and its point of the other axes; a thread beyond the last point returns.
    fn emit_run_place(
        &mut self,
        (inner, width): (AxisId, u32),
        (axis, count): (AxisId, u32),
        others: &[AxisId],
        placement: Placement,
    ) {
        let (index, unsigned) = (self.dialect.index_type(self.kernel.index), self.unsigned_suffix());
        let counter = self.dialect.count_type(self.kernel.index);
        let runs = |extent: &str, length: u32| format!("({extent} + {}{unsigned}) / {length}", length - 1);
        let id = |axis| self.dialect.global_id(self.kernel.index, axis);
        let (first, second) = (id(0), id(1));
        if placement == Placement::InnerAxis {
            self.emit_direct_axis(inner.0, first.clone(), width);
            if others.is_empty() {
                return self.emit_direct_axis(axis.0, second, count);
            }
        }
        // The number of the thread's run of rows, where it is counted with other axes or columns.
        let mut run = match placement {
            Placement::InnerAxis => second,
            Placement::Linear => first,
        };
        self.out.line(&format!("const {counter} t = {run};"));
        self.out.line(&format!("const {counter} runs = {};", runs(self.extent(axis), count)));
        let mut all = vec!["runs".to_owned()];
        all.extend(others.iter().map(|&axis| self.extent(axis).to_owned()));
        run = "t".to_owned();
        if placement == Placement::Linear {
            let mut columns = self.extent(inner).to_owned();
            if width > 1 {
                self.out.line(&format!("const {counter} columns = {};", runs(&columns, width)));
                columns = "columns".to_owned();
            }
            let neighbours = if width > 1 { format!(" * {width}") } else { String::new() };
            all.push(columns.clone());
            self.out.line(&format!("if (t >= {}) return;", all.join(" * ")));
            self.out.line(&format!("const {index} i{} = t % {columns}{neighbours};", inner.0));
            run = format!("t / {columns}");
        } else {
            self.out.line(&format!("if (t >= {}) return;", all.join(" * ")));
        }
        if others.is_empty() {
            return self.out.line(&format!("const {index} i{} = {run} * {count};", axis.0));
        }
        self.out.line(&format!("const {index} i{} = {run} % runs * {count};", axis.0));
        self.out.line(&format!("const {counter} point = {run} / runs;"));
        self.divide_up(Text::atom("point"), others, None);
    }

    /// Reads what the rows need, apart from what goes through a tile and what is found through a computed index.
    /// `column` is the condition under which the thread's column exists, where it may not.
    pub(super) fn emit_row_reads(&mut self, body: &[Stmt], rows: Rows, column: Option<&Text>) {
        let (mut each, once): (Vec<Read>, Vec<Read>) =
            self.row_reads(body, rows).into_iter().partition(|read| read.moves_along(rows.axis));
        for read in &once {
            let (c_type, name) = (self.read_type(read), self.fresh_name("x"));
            let mut element = self.read_element(read);
            if let Some(column) = column.filter(|_| self.facts.address_varies(&read.at)) {
                element = Text::choice(column, &element, &Text::atom("0"));
            }
            self.out.line(&format!("const {c_type} {name} = {};", element.code));
            self.set_read(read, &name, None);
        }
        // Those of like many rows share a loop.
        each.sort_by_key(|read| std::cmp::Reverse(read.more()));
        let names = self.declare_reads(&each, rows);
        let mut done = 0;
        for alike in each.chunk_by(|a, b| a.more() == b.more()) {
            self.emit_read_loop(alike, &names[done..], rows, column);
            done += alike.len();
        }
        for (read, name) in each.iter().zip(&names) {
            self.set_read(read, name, Some("r"));
        }
    }

    fn row_reads(&self, body: &[Stmt], rows: Rows) -> Vec<Read> {
        let neighbours = root_neighbours(self.kernel, self.schedule);
        let is_ready = |stmt: &&Stmt| {
            // One by one, neighbours are loaded where they are computed.
            neighbours.is_none_or(|neighbours| self.facts.place(stmt, neighbours) != Place::Each)
        };
        let of_axes = |read: &Read| read.at.terms.iter().all(|(term, _)| matches!(term, Term::Axis(_)));
        let mut reads: Vec<Read> = Vec::new();
        for mut read in body
            .iter()
            .filter(|stmt| self.facts.is_live(stmt))
            .filter(is_ready)
            .filter_map(Read::of)
            .filter(|read| of_axes(read) && !self.schedule.is_tiled(self.kernel, &read.at))
        {
            read.wide &= neighbours.is_some();
            if let Some((_, by)) = read.at.ahead.filter(|(axis, _)| *axis == rows.axis && rows.step == 1) {
                read.vars[0].1 = by;
                read.at.ahead = None;
            }
            match reads.iter_mut().find(|other| other.buffer == read.buffer && other.at == read.at) {
                Some(other) => other.vars.append(&mut read.vars),
                None => reads.push(read),
            }
        }
        reads
    }

    /// Declares an array for each read, an element for each row; returns their names.
    pub(super) fn declare_reads(&mut self, reads: &[Read], rows: Rows) -> Vec<String> {
        let declare = |read: &Read| {
            let (c_type, name) = (self.read_type(read), self.fresh_name("x"));
            self.out.line(&format!("{c_type} {name}[{}];", rows.count + read.more()));
            name
        };
        reads.iter().map(declare).collect()
    }

    /// Fills the arrays of reads of equally many rows, as far as these exist.
    pub(super) fn emit_read_loop(&mut self, reads: &[Read], names: &[String], rows: Rows, column: Option<&Text>) {
        let Some(more) = reads.first().map(Read::more) else { return };
        let rows = Rows { count: rows.count + more, ..rows };
        let outer_axis = self.open_rows(rows);
        let mut condition = format!("{} < {}", self.axes[rows.axis.0 as usize].code, self.extent(rows.axis));
        if more > 0 {
            condition = format!("{condition} + {more}");
        }
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

    /// Computes and stores the rows. With `column`, the condition under which the thread's column exists, no thread
    /// leaves: it has more to do.
    pub(super) fn emit_rows(&mut self, body: &[Stmt], rows: Rows, column: Option<&Text>) {
        let outer_axis = self.open_rows(rows);
        let row = self.axes[rows.axis.0 as usize].code.clone();
        let extent = self.extent(rows.axis);
        match column {
            None => self.out.line(&format!("if ({row} >= {extent}) return;")),
            Some(column) => self.out.open(&format!("if ({row} < {extent} && {})", column.code)),
        }
        match root_neighbours(self.kernel, self.schedule) {
            Some(neighbours) => {
                self.emit_placed(body, neighbours, Place::Before);
                self.emit_neighbour_loop(body, neighbours);
            }
            None => self.emit_block(body),
        }
        if column.is_some() {
            self.out.close();
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
    fn read_type(&mut self, read: &Read) -> String {
        match root_neighbours(self.kernel, self.schedule).filter(|_| read.wide) {
            Some(neighbours) => self.wide_type(read.buffer, neighbours.width, Some("LOAD")),
            None => self.dialect.storage_type(self.buffer_dtype(read.buffer)).to_owned(),
        }
    }

    fn read_element(&mut self, read: &Read) -> Text {
        let element = format!("{}[{}]", self.names.buffer(read.buffer), self.affine(&read.at).code);
        match read.wide {
            true => Text::atom(format!("{}_load(&{element}, left)", self.read_type(read))),
            false => Text::atom(element),
        }
    }

    /// From here on the variables are found where they were read to, in the given row of an array.
    fn set_read(&mut self, read: &Read, name: &str, row: Option<&str>) {
        for &(var, ahead) in &read.vars {
            let place = match (row, ahead) {
                (None, _) => String::new(),
                (Some(row), 0) => format!("[{row}]"),
                (Some(row), ahead) => format!("[{row} + {ahead}]"),
            };
            let element = Text::atom(format!("{name}{place}{}", if read.wide { ".v[v]" } else { "" }));
            if read.wide {
                self.set_value(var, element.clone());
            }
            self.read[var.0 as usize] = Some(element);
        }
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
