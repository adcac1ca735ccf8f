//! Runs emitted kernels on an OpenCL device, and folds along a tree as the device should.

use lazuli_codegen::{Dialect, EmitOptions, IndexWidth, Kernel, Schedule, Source, Tree, emit};

use super::opencl::{Argument, OpenCl};

/// Runs a kernel of inputs, then outputs of as many bytes; what no thread writes stays all ones.
pub fn run_bytes(
    opencl: &OpenCl,
    kernel: &Kernel,
    schedule: &Schedule,
    inputs: &[Vec<u8>],
    outputs: &[usize],
    sizes: &[i64],
    scalars: &[Vec<u8>],
) -> Vec<Vec<u8>> {
    let source = emit(kernel, schedule, Dialect::OpenClC, &EmitOptions::default());
    run_source(opencl, (&source, kernel, schedule), inputs, outputs, sizes, scalars)
}

/// Runs the text of a kernel under its schedule.
pub fn run_source(
    opencl: &OpenCl,
    (source, kernel, schedule): (&Source, &Kernel, &Schedule),
    inputs: &[Vec<u8>],
    outputs: &[usize],
    sizes: &[i64],
    scalars: &[Vec<u8>],
) -> Vec<Vec<u8>> {
    let grid = schedule.grid(kernel, sizes);
    let local = [grid.group[0] as usize, grid.group[1] as usize];
    let global = [grid.groups[0] as usize * local[0], grid.groups[1] as usize * local[1]];
    let mut outputs: Vec<Vec<u8>> = outputs.iter().map(|&bytes| vec![0xff; bytes]).collect();
    let sizes: Vec<Vec<u8>> = sizes
        .iter()
        .map(|&size| match kernel.index {
            IndexWidth::I32 => (size as i32).to_ne_bytes().to_vec(),
            IndexWidth::I64 => size.to_ne_bytes().to_vec(),
        })
        .collect();
    let mut arguments: Vec<Argument<'_>> = inputs.iter().map(|values| Argument::Input(values)).collect();
    arguments.extend(outputs.iter_mut().map(|values| Argument::Output(values)));
    arguments.extend(sizes.iter().chain(scalars).map(|value| Argument::Plain(value)));
    opencl.run(&source.text, &source.entry, global, local, &mut arguments);
    drop(arguments);
    outputs
}

/// Runs a kernel of f32 inputs and one f32 output of `count` elements.
pub fn run(
    opencl: &OpenCl,
    kernel: &Kernel,
    schedule: &Schedule,
    inputs: &[&[f32]],
    count: usize,
    sizes: &[i64],
    scalars: &[f32],
) -> Vec<f32> {
    let inputs: Vec<Vec<u8>> = inputs.iter().map(|values| bytes(values)).collect();
    let scalars: Vec<Vec<u8>> = scalars.iter().map(|scalar| scalar.to_ne_bytes().to_vec()).collect();
    floats(&run_bytes(opencl, kernel, schedule, &inputs, &[count * 4], sizes, &scalars)[0])
}

pub fn bytes(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_ne_bytes()).collect()
}

pub fn floats(bytes: &[u8]) -> Vec<f32> {
    bytes.chunks(4).map(|bytes| f32::from_ne_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])).collect()
}

pub fn numbers(count: usize) -> Vec<f32> {
    (0..count).map(|i| ((i * 7919 + 13) % 1009) as f32 / 64.0 - 7.3).collect()
}

pub fn assert_same(found: &[f32], expected: &[f32], what: &str) {
    let bits = |values: &[f32]| values.iter().map(|value| value.to_bits()).collect::<Vec<u32>>();
    assert_eq!(bits(found), bits(expected), "{what}");
}

/// Folds along a tree, as `Tree`'s documentation says.
pub fn fold<T: Copy>(tree: Tree, values: &[T], identity: T, op: impl Fn(T, T) -> T) -> T {
    let count = tree.accumulators() as usize;
    let mut accumulators = vec![identity; count];
    for (r, &value) in values.iter().enumerate() {
        accumulators[r % count] = op(accumulators[r % count], value);
    }
    let halve = |values: &mut [T]| {
        let mut half = values.len() / 2;
        while half > 0 {
            (0..half).for_each(|v| values[v] = op(values[v], values[v + half]));
            half /= 2;
        }
        values[0]
    };
    let mut lanes: Vec<T> = accumulators.chunks_mut(tree.width as usize).map(halve).collect();
    halve(&mut lanes)
}

/// The f32 sum along a tree.
pub fn sum(tree: Tree, values: &[f32]) -> f32 {
    fold(tree, values, -0.0, |a, b| a + b)
}

/// The f32 maximum along a tree; of equal values the second.
pub fn highest(tree: Tree, values: &[f32]) -> f32 {
    fold(tree, values, f32::NEG_INFINITY, |a, b| if a > b { a } else { b })
}
