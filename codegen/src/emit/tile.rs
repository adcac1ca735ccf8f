//! `Schedule::Tile`: a group owns a square, and reads that run down its columns go through local memory.

use super::Emitter;
use super::facts::root_neighbours;
use super::rows::{Read, Rows};
use super::text::{Binding, Text};
use crate::schedule::tile_pitch;
use crate::{Affine, AxisId, BufferId, DType, Expr, Kernel, Schedule, Stmt, tile_bytes};

/// The parts of a [`Schedule::Tile`].
#[derive(Clone, Copy, Debug)]
pub(super) struct Tile {
    group: u32,
    side: u32,
    width: u32,
    across: u32,
}

impl Tile {
    pub fn new(group: u32, side: u32, width: u32, across: u32) -> Self {
        Self { group, side, width, across }
    }

    /// Threads that share a row.
    fn columns(&self) -> u32 {
        self.side / self.width
    }

    /// The rows of a thread along an axis.
    fn rows(&self, axis: AxisId) -> Rows {
        let step = self.group / self.columns();
        Rows { axis, count: self.side / step, step }
    }

    /// The row of the thread in which a loop over its rows along an axis is.
    fn row(&self, axis: AxisId) -> String {
        Text::infix(&Text::atom("y"), "+", &self.rows(axis).passed(), Binding::Sum).code
    }

    /// A thread's element of a row of a tile.
    fn row_place(&self, name: &str, dtype: DType, row: &str) -> String {
        let column = if self.width > 1 { "x + v" } else { "x" };
        format!("{name}[({row}) * {} + {column}]", tile_pitch(self.side, dtype))
    }

    /// The element at the same place of a tile that is turned.
    fn column_place(&self, name: &str, dtype: DType, row: &str) -> String {
        let column = if self.width > 1 { "(x + v)" } else { "x" };
        format!("{name}[{column} * {} + {row}]", tile_pitch(self.side, dtype))
    }
}

/// Bytes of local memory that the tiles of a kernel take.
pub(super) fn local_memory_bytes(kernel: &Kernel, schedule: &Schedule, side: u32) -> usize {
    let tiled = kernel.body.iter().filter_map(|stmt| match stmt {
        Stmt::Let { expr: Expr::Load { buffer, at, .. }, .. } | Stmt::Store { buffer, at, .. } => {
            schedule.is_tiled(kernel, at).then_some(*buffer)
        }
        _ => None,
    });
    tiled.map(|buffer| tile_bytes(side, kernel.buffers[buffer.0 as usize].dtype)).sum()
}

impl Emitter<'_> {
    pub(super) fn emit_tile(&mut self, tile: Tile) {
        let kernel = self.kernel;
        let Some((&inner, outer)) = kernel.parallel.split_last() else { return };
        let across = outer[tile.across as usize];
        self.emit_corner(tile, across, inner);
        let reads: Vec<Read> = kernel
            .body
            .iter()
            .filter(|stmt| self.facts.is_live(stmt))
            .filter_map(Read::of)
            .filter(|read| self.schedule.is_tiled(kernel, &read.at))
            .map(|read| Read { wide: tile.width > 1, ..read })
            .collect();
        let stores: Vec<(BufferId, &Affine)> = kernel
            .body
            .iter()
            .filter_map(|stmt| match stmt {
                Stmt::Store { buffer, at, .. } if self.schedule.is_tiled(kernel, at) => Some((*buffer, at)),
                _ => None,
            })
            .collect();
        let tiles: Vec<String> = reads.iter().map(|read| self.declare_tile(read.buffer, tile)).collect();
        let store_tiles: Vec<String> = stores.iter().map(|(buffer, _)| self.declare_tile(*buffer, tile)).collect();
        let names = self.declare_reads(&reads, tile.rows(inner));

        // The square seen from its other side: threads are neighbours along the other axis.
        if !reads.is_empty() {
            self.out.block();
            self.emit_place(across, "x");
            self.emit_place(inner, "y");
            let column = self.emit_column(across, tile);
            self.emit_read_loop(&reads, &names, tile.rows(inner), column.as_ref());
            self.out.close();
        }

        self.emit_place(across, "y");
        self.emit_place(inner, "x");
        let column = self.emit_column(inner, tile);
        self.emit_row_reads(&kernel.body, tile.rows(across), column.as_ref());
        if !reads.is_empty() {
            self.emit_fill(&reads, &names, &tiles, tile);
            self.out.line(self.words.barrier);
        }
        if stores.is_empty() {
            if column.is_some() {
                self.out.line(&format!("if (i{} >= {}) return;", inner.0, self.extent(inner)));
            }
            return self.emit_rows(&kernel.body, tile.rows(across), None);
        }
        for ((buffer, _), name) in stores.iter().zip(&store_tiles) {
            let place = tile.column_place(name, self.buffer_dtype(*buffer), &tile.row(across));
            self.turned[buffer.0 as usize] = Some(Text::atom(place));
        }
        let column = column.unwrap_or_else(|| Text::new("left > 0", Binding::Relation));
        self.emit_rows(&kernel.body, tile.rows(across), Some(&column));
        self.out.line(self.words.barrier);
        self.emit_turned_stores(&stores, &store_tiles, tile, (across, inner));
    }

    /// Stores what lies in tiles, row by row as it shall lie in memory.
    fn emit_turned_stores(
        &mut self,
        stores: &[(BufferId, &Affine)],
        tiles: &[String],
        tile: Tile,
        (across, inner): (AxisId, AxisId),
    ) {
        self.out.block();
        self.emit_place(across, "x");
        self.emit_place(inner, "y");
        let column = self.emit_column(across, tile);
        let rows = tile.rows(inner);
        let outer_axis = self.open_rows(rows);
        self.out.line(&format!("if ({} >= {}) return;", self.axes[inner.0 as usize].code, self.extent(inner)));
        for ((buffer, at), name) in stores.iter().zip(tiles) {
            let from = tile.row_place(name, self.buffer_dtype(*buffer), &tile.row(inner));
            let to = format!("{}[{}]", self.names.buffer(*buffer), self.affine(at).code);
            match &column {
                Some(column) => self.out.line(&format!("if ({}) {to} = {from};", column.code)),
                None => {
                    let wide = self.wide_type(*buffer, tile.width, Some("STORE"));
                    let run = self.fresh_name("y");
                    self.out.line(&format!("{wide} {run};"));
                    self.out.line("#pragma unroll");
                    self.out.line(&format!("for (int v = 0; v < {}; ++v) {run}.v[v] = {from};", tile.width));
                    self.out.line(&format!("{wide}_store(&{to}, {run}, left);"));
                }
            }
        }
        self.close_rows(rows, outer_axis);
        self.out.close();
    }

    /// Finds the corner of the group's square and the point of the other axes, and the thread's place in the square.
    fn emit_corner(&mut self, tile: Tile, across: AxisId, inner: AxisId) {
        let (index, count) = (self.dialect.index_type(self.kernel.index), self.dialect.count_type(self.kernel.index));
        let (side, unsigned) = (tile.side, self.unsigned_suffix());
        let others: Vec<AxisId> =
            self.kernel.parallel.iter().copied().filter(|&axis| axis != across && axis != inner).collect();
        let tiles = |extent: &str| format!("({extent} + {}{unsigned}) / {side}", side - 1);
        self.out.line(&format!("const {count} g = {};", self.words.group_id[0]));
        self.out.line(&format!("const {count} columns = {};", tiles(self.extent(inner))));
        let (inner, across_name) = (inner.0, across.0);
        self.out.line(&format!("const {index} c{inner} = g % columns * {side};"));
        if others.is_empty() {
            self.out.line(&format!("const {index} c{across_name} = g / columns * {side};"));
        } else {
            self.out.line(&format!("const {count} rows = {};", tiles(self.extent(across))));
            self.out.line(&format!("const {index} c{across_name} = g / columns % rows * {side};"));
            self.out.line(&format!("const {count} point = g / columns / rows;"));
            self.divide_up(Text::atom("point"), &others, None);
        }
        let (thread, columns) = (self.words.local_id, tile.columns());
        let neighbours = if tile.width > 1 { format!(" * {}", tile.width) } else { String::new() };
        self.out.line(&format!("const int x = {thread} % {columns}{neighbours};"));
        self.out.line(&format!("const int y = {thread} / {columns};"));
    }

    /// Names the thread's index along an axis of the square.
    fn emit_place(&mut self, axis: AxisId, place: &str) {
        let index = self.dialect.index_type(self.kernel.index);
        self.out.line(&format!("const {index} i{0} = c{0} + {place};", axis.0));
        self.axes[axis.0 as usize] = Text::atom(format!("i{}", axis.0));
    }

    /// What tells which of the thread's neighbours exist, or the condition under which its only column does.
    fn emit_column(&mut self, axis: AxisId, tile: Tile) -> Option<Text> {
        match root_neighbours(self.kernel, self.schedule) {
            Some(neighbours) => {
                self.emit_left(super::facts::Neighbours { axis, ..neighbours });
                None
            }
            None => {
                debug_assert_eq!(tile.width, 1, "neighbours have an axis");
                Some(Text::new(format!("i{} < {}", axis.0, self.extent(axis)), Binding::Relation))
            }
        }
    }

    fn declare_tile(&mut self, buffer: BufferId, tile: Tile) -> String {
        let (dtype, name) = (self.buffer_dtype(buffer), self.fresh_name("tile"));
        let (c_type, pitch) = (self.dialect.storage_type(dtype), tile_pitch(tile.side, dtype));
        self.out.line(&format!("{} {c_type} {name}[{} * {pitch}];", self.words.shared, tile.side));
        name
    }

    /// Puts what was read into the tiles, row by row as it lies in memory; it will be found down the columns.
    fn emit_fill(&mut self, reads: &[Read], names: &[String], tiles: &[String], tile: Tile) {
        let (rows, row) = (tile.rows(AxisId(0)), tile.row(AxisId(0)));
        let neighbours = tile.width > 1;
        let element = if neighbours { "[r].v[v]" } else { "[r]" };
        self.out.line("#pragma unroll");
        self.out.open(&format!("for (int r = 0; r < {}; ++r)", rows.count));
        let mut lines = Vec::new();
        for ((read, name), tile_name) in reads.iter().zip(names).zip(tiles) {
            let dtype = self.buffer_dtype(read.buffer);
            lines.push(format!("{} = {name}{element};", tile.row_place(tile_name, dtype, &row)));
            let back = tile.column_place(tile_name, dtype, &row);
            self.read[read.vars[0].0.0 as usize] = Some(Text::atom(back));
        }
        if neighbours {
            self.out.line("#pragma unroll");
            self.out.open(&format!("for (int v = 0; v < {}; ++v)", tile.width));
        }
        lines.iter().for_each(|line| self.out.line(line));
        if neighbours {
            self.out.close();
        }
        self.out.close();
    }
}
