//! Index arithmetic in numbers: sums of axes and index variables with constant factors.
//!
//! Lowering works on the extents at hand, so that it can see which indices simplify; the numbers become launch arguments
//! when the kernel is finished.

use lazuli_codegen::{AxisId, Term, Var};
use smallvec::{SmallVec, smallvec};

/// `constant + sum of factor * term`; terms sorted, no factor zero.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Linear {
    /// The value where every term is zero.
    pub constant: i64,
    /// Terms and their factors.
    pub terms: SmallVec<[(Term, i64); 4]>,
}

/// One index for each axis of a value.
pub type Coords = SmallVec<[Linear; 4]>;

impl Linear {
    /// A number.
    pub fn constant(constant: i64) -> Self {
        Self { constant, terms: SmallVec::new() }
    }

    /// The index of an axis.
    pub fn axis(axis: AxisId) -> Self {
        Self { constant: 0, terms: smallvec![(Term::Axis(axis), 1)] }
    }

    /// An index variable.
    pub fn var(var: Var) -> Self {
        Self { constant: 0, terms: smallvec![(Term::Var(var), 1)] }
    }

    /// The factor of a term; 0 where it is absent.
    pub fn factor(&self, term: Term) -> i64 {
        self.terms.iter().find(|(own, _)| *own == term).map_or(0, |(_, factor)| *factor)
    }

    /// Adds `factor * term`.
    pub fn add_term(&mut self, term: Term, factor: i64) {
        match self.terms.binary_search_by_key(&term, |(own, _)| *own) {
            Ok(place) => {
                self.terms[place].1 += factor;
                if self.terms[place].1 == 0 {
                    self.terms.remove(place);
                }
            }
            Err(_) if factor == 0 => {}
            Err(place) => self.terms.insert(place, (term, factor)),
        }
    }

    /// Adds `factor * other`.
    pub fn add_scaled(&mut self, other: &Linear, factor: i64) {
        self.constant += factor * other.constant;
        for (term, own) in &other.terms {
            self.add_term(*term, factor * own);
        }
    }

    /// `start + step * self`.
    pub fn mapped(&self, start: i64, step: i64) -> Linear {
        let mut result = Linear::constant(start);
        result.add_scaled(self, step);
        result
    }

    /// `sum of factor * coordinate`.
    pub fn dot(coords: &[Linear], factors: &[i64]) -> Linear {
        let mut sum = Linear::default();
        for (coord, factor) in coords.iter().zip(factors) {
            sum.add_scaled(coord, *factor);
        }
        sum
    }

    /// Least and greatest value, given those of each term.
    pub fn range(&self, of_term: impl Fn(Term) -> (i64, i64)) -> (i64, i64) {
        self.terms.iter().fold((self.constant, self.constant), |(least, greatest), (term, factor)| {
            let (low, high) = of_term(*term);
            let (a, b) = (factor.saturating_mul(low), factor.saturating_mul(high));
            (least.saturating_add(a.min(b)), greatest.saturating_add(a.max(b)))
        })
    }

    /// A bound on the magnitude of every partial sum.
    pub fn magnitude(&self, of_term: impl Fn(Term) -> (i64, i64)) -> i64 {
        self.terms.iter().fold(self.constant.saturating_abs(), |bound, (term, factor)| {
            let (low, high) = of_term(*term);
            let greatest = low.saturating_abs().max(high.saturating_abs()).max(1);
            bound.saturating_add(factor.saturating_abs().saturating_mul(greatest))
        })
    }

    /// `self = divisor * quotient + rest`, with as much in the quotient as needs no division. The constant of the
    /// rest lies in 0..divisor.
    pub fn split(&self, divisor: i64) -> (Linear, Linear) {
        let mut quotient = Linear::constant(self.constant.div_euclid(divisor));
        let mut rest = Linear::constant(self.constant.rem_euclid(divisor));
        for (term, factor) in &self.terms {
            match factor % divisor {
                0 => quotient.add_term(*term, factor / divisor),
                _ => rest.add_term(*term, *factor),
            }
        }
        (quotient, rest)
    }
}
