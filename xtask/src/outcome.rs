//! What a task comes to.

use std::error::Error;

/// Done, or a sentence that says why not.
pub(crate) type Outcome<T = ()> = Result<T, Box<dyn Error>>;
