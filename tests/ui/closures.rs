#[lazuli::kernel]
fn closed(x: &[f32], y: &mut [f32]) {
    let double = |v| v * 2.0;
    y[0] = double(x[0]);
    y[1] = x.iter().map(|v| v * 2.0).sum();
}

#[lazuli::device]
fn applied(f: fn(f32) -> f32, x: f32) -> f32 {
    f(x)
}

fn main() {}
