//! Which lanes go where.

use super::frame::{Fault, Frame};
use super::mask::Mask;
use super::program::{Call, If, Lanes, MaskId, Reg, Repeat, Step};

impl<'a> Frame<'a> {
    /// Runs steps for the lanes of a mask, of which there is one at least. The mask loses those that leave.
    pub(super) fn run(&mut self, steps: &'a [Step], mask: MaskId) {
        for step in steps {
            match step {
                Step::Apply1 { .. }
                | Step::Apply2 { .. }
                | Step::Apply3 { .. }
                | Step::Copy { .. }
                | Step::Splat { .. }
                | Step::Length { .. }
                | Step::Clear { .. } => {
                    self.run_plain(step);
                    continue;
                }
                Step::Assign { to, from } => self.assign(*to, *from, mask),
                Step::Load { to, access } => self.load(*to, access, mask),
                Step::Store { from, access } => self.store(*from, access, mask),
                Step::Atomic(atomic) => self.atomic(atomic, mask),
                Step::Masked { condition, wanted, mask: own, steps } => {
                    self.narrow(*own, mask, *condition, *wanted);
                    if self.masks[own.at()].count() > 0 {
                        self.run(steps, *own);
                    }
                }
                Step::If(choice) => self.run_if(choice, mask),
                Step::Repeat(repeat) => self.run_repeat(repeat, mask),
                Step::Break { running } => {
                    let (running, own) = self.two_masks(*running, mask);
                    running.remove(own);
                    self.masks[mask.at()].clear();
                }
                Step::Continue => self.masks[mask.at()].clear(),
                Step::Return { value, alive } => {
                    if let Some((to, from)) = *value {
                        self.assign(to, from, mask);
                    }
                    let (alive, own) = self.two_masks(*alive, mask);
                    alive.remove(own);
                    self.masks[mask.at()].clear();
                }
                Step::Barrier => {
                    let came = self.masks[mask.at()].count();
                    let alive = self.masks[self.lowered.program.alive.at()].count();
                    if came != alive {
                        self.faults.note(Fault::Barrier { came, alive, group: self.group });
                        self.is_stopped = true;
                    }
                }
                Step::Call(call) => self.run_call(call, mask),
            }
            if self.is_stopped || self.masks[mask.at()].count() == 0 {
                return;
            }
        }
    }

    fn run_if(&mut self, choice: &'a If, mask: MaskId) {
        let [then, otherwise] = choice.masks;
        let all = self.masks[mask.at()].count();
        self.narrow(then, mask, choice.condition, true);
        let on_true = self.masks[then.at()].count();
        // Lanes that agree need no masks of their own.
        if on_true == all {
            return self.run(&choice.then, mask);
        }
        if on_true == 0 {
            return self.run(&choice.otherwise, mask);
        }
        self.narrow(otherwise, mask, choice.condition, false);
        self.run(&choice.then, then);
        if self.is_stopped {
            return;
        }
        self.run(&choice.otherwise, otherwise);
        if choice.exits {
            let mut both = std::mem::replace(&mut self.masks[mask.at()], Mask::none(0));
            both.set_either(&self.masks[then.at()], &self.masks[otherwise.at()]);
            self.masks[mask.at()] = both;
        }
    }

    fn run_repeat(&mut self, repeat: &'a Repeat, mask: MaskId) {
        let (running, own) = self.two_masks(repeat.running, mask);
        running.copy_from(own);
        loop {
            if let Some(counter) = &repeat.counter {
                let n = if counter.lanes == Lanes::First { 1 } else { self.n };
                let goes_on = self.register(counter.goes_on);
                // SAFETY: registers of the counter's type, and one of bool, of `n` lanes each, which lie apart.
                unsafe { (counter.less)(goes_on, self.register(counter.var), self.register(counter.end), n) };
                let condition = self.lanes::<u8>(counter.goes_on);
                match counter.lanes {
                    Lanes::All => self.masks[repeat.running.at()].keep_where(condition),
                    Lanes::First if condition.first() != Some(&1) => self.masks[repeat.running.at()].clear(),
                    Lanes::First => {}
                }
            }
            if self.masks[repeat.running.at()].count() == 0 {
                break;
            }
            if repeat.exits {
                let (current, running) = self.two_masks(repeat.current, repeat.running);
                current.copy_from(running);
                self.run(&repeat.body, repeat.current);
            } else {
                self.run(&repeat.body, repeat.running);
            }
            if self.is_stopped {
                return;
            }
            if repeat.returns {
                let (running, alive) = self.two_masks(repeat.running, repeat.alive);
                running.keep(alive);
            }
            if let Some(counter) = &repeat.counter {
                let n = if counter.lanes == Lanes::First { 1 } else { self.n };
                // SAFETY: as above.
                unsafe { (counter.advance)(self.register(counter.var), self.register(counter.end), counter.step, n) }
            }
        }
        if repeat.returns {
            let (own, alive) = self.two_masks(mask, repeat.alive);
            own.keep(alive);
        }
    }

    fn run_call(&mut self, call: &'a Call, mask: MaskId) {
        let lowered = self.lowered;
        let callee = &lowered.callees[call.function];
        for &(param, argument) in &call.values {
            self.copy(param, argument);
        }
        for &(param, memory) in &call.memories {
            self.memories[param.at()] = self.memories[memory.at()];
        }
        for id in [callee.entry, callee.alive] {
            let (to, own) = self.two_masks(id, mask);
            to.copy_from(own);
        }
        self.run(&callee.body, callee.entry);
        if let Some((to, from)) = call.result {
            self.copy(to, from);
        }
    }

    /// Sets a mask to the lanes of another whose condition is as wanted.
    fn narrow(&mut self, to: MaskId, from: MaskId, condition: Reg, wanted: bool) {
        let condition = self.lanes::<u8>(condition);
        let (to, from) = self.two_masks(to, from);
        to.set_where(from, condition, wanted);
    }

    /// Two masks that are not the same: the first to be changed.
    fn two_masks(&mut self, changed: MaskId, read: MaskId) -> (&mut Mask, &Mask) {
        let (changed, read) = (changed.at(), read.at());
        debug_assert_ne!(changed, read);
        if changed < read {
            let (low, high) = self.masks.split_at_mut(read);
            (&mut low[changed], &high[0])
        } else {
            let (low, high) = self.masks.split_at_mut(changed);
            (&mut high[0], &low[read])
        }
    }
}
