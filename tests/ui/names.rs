use lazuli::kernel::grid1;

#[lazuli::kernel]
fn names(x: &[f32], y: &mut [f32]) {
    let i = gird1();
    y[grid1()] = x[idx];
}

fn main() {}
