//! Kernels whose points share what they read, and the rows they are run in.

use super::*;
use BinaryOp::*;
use DType::*;

/// Every golden kernel of this file, with its name and its schedule.
pub fn all() -> Vec<(String, Kernel, Schedule)> {
    use Placement::{InnerAxis, Linear};
    let kernels = [
        ("stencil_rows_f32", five_points(F32, 0, IndexWidth::I32), run_of_rows(1, 4, InnerAxis)),
        ("stencil_rows_f64", five_points(F64, 2, IndexWidth::I64), run_of_rows(1, 4, Linear)),
        ("rows_bf16_x8", three_rows(BF16), run_of_rows(8, 2, InnerAxis)),
        ("rows_f32_x4", three_rows(F32), run_of_rows(4, 4, Linear)),
    ];
    kernels.map(|(name, kernel, schedule)| (name.to_owned(), kernel, schedule)).into()
}

/// So many rows for each thread.
pub const fn run_of_rows(width: u32, rows: u32, placement: Placement) -> Schedule {
    Schedule::Rows { group: 256, width, rows, placement }
}

/// `s * (up + down + left + right) - middle` of the matrices that `batch` more axes count. The sizes are the extents, the
/// steps of all but the innermost axis in the input, then in the output, then the input's offsets up, left and right.
pub fn five_points(dtype: DType, batch: usize, index: IndexWidth) -> Kernel {
    let mut k = Builder::new("add_mul_sub");
    k.kernel.index = index;
    let (from, to, s) = (k.input(dtype), k.output(dtype), k.scalar(dtype));
    let axes: Vec<AxisId> = (0..2 + batch).map(|_| k.parallel()).collect();
    let [from_steps, to_steps] = [(); 2].map(|()| (0..1 + batch).map(|_| k.size()).collect::<Vec<SizeId>>());
    let [up, left, right] = [(); 3].map(|()| k.size());
    let (&inner, outer) = axes.split_last().expect("two axes");
    let place = |offset: Option<SizeId>, steps: &[SizeId], ahead: u32| {
        let terms: Vec<_> = outer.iter().zip(steps).map(|(&axis, &step)| (axis, Some(step))).collect();
        let at = at(offset, &[&terms[..], &[(inner, None)]].concat());
        Affine { ahead: (ahead > 0).then(|| (outer[batch], ahead)), ..at }
    };
    let body = &mut Vec::new();
    let [up_value, middle, down] =
        [0, 1, 2].map(|ahead| k.load(body, from, &place(Some(up), &from_steps, ahead), false));
    let left = k.load(body, from, &place(Some(left), &from_steps, 0), false);
    let right = k.load(body, from, &place(Some(right), &from_steps, 0), false);
    let sum = k.binary(body, Add, up_value, down);
    let sum = k.binary(body, Add, sum, left);
    let sum = k.binary(body, Add, sum, right);
    let s = k.value(body, dtype, Expr::Scalar(s));
    let product = k.binary(body, Mul, s, sum);
    let result = k.binary(body, Sub, product, middle);
    k.store(body, to, &place(None, &to_steps, 0), result, false);
    let body = std::mem::take(body);
    k.finish(body)
}

/// `max(a[i], a[i + 3]) - row`, in runs of neighbours.
pub fn three_rows(dtype: DType) -> Kernel {
    let mut k = Builder::new("max_sub");
    let (from, row, to) = (k.input(dtype), k.input(dtype), k.output(dtype));
    let (i, j) = (k.parallel(), k.parallel());
    let (pitch, out_pitch) = (k.size(), k.size());
    let body = &mut Vec::new();
    let here = at(None, &[(i, Some(pitch)), (j, None)]);
    let first = k.load(body, from, &here, true);
    let second = k.load(body, from, &Affine { ahead: Some((i, 3)), ..here }, true);
    let row = k.load(body, row, &at(None, &[(j, None)]), true);
    let most = k.binary(body, Maximum, first, second);
    let result = k.binary(body, Sub, most, row);
    k.store(body, to, &at(None, &[(i, Some(out_pitch)), (j, None)]), result, true);
    let body = std::mem::take(body);
    k.finish(body)
}
