//! Violations in a client's request.

/// Invalid part of a request, with a path that a program can follow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// Field of the request, as it is named on the wire.
    pub field: &'static str,
    /// Kind of violation: `required`, `invalid`, `too_long` …
    pub code: &'static str,
    /// Human-readable message.
    pub message: String,
}

impl Violation {
    pub(crate) fn new(field: &'static str, code: &'static str, message: impl Into<String>) -> Self {
        Self { field, code, message: message.into() }
    }
}
