#[lazuli::device]
fn bump(x: &mut [f32]) {
    x[0] += 1.0;
}

#[lazuli::kernel]
fn lends(y: &mut [f32]) {
    let mut sum = 0.0f32;
    bump(&mut sum);
    y[0] = sum;
}

fn main() {}
