use lazuli::kernel::grid1;

#[lazuli::kernel]
fn named(y: &mut [f32]) {
    let name = "lapis";
    let letter = 'l';
    println!("{}", y[grid1()]);
    assert!(y[0] > 0.0);
    let list = vec![1.0, 2.0];
}

fn main() {}
