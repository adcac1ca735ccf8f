use lazuli::kernel::{atomic_add, atomic_sub};

#[lazuli::kernel]
fn atomics(x: &mut [f32], y: &mut [u8]) {
    atomic_sub(&mut x[0], 1.0);
    atomic_add(&mut y[0], 1);
    atomic_add(x[0], 1.0);
}

fn main() {}
