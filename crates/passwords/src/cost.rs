//! Cost of one hash, and therefore of one guess.
//!
//! `settings` creates the current cost; `argon2id.rs` creates that of each
//! stored hash, within equal bounds.

use argon2::Params;

/// Cost of an Argon2id hash: memory in KiB, passes over the memory, and parallel lanes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HashCost {
    memory_kib: u32,
    iterations: u32,
    parallelism: u32,
}

/// Errors of an invalid cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum HashCostError {
    /// Memory is less than eight blocks per lane, or too much for one hash.
    #[error(
        "a hash takes at least 8 KiB of memory for each lane, and at most {} KiB",
        HashCost::MAX_MEMORY_KIB
    )]
    Memory,
    /// Iterations are fewer than one, or so many that a sign-in takes minutes.
    #[error("the number of iterations must be 1 to {}", HashCost::MAX_ITERATIONS)]
    Iterations,
    /// Parallelism is less than one lane, or too high.
    #[error("the parallelism must be 1 to {}", HashCost::MAX_PARALLELISM)]
    Parallelism,
}

impl HashCost {
    /// Maximum memory of one hash, in KiB: 1 GiB.
    pub const MAX_MEMORY_KIB: u32 = 1024 * 1024;
    /// Maximum number of passes over the memory.
    pub const MAX_ITERATIONS: u32 = 100;
    /// Maximum number of lanes.
    pub const MAX_PARALLELISM: u32 = 64;

    /// Creates a cost within the bounds of the algorithm and of this server.
    pub fn new(memory_kib: u32, iterations: u32, parallelism: u32) -> Result<Self, HashCostError> {
        if !(1..=Self::MAX_PARALLELISM).contains(&parallelism) {
            return Err(HashCostError::Parallelism);
        }
        if !(8 * parallelism..=Self::MAX_MEMORY_KIB).contains(&memory_kib) {
            return Err(HashCostError::Memory);
        }
        if !(1..=Self::MAX_ITERATIONS).contains(&iterations) {
            return Err(HashCostError::Iterations);
        }
        Ok(Self { memory_kib, iterations, parallelism })
    }

    /// Converts the cost to the algorithm's parameters, with tags of this
    /// length.
    pub(crate) fn params(self, tag_length: usize) -> argon2::Result<Params> {
        Params::new(self.memory_kib, self.iterations, self.parallelism, Some(tag_length))
    }
}

/// Default cost as recommended by OWASP: 19 MiB, two passes, one lane.
impl Default for HashCost {
    fn default() -> Self {
        Self { memory_kib: 19 * 1024, iterations: 2, parallelism: 1 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cost_out_of_bounds_is_rejected_with_the_parameter() {
        assert_eq!(HashCost::new(7, 1, 1), Err(HashCostError::Memory));
        assert_eq!(HashCost::new(31, 1, 4), Err(HashCostError::Memory));
        assert_eq!(HashCost::new(u32::MAX, 1, 1), Err(HashCostError::Memory));
        assert_eq!(HashCost::new(64, 0, 1), Err(HashCostError::Iterations));
        assert_eq!(HashCost::new(64, u32::MAX, 1), Err(HashCostError::Iterations));
        assert_eq!(HashCost::new(64, 1, 0), Err(HashCostError::Parallelism));
        assert_eq!(HashCost::new(u32::MAX, 1, u32::MAX), Err(HashCostError::Parallelism));
    }

    #[test]
    fn the_default_is_what_owasp_recommends() {
        assert_eq!(HashCost::new(19_456, 2, 1), Ok(HashCost::default()));
    }
}
