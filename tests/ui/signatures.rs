#[lazuli::kernel]
async fn waits(y: &mut [f32]) {}

#[lazuli::kernel]
unsafe fn risky(y: &mut [f32]) {}

#[lazuli::kernel]
fn lifetimes<'a>(x: &'a [f32]) {}

#[lazuli::kernel]
fn opaque(x: impl Copy, y: [f32; 4], z: (f32, f32), w: &[f32; 4]) {}

#[lazuli::kernel(fast)]
fn arguments(y: &mut [f32]) {}

#[lazuli::kernel]
struct NoFunction;

struct Type;

impl Type {
    #[lazuli::device]
    fn method(&self, x: f32) -> f32 {
        x
    }
}

fn main() {}
