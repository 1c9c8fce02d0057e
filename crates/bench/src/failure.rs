//! Error type of the benchmarks.

use std::error::Error;

/// Whatever came of it; a failure is one sentence for whoever started it.
pub type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;
