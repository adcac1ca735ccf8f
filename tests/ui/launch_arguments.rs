use lazuli::prelude::*;

#[lazuli::kernel]
fn scale(a: f32, x: &[f32], y: &mut [f32]) {
    y[0] = a * x[0];
}

fn main() -> lazuli::Result<()> {
    let device = Device::host()?;
    let x = device.zeros::<f64>(3);
    let mut y = device.zeros::<f32>(3);
    scale(2.0, &x, &mut y).forall(3)?;
    scale(2.0, &y.clone(), &y).forall(3)?;
    scale(2, &y.clone(), &mut y).forall(3)?;
    scale(2.0, &y.clone()).forall(3)?;
    Ok(())
}
