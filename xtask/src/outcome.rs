//! Result of a task.

use std::error::Error;

/// Done, or a sentence that says why not.
pub(crate) type Outcome<T = ()> = Result<T, Box<dyn Error>>;
