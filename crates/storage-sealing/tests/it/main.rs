//! What sealing's storage must do on every backend.

#![expect(clippy::unwrap_used, reason = "tests")]

mod key_register;
