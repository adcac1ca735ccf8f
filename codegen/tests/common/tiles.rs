//! Kernels that read some of what they need down the columns, and the tiles they are run in.

use super::*;
use BinaryOp::*;
use DType::*;

/// Every golden kernel of this file, with its name and its schedule.
pub fn all() -> Vec<(String, Kernel, Schedule)> {
    let kernels = [
        ("tile_add_f32", add_transposed(true), tile(256, 64, 4, 0)),
        ("tile_add_f32_narrow", add_transposed(false), tile(256, 64, 1, 0)),
        ("tile_store_f32", turned_results(true), tile(256, 64, 4, 0)),
        ("tile_store_f32_narrow", turned_results(false), tile(256, 64, 1, 0)),
        ("tile_both_f16", both(F16, 2, IndexWidth::I64, true), tile(128, 32, 8, 1)),
        ("tile_both_f64", both(F64, 0, IndexWidth::I32, true), tile(256, 32, 2, 0)),
    ];
    kernels.map(|(name, kernel, schedule)| (name.to_owned(), kernel, schedule)).into()
}

/// Tiles across the parallel axis at a place.
pub const fn tile(group: u32, side: u32, width: u32, across: u32) -> Schedule {
    Schedule::Tile { group, side, width, across }
}

/// `a + s * b.T + row + column`.
pub fn add_transposed(wide: bool) -> Kernel {
    let mut k = Builder::new("mul_add_f32");
    let [a, b, row, column] = [(); 4].map(|()| k.input(F32));
    let (out, s) = (k.output(F32), k.scalar(F32));
    let (i, j) = (k.parallel(), k.parallel());
    let [a_pitch, b_pitch, out_pitch] = [(); 3].map(|()| k.size());
    let body = &mut Vec::new();
    let a = k.load(body, a, &at(None, &[(i, Some(a_pitch)), (j, None)]), wide);
    let s = k.value(body, F32, Expr::Scalar(s));
    let b = k.load(body, b, &at(None, &[(i, None), (j, Some(b_pitch))]), wide);
    let product = k.binary(body, Mul, s, b);
    let sum = k.binary(body, Add, a, product);
    let row = k.load(body, row, &at(None, &[(j, None)]), wide);
    let sum = k.binary(body, Add, sum, row);
    let column = k.load(body, column, &at(None, &[(i, Some(a_pitch))]), false);
    let sum = k.binary(body, Add, sum, column);
    k.store(body, out, &at(None, &[(i, Some(out_pitch)), (j, None)]), sum, wide);
    let body = std::mem::take(body);
    k.finish(body)
}

/// `a + b.T` in one order and `a - b.T` in the other.
pub fn turned_results(wide: bool) -> Kernel {
    let mut k = Builder::new("add_sub_f32");
    let (a, b) = (k.input(F32), k.input(F32));
    let (sum, difference) = (k.output(F32), k.output(F32));
    let (i, j) = (k.parallel(), k.parallel());
    let [pitch, turned_pitch] = [(); 2].map(|()| k.size());
    let (here, there) = (at(None, &[(i, Some(pitch)), (j, None)]), at(None, &[(i, None), (j, Some(turned_pitch))]));
    let body = &mut Vec::new();
    let a = k.load(body, a, &here, wide);
    let b = k.load(body, b, &there, wide);
    let value = k.binary(body, Add, a, b);
    k.store(body, sum, &here, value, wide);
    let value = k.binary(body, Sub, a, b);
    k.store(body, difference, &there, value, wide);
    let body = std::mem::take(body);
    k.finish(body)
}

/// Copies of a matrix and of another that is turned, of `batch` more axes: the first outside both of the matrix's,
/// the second between them. The sizes are the extents, then the turned one's stride along the innermost axis, then
/// the steps of the others in all three.
pub fn both(dtype: DType, batch: usize, index: IndexWidth, wide: bool) -> Kernel {
    let mut k = Builder::new("copy");
    k.kernel.index = index;
    let (straight, turned) = (k.input(dtype), k.input(dtype));
    let (copy, turned_copy) = (k.output(dtype), k.output(dtype));
    let axes: Vec<AxisId> = (0..2 + batch).map(|_| k.parallel()).collect();
    let stride = k.size();
    let steps: Vec<SizeId> = (0..1 + batch).map(|_| k.size()).collect();
    let (&inner, outer) = axes.split_last().expect("two axes");
    // In the turned one the innermost axis and the tile's other change places.
    let across = across_of(batch);
    let mut here: Vec<(AxisId, Option<SizeId>)> = outer.iter().zip(&steps).map(|(&a, &s)| (a, Some(s))).collect();
    let mut there = here.clone();
    here.push((inner, None));
    there[across].1 = None;
    there.push((inner, Some(stride)));
    let (here, there) = (at(None, &here), at(None, &there));
    let body = &mut Vec::new();
    let first = k.load(body, straight, &here, wide);
    let second = k.load(body, turned, &there, wide);
    k.store(body, copy, &here, first, wide);
    k.store(body, turned_copy, &here, second, wide);
    let body = std::mem::take(body);
    k.finish(body)
}

/// The place of the other axis of the tiles of [`both`].
pub const fn across_of(batch: usize) -> usize {
    if batch == 0 { 0 } else { 1 }
}
