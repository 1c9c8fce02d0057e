//! Contract tests of sealing's storage, on every backend.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]

mod key_register;
mod salts;
