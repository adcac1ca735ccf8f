mod common;
use common::opencl::{Argument::*, OpenCl};
use lazuli_codegen::*;
#[test]
fn bench() {
    let cl = OpenCl::open().unwrap();
    for (name, kernel, schedule) in common::kernels::all() {
        let n: usize = 1 << 24;
        if name == "triad_f32_cpu" || name == "triad_f32_x4" {
            let src = emit(&kernel, &schedule, Dialect::OpenClC, &EmitOptions::default());
            let a = vec![0u8; n * 4]; let b = vec![0u8; n * 4]; let mut c = vec![0u8; n * 4];
            let g = schedule.grid(&kernel, &[n as i64]);
            let gl = [g.groups[0] as usize * g.group[0] as usize, g.groups[1] as usize * g.group[1] as usize];
            println!("{name}");
            cl.run(&src.text, &src.entry, gl, [g.group[0] as usize, g.group[1] as usize], &mut [Input(&a), Input(&b), Output(&mut c), Plain(&(n as i32).to_ne_bytes()), Plain(&2f32.to_ne_bytes())]);
        }
        if name == "row_norm_f32_cpu" || name == "row_norm_f32" {
            let (rows, cols) = (4096usize, 4096usize);
            let src = emit(&kernel, &schedule, Dialect::OpenClC, &EmitOptions::default());
            let a = vec![0u8; n * 4]; let mut c = vec![0u8; rows * 4];
            let g = schedule.grid(&kernel, &[rows as i64, cols as i64, cols as i64]);
            let gl = [g.groups[0] as usize * g.group[0] as usize, g.groups[1] as usize * g.group[1] as usize];
            println!("{name}");
            cl.run(&src.text, &src.entry, gl, [g.group[0] as usize, g.group[1] as usize], &mut [Input(&a), Output(&mut c), Plain(&(rows as i32).to_ne_bytes()), Plain(&(cols as i32).to_ne_bytes()), Plain(&(cols as i32).to_ne_bytes())]);
        }
    }
}
