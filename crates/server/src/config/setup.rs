//! `Setup`: how a server without a licence is set up.

use std::path::PathBuf;

use super::section::Section;

/// How a server without a licence is set up.
#[derive(Debug, Clone)]
pub struct SetupConfig {
    /// Where the token is written that lets a licence be uploaded.
    pub token_path: PathBuf,
}

impl SetupConfig {
    pub(super) fn read(from: &mut Section<'_>) -> Self {
        let path = from.restart("TokenPath").or(PathBuf::from("./.setup-token"));
        Self { token_path: from.dir().join(path) }
    }
}
