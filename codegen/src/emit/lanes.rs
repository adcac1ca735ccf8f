//! The lanes' results, combined by halving.
//!
//! `acc[l] = op(acc[l], acc[l + half])` for half = lanes/2 .. 1 fixes every bit. All values with one `l % few` meet each other
//! before any others, so that one thread can combine them in registers and a barrier is needed only between rounds. The
//! last 32 lanes of CUDA C are a warp and need none.

use super::Emitter;
use super::group::Group;
use super::text::Text;
use crate::{Dialect, Fold, LaneOrder};

/// Threads of a warp.
const WARP: u32 = 32;

/// Who needs what the lanes folded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Ending<'a> {
    /// All lanes.
    All,
    /// The first lane; the others leave.
    First,
    /// Memory, a place for each result; no lane.
    Memory(&'a [String]),
}

impl Emitter<'_> {
    /// True where the lanes meet in local (shared) memory.
    pub(super) fn shares_memory(&self, group: Group) -> bool {
        group.tree.lanes > if self.has_shuffles(group) { WARP } else { 1 }
    }

    fn has_shuffles(&self, group: Group) -> bool {
        self.dialect == Dialect::CudaC && group.lane_order == LaneOrder::LanesFastest
    }

    /// Combines what the lanes folded and names the results, or stores them. Where the other lanes have left the answer is
    /// true.
    pub(super) fn emit_lanes(&mut self, folds: &[Fold], group: Group, ending: Ending<'_>) -> bool {
        let is_last = ending == Ending::First;
        let element = if group.tree.width > 1 { "[0]" } else { "" };
        let own: Vec<String> = folds.iter().map(|fold| format!("{}_acc{element}", self.fold_name(fold))).collect();
        if group.tree.lanes == 1 {
            match ending {
                Ending::Memory(places) => self.store_results(places, &own, "", group),
                Ending::All | Ending::First => self.name_results(folds, &own),
            }
            return false;
        }
        if !self.shares_memory(group) {
            self.emit_shuffles(folds, &own, group, group.tree.lanes);
            if is_last {
                self.emit_leave(group, true);
                self.name_results(folds, &own);
                return true;
            }
            if let Ending::Memory(places) = ending {
                self.store_results(places, &own, "lane == 0", group);
                return false;
            }
            let mask = warp_mask(group);
            let width = if group.tree.lanes < WARP { format!(", {}", group.tree.lanes) } else { String::new() };
            let first: Vec<String> = own.iter().map(|own| format!("__shfl_sync({mask}, {own}, 0{width})")).collect();
            self.name_results(folds, &first);
            return false;
        }
        let barrier = self.words.barrier;
        let slot = if group.points == 1 { group.lane } else { self.words.local_id };
        for (fold, own) in folds.iter().zip(&own) {
            let name = self.fold_name(fold);
            self.out.line(&format!("{name}_lanes[{slot}] = {own};"));
        }
        self.out.line(barrier);
        if self.emit_rounds(folds, group, slot, ending) {
            return is_last;
        }
        let first = match (group.points, group.lane_order) {
            (1, _) => "0".to_owned(),
            (_, LaneOrder::LanesFastest) => format!("{slot} - {}", group.lane),
            (points, LaneOrder::PointsFastest) => format!("{slot} % {points}"),
        };
        let first: Vec<String> = folds.iter().map(|fold| format!("{}_lanes[{first}]", self.fold_name(fold))).collect();
        match ending {
            Ending::Memory(places) => self.store_results(places, &first, "lane == 0", group),
            Ending::All | Ending::First => self.name_results(folds, &first),
        }
        false
    }

    /// Stores results; of a point past the last, nothing.
    fn store_results(&mut self, places: &[String], values: &[String], condition: &str, group: Group) {
        let condition = condition.replace("lane", group.lane);
        let in_range = self.in_range.as_ref().map(|text| text.code.clone());
        let conditions: Vec<String> =
            Some(condition).filter(|own| !own.is_empty()).into_iter().chain(in_range).collect();
        let head = if conditions.is_empty() { String::new() } else { format!("if ({}) ", conditions.join(" && ")) };
        for (place, value) in places.iter().zip(values) {
            self.out.line(&format!("{head}{place} = {value};"));
        }
    }

    fn name_results(&mut self, folds: &[Fold], values: &[String]) {
        for (fold, value) in folds.iter().zip(values) {
            let name = self.fold_name(fold);
            let c_type = self.c_type(fold.result);
            self.out.line(&format!("const {c_type} {name} = {value};"));
            self.set_value(fold.result, Text::atom(name));
        }
    }

    /// Several halvings at once in the registers of the first lanes; true where nobody else needs the results: only the first
    /// lane is left, or they are in memory.
    fn emit_rounds(&mut self, folds: &[Fold], group: Group, slot: &str, ending: Ending<'_>) -> bool {
        let is_last = ending == Ending::First;
        let mut lanes = group.tree.lanes;
        let shuffles = self.has_shuffles(group);
        loop {
            let few = match lanes {
                _ if shuffles => WARP,
                // A thread combines 32 at the most.
                0..=32 => 1,
                _ => 1 << (lanes.ilog2() / 2),
            };
            let is_final = shuffles || few == 1;
            let lane = group.lane;
            match (is_last && is_final, few) {
                (true, 1) => self.emit_leave(group, true),
                (true, few) => self.out.line(&format!("if ({lane} >= {few}) return;")),
                (false, 1) => self.out.open(&format!("if ({lane} == 0)")),
                (false, few) => self.out.open(&format!("if ({lane} < {few})")),
            }
            let apart = few * if group.lane_order == LaneOrder::LanesFastest { 1 } else { group.points };
            let mut parts = Vec::new();
            for fold in folds {
                let name = self.fold_name(fold);
                let (c_type, count) = (self.c_type(fold.result), lanes / few);
                self.out.line(&format!("{c_type} {name}_part[{count}];"));
                let head = format!("for (int v = 0; v < {count}; ++v)");
                let from = match (group.points, few, apart) {
                    (1, 1, _) => "v".to_owned(),
                    (_, _, 1) => format!("{slot} + v"),
                    _ => format!("{slot} + v * {apart}"),
                };
                self.out.line(&format!("{head} {name}_part[v] = {name}_lanes[{from}];"));
                self.emit_halving(fold, &format!("{name}_part"), count);
                parts.push(format!("{name}_part[0]"));
            }
            if shuffles {
                self.emit_shuffles(folds, &parts, group, WARP);
            }
            if is_last && is_final {
                if shuffles {
                    self.emit_leave(group, true);
                }
                self.name_results(folds, &parts);
                return true;
            }
            if let (Ending::Memory(places), true) = (ending, is_final) {
                self.store_results(places, &parts, if shuffles { "lane == 0" } else { "" }, group);
                self.out.close();
                return true;
            }
            let condition = if shuffles { format!("if ({lane} == 0) ") } else { String::new() };
            let slot = if is_final && group.points == 1 { "0" } else { slot };
            for (fold, part) in folds.iter().zip(&parts) {
                let name = self.fold_name(fold);
                self.out.line(&format!("{condition}{name}_lanes[{slot}] = {part};"));
            }
            self.out.close();
            self.out.line(self.words.barrier);
            if is_final {
                return false;
            }
            lanes = few;
        }
    }

    /// Halves `lanes` lanes of one warp into the first, by way of registers.
    fn emit_shuffles(&mut self, folds: &[Fold], values: &[String], group: Group, lanes: u32) {
        let mask = warp_mask(group);
        self.out.open(&format!("for (int step = {}; step > 0; step /= 2)", lanes / 2));
        for (fold, value) in folds.iter().zip(values) {
            let other = Text::atom(format!("__shfl_down_sync({mask}, {value}, step)"));
            let line = self.arithmetic.fold(fold.op, self.dtype(fold.result), &Text::atom(value), &other);
            self.out.line(&line);
        }
        self.out.close();
    }
}

/// The threads of a warp that are there.
fn warp_mask(group: Group) -> String {
    let threads = group.tree.lanes * group.points;
    format!("{:#x}", if threads < WARP { (1_u32 << threads) - 1 } else { u32::MAX })
}
