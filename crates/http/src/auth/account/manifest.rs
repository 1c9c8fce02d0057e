//! Manifest of an export.

use pia_identity::StartedExport;
use pia_kernel::Timestamp;
use serde::Serialize;

/// Version of the format; incremented when existing parts change.
const FORMAT: u32 = 1;

/// Manifest of an export.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Manifest {
    format_version: u32,
    server_version: &'static str,
    account_id: String,
    created_at: Timestamp,
    files: Vec<File>,
    left_out: Vec<LeftOut>,
}

#[derive(Serialize)]
struct File {
    name: String,
    rows: u64,
}

#[derive(Serialize)]
struct LeftOut {
    what: String,
    why: &'static str,
}

impl Manifest {
    /// Creates the manifest of an export with these row counts by section.
    pub(super) fn new(export: &StartedExport, rows: &[(&str, u64)]) -> Self {
        let files =
            rows.iter().map(|(section, rows)| File { name: Self::file(section), rows: *rows });
        let left_out = export.inventory.left_out.iter();
        Self {
            format_version: FORMAT,
            server_version: env!("CARGO_PKG_VERSION"),
            account_id: export.user.to_string(),
            created_at: export.at,
            files: files.collect(),
            left_out: left_out.map(|it| LeftOut { what: it.what.clone(), why: it.why }).collect(),
        }
    }

    /// Returns the name of a section's file.
    pub(super) fn file(section: &str) -> String {
        format!("{section}.json")
    }
}
