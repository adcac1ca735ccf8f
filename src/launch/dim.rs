//! Extents of grids and groups.

/// Extents along x, y and z: of a grid in groups, or of a group in threads. Made from one to three numbers.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs, reason = "the names say it")]
pub struct Dim3 {
    pub x: usize,
    pub y: usize,
    pub z: usize,
}

impl From<usize> for Dim3 {
    fn from(x: usize) -> Self {
        Self { x, y: 1, z: 1 }
    }
}

impl From<[usize; 1]> for Dim3 {
    fn from([x]: [usize; 1]) -> Self {
        Self { x, y: 1, z: 1 }
    }
}

impl From<[usize; 2]> for Dim3 {
    fn from([x, y]: [usize; 2]) -> Self {
        Self { x, y, z: 1 }
    }
}

impl From<[usize; 3]> for Dim3 {
    fn from([x, y, z]: [usize; 3]) -> Self {
        Self { x, y, z }
    }
}

impl From<(usize, usize)> for Dim3 {
    fn from((x, y): (usize, usize)) -> Self {
        Self { x, y, z: 1 }
    }
}

impl From<(usize, usize, usize)> for Dim3 {
    fn from((x, y, z): (usize, usize, usize)) -> Self {
        Self { x, y, z }
    }
}
