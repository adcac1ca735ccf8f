use lazuli::kernel::*;
use lazuli::{Float, FunctionDefinition, KernelDefinition};

#[lazuli::kernel]
pub fn saxpy(a: f32, x: &[f32], y: &mut [f32]) {
    let i = grid1();
    if i < y.len() && i < x.len() {
        y[i] = a * x[i] + y[i];
    }
}

#[lazuli::device]
fn square<T: Float>(x: T) -> T {
    x * x
}

#[lazuli::device]
fn sum(v: &[f32], n: usize) -> f32 {
    let mut s = 0.0;
    for i in 0..n {
        s += v[i];
    }
    s
}

#[lazuli::elementwise]
fn gelu(x: f32) -> f32 {
    let c = (2.0 / std::f32::consts::PI).sqrt();
    if x.is_nan() {
        return x;
    }
    0.5 * x * (1.0 + (c * (x + 0.044715 * square(x) * x)).tanh())
}

#[lazuli::kernel]
fn generic<T: Float, const N: usize>(x: &[T], y: &mut [T], n: i32) {
    let (i, _) = grid2();
    let mut tile = shared::<[[T; N]; N]>();
    let mut acc = [T::zero(); 4];
    let t = thread_idx();
    tile[t.x][t.y] = x[i];
    barrier();
    acc[0] += square(tile[t.y][t.x]);
    let k = match n {
        0 | 1 => 1,
        2..=5 => 2,
        m if m < 0 => -m,
        _ => {
            return;
        }
    };
    let mut j: i32;
    j = k;
    while j > 0 {
        j -= 1;
        if j == 3 {
            continue;
        }
        acc[1] += j as T;
    }
    let (mut a, mut b) = (T::one(), acc[1]);
    (a, b) = (b, a + b);
    for q in (0..n).rev().step_by(3) {
        a = a.max(q as T);
    }
    y[i] = if a > b { a } else { b };
}

#[lazuli::kernel]
fn hist(x: &[u32], h: &mut [u32]) {
    let mut local = shared::<[u32; 256]>();
    let i = grid1();
    if i < x.len() {
        atomic_add(&mut local[(x[i] & 255) as usize], 1);
    }
    barrier();
    let before = atomic_add(&mut h[0], sum(&[1.0f32], 1) as u32);
}

#[test]
fn builds() {
    println!("{:#?}", saxpy::Kernel::build().unwrap());
    println!("{:?}", gelu::Function::build().unwrap().code);
    println!("{:#?}", generic::Kernel::<f32, 16>::build().unwrap());
}
