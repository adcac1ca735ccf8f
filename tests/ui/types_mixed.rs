use lazuli::kernel::grid1;

#[lazuli::kernel]
fn mixed(a: f64, n: i32, x: &[f32], y: &mut [f32]) {
    let i = grid1();
    y[i] = a * x[i];
    y[n] = 1.0;
    if x[i] {
        y[i] = 1;
    }
    let k: u32 = n + 1;
    let z = if n > 0 { 1.0 } else { n };
    y[i] += n;
    let b = n && true;
    let s = true + false;
    let f = !1.5f32;
    let c = n as bool;
}

fn main() {}
