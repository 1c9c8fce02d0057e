//! DBOS, a library of durable workflows for Python, as a peer.

use std::path::Path;
use std::process::Command;

use crate::failure::Outcome;
use crate::postgres::OwnDatabase;

const SCRIPT: &str = include_str!("dbos_peer.py");

/// Returns the number of workflows of three steps that DBOS ends in a second, by a
/// worker of that many threads.
pub(super) fn runs_per_second(
    python: &Path,
    postgres: &str,
    runs: usize,
    workers: usize,
) -> Outcome<f64> {
    let own = OwnDatabase::second(postgres)?;
    let output = Command::new(python)
        .args(["-c", SCRIPT, &own.url])
        .args([runs.to_string(), workers.to_string()])
        .output()?;
    let printed = String::from_utf8_lossy(&output.stdout);
    printed.trim().parse().map_err(|_err| {
        let errors = String::from_utf8_lossy(&output.stderr);
        format!("DBOS ended with {}: {errors}", output.status).into()
    })
}
