#[lazuli::kernel]
fn patterns(n: i32, y: &mut [i32]) {
    match n {
        Some(k) => y[0] = k,
        &k => y[0] = k,
        k @ 1 | k @ 2 => y[0] = k,
        _ => {}
    }
}

fn main() {}
