#[lazuli::kernel]
fn control(x: &[i32], y: &mut [i32]) {
    'outer: for i in 0..4 {
        break 'outer;
    }
    let found = loop {
        break 5;
    };
    for value in x {
        y[0] += value;
    }
    for i in 0.. {
        y[0] += i;
    }
    while let Some(i) = next() {
        y[0] += i;
    }
    if let 3 = x[0] {
        y[0] = 1;
    }
    let Some(z) = next() else { return };
    y[0] = first(x)?;
    let range = 0..4;
    continue;
}

fn main() {}
