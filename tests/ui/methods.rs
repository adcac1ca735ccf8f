#[lazuli::kernel]
fn methods(x: &[i32], y: &mut [i32]) {
    y[0] = x[0].checked_add(1).unwrap();
    for i in x.iter() {
        y[0] += i;
    }
    y[1] = x.get(3).unwrap_or(0);
}

fn main() {}
