//! What this storage must do on every backend.

#![expect(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod lists;
mod people;
mod writes;
