//! Error type of the benchmarks.

use std::error::Error;

/// Result of a measurement; a failure is one sentence for whoever started it.
pub type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;
