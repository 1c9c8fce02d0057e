//! Error type of the benchmarks.

use std::error::Error;

/// Result of a measurement; an error is one sentence for the user.
pub type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;
