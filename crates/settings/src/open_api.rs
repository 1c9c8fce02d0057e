//! `OpenApi`: the OpenAPI document.

use super::section::Section;

/// Settings of the OpenAPI document.
#[derive(Debug, Clone)]
pub struct OpenApi {
    /// True if it is served at `/openapi/v1.json`.
    pub enabled: bool,
}

impl OpenApi {
    pub(super) fn from_section(from: &mut Section<'_>) -> Self {
        Self { enabled: from.reload("Enabled").or(false) }
    }
}
