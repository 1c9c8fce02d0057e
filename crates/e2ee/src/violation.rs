//! Violations in a client's request.

/// Invalid part of a request, with a path that a program can follow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// The field of the request, as it is spelled on the wire.
    pub field: &'static str,
    /// Kind of violation: `required`, `invalid`, `too_long` …
    pub code: &'static str,
    /// A sentence for people.
    pub message: String,
}

impl Violation {
    pub(crate) fn new(field: &'static str, code: &'static str, message: impl Into<String>) -> Self {
        Self { field, code, message: message.into() }
    }
}
