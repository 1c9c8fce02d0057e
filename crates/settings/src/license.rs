//! `License`: location of the licence file.

use std::path::PathBuf;

use super::section::Section;

/// File of the licence.
#[derive(Debug, Clone)]
pub struct License {
    /// Path of the file, which may be replaced at any time.
    pub path: PathBuf,
}

impl License {
    pub(super) fn from_section(from: &mut Section<'_>) -> Self {
        let path = from.restart("Path").or(PathBuf::from("./license.lic"));
        Self { path: from.dir().join(path) }
    }
}
