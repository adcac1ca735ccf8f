#[lazuli::kernel]
fn matches(n: i32, b: bool, y: &mut [i32]) {
    y[0] = match n {
        0 => 1,
        1..=5 => 2,
    };
    y[1] = match b {
        true => 1,
    };
}

fn main() {}
