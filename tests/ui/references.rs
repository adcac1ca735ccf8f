#[lazuli::device]
fn bumped(x: &mut f32) {
    *x += 1.0;
}

#[lazuli::kernel]
fn references(x: &[f32], y: &mut [f32]) {
    let first = &x[0];
    let part = &x[1..3];
    let mut sum = 0.0;
    bump(&mut sum);
    y[0] = *first;
    y[1..3] = part;
}

#[lazuli::kernel]
fn rows(x: &[&[f32]], y: &mut f32) {}

fn main() {}
