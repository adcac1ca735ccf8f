//! Which lanes are on.

/// A byte for each lane, 1 where it is on, and how many are.
#[derive(Clone, Debug)]
pub struct Mask {
    lanes: Vec<u8>,
    count: usize,
}

impl Mask {
    /// No lane of so many.
    pub fn none(lanes: usize) -> Self {
        Self { lanes: vec![0; lanes], count: 0 }
    }

    /// How many are on.
    pub fn count(&self) -> usize {
        self.count
    }

    pub fn lanes(&self) -> &[u8] {
        &self.lanes
    }

    /// The first `n`.
    pub fn set_first(&mut self, n: usize) {
        let n = n.min(self.lanes.len());
        self.lanes[..n].fill(1);
        self.lanes[n..].fill(0);
        self.count = n;
    }

    pub fn clear(&mut self) {
        self.lanes.fill(0);
        self.count = 0;
    }

    pub fn copy_from(&mut self, other: &Mask) {
        self.lanes.copy_from_slice(&other.lanes);
        self.count = other.count;
    }

    /// Those of `other` for which the condition is as wanted.
    pub fn set_where(&mut self, other: &Mask, condition: &[u8], wanted: bool) {
        let flip = u8::from(!wanted);
        for ((lane, &on), &condition) in self.lanes.iter_mut().zip(&other.lanes).zip(condition) {
            *lane = on & (u8::from(condition != 0) ^ flip);
        }
        self.lanes[condition.len()..].fill(0);
        self.recount();
    }

    /// Keeps those for which the condition is true.
    pub fn keep_where(&mut self, condition: &[u8]) {
        for (lane, &condition) in self.lanes.iter_mut().zip(condition) {
            *lane &= u8::from(condition != 0);
        }
        self.recount();
    }

    /// Keeps those that are on in `other`.
    pub fn keep(&mut self, other: &Mask) {
        self.keep_where(&other.lanes);
    }

    /// Turns off those that are on in `other`.
    pub fn remove(&mut self, other: &Mask) {
        for (lane, &off) in self.lanes.iter_mut().zip(&other.lanes) {
            *lane &= off ^ 1;
        }
        self.recount();
    }

    /// Those of either.
    pub fn set_either(&mut self, a: &Mask, b: &Mask) {
        for ((lane, a), b) in self.lanes.iter_mut().zip(&a.lanes).zip(&b.lanes) {
            *lane = a | b;
        }
        self.recount();
    }

    fn recount(&mut self) {
        // Sums of up to 255 bytes fit in a byte, which is what vectorises.
        let sum = |part: &[u8]| usize::from(part.iter().sum::<u8>());
        self.count = self.lanes.chunks(255).map(sum).sum();
    }
}
