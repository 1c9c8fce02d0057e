//! Upper bound of password hashing: hashes per second on this machine without
//! other load.

use std::thread;
use std::time::{Duration, Instant};

use crate::failure::Outcome;
use crate::floors::{hash, hasher};
use crate::stats::count;

/// Returns the hashes a second on all cores, with the server's default cost.
pub(super) fn per_second(duration: Duration) -> Outcome<f64> {
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let start = Instant::now();
    let completed = thread::scope(|scope| {
        let workers: Vec<_> =
            (0..cores).map(|_| scope.spawn(|| hash_until(start + duration))).collect();
        workers
            .into_iter()
            .map(|it| it.join().unwrap_or_else(|_| Err("a hasher panicked".into())))
            .sum::<Outcome<usize>>()
    })?;
    Ok(count(completed) / start.elapsed().as_secs_f64())
}

fn hash_until(end: Instant) -> Outcome<usize> {
    let argon2 = hasher()?;
    let mut completed = 0;
    while Instant::now() < end {
        hash(&argon2)?;
        completed += 1;
    }
    Ok(completed)
}
