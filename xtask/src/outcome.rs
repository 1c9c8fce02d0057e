//! Result of a task.

use std::error::Error;

/// Result of a task; the error is a message for the user.
pub(crate) type Outcome<T = ()> = Result<T, Box<dyn Error>>;
