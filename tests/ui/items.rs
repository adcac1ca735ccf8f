struct Point {
    x: f32,
}

#[lazuli::kernel]
fn items(y: &mut [f32]) {
    fn inner(x: f32) -> f32 {
        x
    }
    struct Local;
    let p = Point { x: 1.0 };
    let Point { x } = p;
    unsafe {
        y[0] = x;
    }
    let [a, b] = [1.0, 2.0];
    let d4 = [[[[0.0; 2]; 2]; 2]; 2];
    let u: &[f32] = y;
}

#[lazuli::device]
fn factorial(n: u64) -> u64 {
    if n < 2 { 1 } else { n * factorial(n - 1) }
}

fn main() {}
