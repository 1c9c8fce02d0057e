//! What this storage must do on every backend.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]
