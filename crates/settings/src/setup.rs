//! `Setup`: how a server without a licence or an administrator is set up.

use std::path::PathBuf;

use super::section::Section;

/// Set-up of a server without a licence or an administrator.
#[derive(Debug, Clone)]
pub struct SetupConfig {
    /// Path of the token with which a licence is uploaded and the first
    /// administrator is created.
    pub token_path: PathBuf,
}

impl SetupConfig {
    pub(super) fn from_section(from: &mut Section<'_>) -> Self {
        let path = from.restart("TokenPath").or(PathBuf::from("./.setup-token"));
        Self { token_path: from.dir().join(path) }
    }
}
