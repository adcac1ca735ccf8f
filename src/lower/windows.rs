//! Reads of one value that lie whole rows apart: a thread that computes several rows reads them once, through a window that
//! slides down.
//!
//! That two loads read the same element at different points is seen from their numbers; the kernel says it in its structure
//! (`Affine::ahead`), for its offsets and strides are arguments.

use lazuli_codegen::{AxisId, Term};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::draft::{Draft, DraftExpr, DraftStmt};
use super::linear::Linear;

/// Rows that a thread computes.
pub const ROWS: u32 = 4;

/// Rows that a window reaches beyond those that are computed.
const MOST_AHEAD: i64 = 4;

/// The reads that share a window.
pub struct Windows {
    /// The axis along which rows lie.
    pub axis: AxisId,
    /// By value and index: the index of the window's first row, and how many rows ahead of it this one is.
    places: FxHashMap<(usize, Linear), (Linear, u32)>,
}

impl Windows {
    /// Where in a window a read lies, if it is in one.
    pub fn place(&self, read: usize, at: &Linear) -> Option<&(Linear, u32)> {
        self.places.get(&(read, at.clone()))
    }
}

/// The windows of a draft along an axis; `None` where it has none.
pub fn find_windows(draft: &Draft, axis: AxisId) -> Option<Windows> {
    let row = Term::Axis(axis);
    // Indices that differ by whole rows only, each with its number of rows from a common origin.
    let mut alike: FxHashMap<(usize, Linear), SmallVec<[i64; 8]>> = FxHashMap::default();
    for stmt in draft.scopes.iter().flat_map(|scope| &scope.body) {
        let DraftStmt::Let(_, DraftExpr::Load(read, at)) = stmt else { continue };
        let step = at.factor(row);
        if step != 0 && at.terms.iter().all(|(term, _)| matches!(term, Term::Axis(_))) {
            let constant = at.constant.rem_euclid(step);
            let rows = alike.entry((*read, Linear { constant, terms: at.terms.clone() })).or_default();
            rows.push((at.constant - constant) / step);
        }
    }
    let mut places = FxHashMap::default();
    for ((read, origin), mut rows) in alike {
        rows.sort_unstable();
        rows.dedup();
        let step = origin.factor(row);
        let index = |row: i64| Linear { constant: origin.constant + row * step, terms: origin.terms.clone() };
        let mut rest = &rows[..];
        while let Some(&first) = rest.first() {
            let (window, others) = rest.split_at(rest.partition_point(|row| row - first <= MOST_AHEAD));
            rest = others;
            let reach = window.last().map_or(0, |last| last - first);
            let saves = i64::from(ROWS) + reach < i64::from(ROWS) * window.len() as i64;
            if saves {
                let place = |row: &i64| ((read, index(*row)), (index(first), (row - first) as u32));
                places.extend(window.iter().map(place));
            }
        }
    }
    (!places.is_empty()).then_some(Windows { axis, places })
}
