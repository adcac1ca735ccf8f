#[lazuli::kernel]
fn not_mut(n: i32, y: &mut [i32]) {
    let sum = 0;
    sum += n;
    n = 3;
    let a = [0; 4];
    a[0] = sum;
    y[0] = a[0];
}

fn main() {}
