//! Where registers lie: wide ones share scratch memory once nothing reads them any more.

use super::program::{Access, Mode, Program, Reg, Step};

/// Gives every register its home.
pub fn place_registers(program: &mut Program) {
    let mut places = Places { program, free: Vec::new(), narrow: 0, wide: 0 };
    let prologue = std::mem::take(&mut places.program.prologue);
    let body = std::mem::take(&mut places.program.body);
    // What the prologue computes lives until the end.
    places.place(&prologue, &[], false);
    places.place(&body, &[], true);
    let (narrow, wide) = (places.narrow, places.wide);
    program.prologue = prologue;
    program.body = body;
    program.narrow_bytes = narrow;
    program.wide_bytes = wide;
}

struct Places<'p> {
    program: &'p mut Program,
    /// Free homes of wide registers: bytes of an element, home.
    free: Vec<(usize, usize)>,
    narrow: usize,
    wide: usize,
}

impl Places<'_> {
    /// Places what `steps` make, and gives what of it is live at their end. `kept` is read after the last of them.
    fn place(&mut self, steps: &[Step], kept: &[Reg], reuse: bool) -> Vec<Reg> {
        // The last step of this list that touches a register, by register.
        let mut last = vec![None; self.program.registers.len()];
        for (at, step) in steps.iter().enumerate() {
            touches(step, &self.program.accesses, &mut |reg| last[reg.at()] = Some(at));
        }
        for reg in kept {
            last[reg.at()] = Some(usize::MAX);
        }
        let mut made = Vec::new();
        for (at, step) in steps.iter().enumerate() {
            // Accumulators are live while their loop's body runs, so they get a home before it.
            makes(step, &mut |reg| {
                self.take(reg);
                made.push(reg);
            });
            match step {
                Step::Loop(inner) => {
                    let folded: Vec<Reg> = inner.folds.iter().map(|fold| fold.value).collect();
                    self.place_inner(&inner.body, &folded, reuse);
                }
                Step::Tree(inner) => {
                    let folded: Vec<Reg> = inner.folds.iter().map(|&(_, value, _)| value).collect();
                    self.place_inner(&inner.body, &folded, reuse);
                }
                Step::Segments(inner) => {
                    let folded: Vec<Reg> = inner.folds.iter().map(|&(_, _, value, _)| value).collect();
                    self.place_inner(&inner.body, &folded, reuse);
                }
                _ => {}
            }
            if reuse {
                made.retain(|reg| {
                    let live = last[reg.at()].is_some_and(|last| last > at);
                    if !live {
                        self.give(*reg);
                    }
                    live
                });
            }
        }
        made
    }

    /// Places what an inner list of steps makes; what it folds is read after the last of them, but not after the list.
    fn place_inner(&mut self, steps: &[Step], folded: &[Reg], reuse: bool) {
        let live = self.place(steps, folded, reuse);
        if reuse {
            live.into_iter().for_each(|reg| self.give(reg));
        }
    }

    fn take(&mut self, reg: Reg) {
        let in_block = self.program.mode == Mode::Rows;
        let register = &mut self.program.registers[reg.at()];
        if register.kept.is_some() && !in_block {
            return;
        }
        if !register.wide {
            register.home = self.narrow;
            // Eight bytes each, so that a step may clear a whole register; accumulators start at a cache line.
            let bytes = register.bytes * register.count;
            if register.count > 1 {
                register.home = self.narrow.next_multiple_of(64);
            }
            self.narrow = register.home + bytes.next_multiple_of(8);
        } else if let Some(at) = self.free.iter().rposition(|&(bytes, _)| bytes == register.bytes) {
            register.home = self.free.swap_remove(at).1;
        } else {
            register.home = self.wide;
            self.wide += register.bytes;
        }
    }

    fn give(&mut self, reg: Reg) {
        let register = self.program.registers[reg.at()];
        if register.wide && register.kept.is_none() {
            self.free.push((register.bytes, register.home));
        }
    }
}

/// The registers that a step makes, not counting those of its inner steps.
fn makes(step: &Step, seen: &mut dyn FnMut(Reg)) {
    match step {
        Step::Size { to, .. }
        | Step::Scalar { to, .. }
        | Step::Zero { to }
        | Step::Splat { to, .. }
        | Step::Spread { to, .. }
        | Step::Load { to, .. }
        | Step::Gather { to, .. }
        | Step::Index { to, .. }
        | Step::CheckedIndex { to, .. }
        | Step::Apply1 { to, .. }
        | Step::Apply2 { to, .. }
        | Step::Apply3 { to, .. }
        | Step::Call { to, .. } => seen(*to),
        Step::Aim { .. } | Step::Store { .. } | Step::Scatter { .. } => {}
        Step::Loop(inner) => inner.folds.iter().for_each(|fold| seen(fold.acc)),
        Step::Tree(inner) => inner.folds.iter().for_each(|&(acc, ..)| seen(acc)),
        Step::Segments(inner) => inner.folds.iter().for_each(|&(result, acc, ..)| {
            seen(result);
            seen(acc);
        }),
    }
}

/// Every register that a step or its inner steps name. (The narrow ones behind an access are never reused.)
fn touches(step: &Step, accesses: &[Access], seen: &mut dyn FnMut(Reg)) {
    makes(step, seen);
    match step {
        Step::Index { access, .. } => accesses[access.0 as usize].wide.iter().for_each(|&(reg, _)| seen(reg)),
        Step::Splat { from, .. } | Step::Spread { from, .. } | Step::Store { from, .. } => seen(*from),
        Step::CheckedIndex { from, .. } => seen(*from),
        Step::Gather { index, .. } => seen(*index),
        Step::Scatter { from, index, .. } => {
            seen(*from);
            seen(*index);
        }
        Step::Apply1 { a, .. } => seen(*a),
        Step::Apply2 { a, b, .. } => {
            seen(*a);
            seen(*b);
        }
        Step::Apply3 { a, b, c, .. } => {
            seen(*a);
            seen(*b);
            seen(*c);
        }
        Step::Call { arguments, .. } => arguments.iter().for_each(|reg| seen(*reg)),
        Step::Loop(inner) => {
            inner.body.iter().for_each(|step| touches(step, accesses, seen));
            inner.folds.iter().for_each(|fold| seen(fold.value));
        }
        Step::Tree(inner) => {
            inner.body.iter().for_each(|step| touches(step, accesses, seen));
            inner.folds.iter().for_each(|&(_, value, _)| seen(value));
        }
        Step::Segments(inner) => {
            inner.body.iter().for_each(|step| touches(step, accesses, seen));
            inner.folds.iter().for_each(|&(_, _, value, _)| seen(value));
        }
        _ => {}
    }
}
