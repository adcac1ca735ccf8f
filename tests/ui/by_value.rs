#[lazuli::device]
fn sum(v: &[f32]) -> f32 {
    v[0]
}

#[lazuli::kernel]
fn whole(y: &mut [f32]) {
    let a = [1.0f32; 4];
    let b = a;
    y[0] = sum(a) + sum(y[0]);
}

fn main() {}
