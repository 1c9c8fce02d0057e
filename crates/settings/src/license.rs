//! `License`: where the signed licence is.

use std::path::PathBuf;

use super::section::Section;

/// The licence's file.
#[derive(Debug, Clone)]
pub struct License {
    /// Path of the file. The file itself may be replaced at any time.
    pub path: PathBuf,
}

impl License {
    pub(super) fn from_section(from: &mut Section<'_>) -> Self {
        let path = from.restart("Path").or(PathBuf::from("./license.lic"));
        Self { path: from.dir().join(path) }
    }
}
