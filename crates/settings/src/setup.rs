//! `Setup`: initial setup of the server.

use std::path::PathBuf;

use super::section::Section;

/// Setup of a server without a licence or an administrator.
#[derive(Debug, Clone)]
pub struct SetupConfig {
    /// Path of the token that authorises the upload of a licence and the
    /// creation of the first administrator.
    pub token_path: PathBuf,
}

impl SetupConfig {
    pub(super) fn from_section(from: &mut Section<'_>) -> Self {
        let path = from.restart("TokenPath").or(PathBuf::from("./.setup-token"));
        Self { token_path: from.dir().join(path) }
    }
}
