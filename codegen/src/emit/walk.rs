//! The indices of a lane's elements along several axes, carried from one to the next: divisions stand before the loop, none
//! in it.

use super::Emitter;
use super::text::{Binding, Text};
use crate::AxisId;

/// Indices on their way, of axes from the outermost in.
pub(super) struct Walk<'a> {
    axes: &'a [AxisId],
    /// The index of each axis, and how far it goes at a time.
    places: Vec<(String, String)>,
}

impl Emitter<'_> {
    /// Names the indices of element number `first`, which goes on by `step` elements at a time.
    pub(super) fn emit_walk<'a>(&mut self, axes: &'a [AxisId], first: &Text, step: u32) -> Walk<'a> {
        let index = self.dialect.index_type(self.kernel.index);
        let mut rest = Text::cast(self.dialect.count_type(self.kernel.index), first);
        let mut far = Text::atom(step.to_string());
        let mut places = Vec::new();
        for (position, axis) in axes.iter().enumerate().rev() {
            let extent = Text::atom(self.extent(*axis));
            let part = |whole: &Text| match position {
                0 => whole.code.clone(),
                _ => Text::infix(whole, "%", &extent, Binding::Product).code,
            };
            let (name, by) = (self.fresh_name("k"), self.fresh_name("d"));
            self.out.line(&format!("{index} {name} = {};", part(&rest)));
            self.out.line(&format!("const {index} {by} = {};", part(&far)));
            (rest, far) =
                (Text::infix(&rest, "/", &extent, Binding::Product), Text::infix(&far, "/", &extent, Binding::Product));
            self.axes[axis.0 as usize] = Text::atom(name.clone());
            places.push((name, by));
        }
        places.reverse();
        Walk { axes, places }
    }

    /// Goes on to the lane's next element. No index goes further than once around.
    pub(super) fn emit_walk_on(&mut self, walk: &Walk<'_>) {
        for (position, (name, by)) in walk.places.iter().enumerate().rev() {
            self.out.line(&format!("{name} += {by};"));
            if let Some((inner, _)) = walk.places.get(position + 1) {
                let extent = self.extent(walk.axes[position + 1]).to_owned();
                self.out.line(&format!("if ({inner} >= {extent}) {{ {inner} -= {extent}; ++{name}; }}"));
            }
        }
    }

    /// Names the indices of the neighbour `v` elements on, which may be around more than once in short axes.
    pub(super) fn emit_walk_to_neighbour(&mut self, walk: &Walk<'_>) {
        let index = self.dialect.index_type(self.kernel.index);
        let names: Vec<String> = walk.places.iter().map(|(name, _)| format!("{name}v")).collect();
        let last = walk.places.len() - 1;
        for (position, (name, _)) in walk.places.iter().enumerate() {
            let ahead = if position == last { " + v" } else { "" };
            self.out.line(&format!("{index} {} = {name}{ahead};", names[position]));
            self.axes[walk.axes[position].0 as usize] = Text::atom(names[position].clone());
        }
        for position in (1..=last).rev() {
            let (inner, outer) = (&names[position], &names[position - 1]);
            let extent = self.extent(walk.axes[position]).to_owned();
            self.out.line(&format!("while ({inner} >= {extent}) {{ {inner} -= {extent}; ++{outer}; }}"));
        }
    }
}
