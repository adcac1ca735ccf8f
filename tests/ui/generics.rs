use lazuli::Number;

#[lazuli::kernel]
fn generic<T: Number>(x: &[T], y: &mut [T]) {
    y[0] = x[0].sqrt();
    y[1] = x[1] + 1.0;
}

#[lazuli::device]
fn unbounded<T>(x: T) -> T {
    x + x
}

fn main() {}
