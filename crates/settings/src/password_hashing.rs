//! `PasswordHashing`: cost of password hashes, and concurrency of hashing.

use std::num::NonZeroUsize;
use std::thread::available_parallelism;

use pia_passwords::{HashCost, PoolSize};

use super::error::Reason;
use super::section::Section;

/// Minimum of memory times passes that OWASP considers sufficient.
const MIN_COST: u64 = 7168 * 5;

/// Cost of password hashes.
#[derive(Debug, Clone)]
pub struct PasswordHashing {
    /// Cost of one hash. A password with another cost is rehashed at sign-in.
    pub cost: HashCost,
    /// Limits of concurrent hashing.
    pub size: PoolSize,
}

impl PasswordHashing {
    pub(super) fn from_section(from: &mut Section<'_>) -> Option<Self> {
        let memory = from.reload("MemoryKib").within(19_456, 8..=HashCost::MAX_MEMORY_KIB);
        let iterations = from.reload("Iterations").within(2, 1..=HashCost::MAX_ITERATIONS);
        let parallelism = from.reload("Parallelism").within(1, 1..=HashCost::MAX_PARALLELISM);
        let cores = available_parallelism().map_or(1, usize::from);
        // No core is left free: these threads have a low priority.
        let threads = from.restart("Threads").within(cores, 1..=256);
        let waiting = from.restart("QueueLength").within(512, 1..=100_000);

        let cost = match HashCost::new(memory, iterations, parallelism) {
            Ok(cost) => Some(cost),
            Err(err) => {
                from.refuse("MemoryKib", Reason::combination(err.to_string()));
                None
            }
        };

        let is_weak = u64::from(memory) * u64::from(iterations) < MIN_COST;
        if is_weak && !from.environment().is_development() {
            from.warn("MemoryKib", "with Iterations is less than OWASP calls sufficient");
        }

        let size =
            PoolSize { threads: NonZeroUsize::new(threads)?, waiting: NonZeroUsize::new(waiting)? };

        Some(Self { cost: cost?, size })
    }
}
