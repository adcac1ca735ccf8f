#[lazuli::kernel]
fn match_on_floats(x: f32, y: &mut [f32]) {
    y[0] = match x {
        0.0 => 1.0,
        _ => 2.0,
    };
}

fn main() {}
