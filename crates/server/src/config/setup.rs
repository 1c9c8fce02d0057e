//! `Setup`: how a server without a licence or an administrator is set up.

use std::path::PathBuf;

use super::section::Section;

/// How a server without a licence or an administrator is set up.
#[derive(Debug, Clone)]
pub struct SetupConfig {
    /// Where the token is written that lets a licence be uploaded and the
    /// first administrator be made.
    pub token_path: PathBuf,
}

impl SetupConfig {
    pub(super) fn read(from: &mut Section<'_>) -> Self {
        let path = from.restart("TokenPath").or(PathBuf::from("./.setup-token"));
        Self { token_path: from.dir().join(path) }
    }
}
