#[lazuli::kernel]
fn read_only(x: &[i32], y: &mut [i32]) {
    x[0] = y[0];
    lazuli::kernel::atomic_add(&mut x[1], 1);
}

fn main() {}
