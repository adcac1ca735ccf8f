#[lazuli::kernel]
fn indices(x: &[f32], y: &mut [f32], s: f32) {
    let mut tile = lazuli::kernel::shared::<[[f32; 4]; 4]>();
    tile[0][1] = x[0];
    y[0] = tile[0];
    y[1] = x[0][1];
    y[2] = s[0];
}

fn main() {}
