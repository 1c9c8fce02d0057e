//! `License`: where the signed licence is.

use std::path::PathBuf;

use super::section::Section;

/// The licence's file.
#[derive(Debug, Clone)]
pub struct License {
    /// Where it is. The file itself may be replaced at any time.
    pub path: PathBuf,
}

impl License {
    pub(super) fn read(from: &mut Section<'_>) -> Self {
        let path = from.restart("Path").or(PathBuf::from("./license.lic"));
        Self { path: from.dir().join(path) }
    }
}
