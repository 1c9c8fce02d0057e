//! Other engines of durable workflows, as peers.

use std::path::Path;
use std::process::{Command, Output};

use crate::failure::Outcome;
use crate::postgres::OwnDatabase;

const DBOS: &str = include_str!("dbos_peer.py");
const RESTATE: &str = include_str!("restate_peer.mjs");

/// Returns the number of workflows of three steps that DBOS, a library for Python, ends
/// in a second, by a worker of that many threads.
pub(super) fn dbos_runs_per_second(
    python: &Path,
    postgres: &str,
    runs: usize,
    workers: usize,
) -> Outcome<f64> {
    let own = OwnDatabase::second(postgres)?;
    let output = Command::new(python)
        .args(["-c", DBOS, &own.url])
        .args([runs.to_string(), workers.to_string()])
        .output()?;
    parse_rate("DBOS", &output)
}

/// Returns the number of workflows of three steps that a server of Restate ends in a
/// second, that many at a time. Its packages are in a folder.
pub(super) fn restate_runs_per_second(
    packages: &Path,
    runs: usize,
    workers: usize,
) -> Outcome<f64> {
    let output = Command::new("node")
        .args(["--input-type=module", "-e", RESTATE, "--"])
        .arg(packages)
        .args([runs.to_string(), workers.to_string()])
        .output()?;
    parse_rate("Restate", &output)
}

/// Parses the rate that a peer printed.
fn parse_rate(peer: &str, output: &Output) -> Outcome<f64> {
    String::from_utf8_lossy(&output.stdout).trim().parse().map_err(|_err| {
        let errors = String::from_utf8_lossy(&output.stderr);
        format!("{peer} ended with {}: {errors}", output.status).into()
    })
}
