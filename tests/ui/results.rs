#[lazuli::kernel]
fn gives(x: &[f32]) -> f32 {
    x[0]
}

#[lazuli::device]
fn pair(x: f32) -> (f32, f32) {
    (x, x)
}

#[lazuli::elementwise]
fn nothing(x: f32) {}

#[lazuli::elementwise]
fn no_operand() -> f32 {
    1.0
}

#[lazuli::elementwise]
fn whole(x: &[f32]) -> f32 {
    x[0]
}

fn main() {}
