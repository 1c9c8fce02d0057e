//! Budgets of the default group, set with the administrator commands.
//!
//! The limits are too high to be reached: only the cost of counting is measured.

use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use crate::call::{Call, Expectation};
use crate::connection::Connection;
use crate::failure::Outcome;
use crate::installation::Installation;

/// Budgets of a member's day and week and of the group's week, each above the
/// usage of a benchmark. Every call is counted in all three.
const BUDGETS: [&str; 3] = [
    "credits.daily=1000000000000",
    "credits.weekly=1000000000000",
    "credits.group-weekly=1000000000000",
];
/// Maximum wait; a running server checks for changes every five seconds.
const APPLY_TIMEOUT: Duration = Duration::from_secs(30);

/// Sets the budgets and waits until the server applies them.
pub(crate) fn set(
    program: &Path,
    installation: &Installation,
    server: SocketAddr,
    token: &str,
) -> Outcome<()> {
    let mut arguments = vec!["group", "set", "Default"];
    arguments.extend(BUDGETS);
    admin(program, installation, &arguments)?;

    let expectation = Expectation::Holds(b"\"limited\":true".to_vec());
    let limited = Call::get_as(server, "/api/ai/credits", token, expectation);
    let start = Instant::now();
    let mut connection = Connection::open(server)?;

    loop {
        let response = connection.exchange(&limited.request)?;
        match limited.check(&response) {
            Ok(()) => return Ok(()),
            Err(err) if start.elapsed() > APPLY_TIMEOUT => return Err(err),
            Err(_) => thread::sleep(Duration::from_millis(100)),
        }
    }
}

/// Fails if the reserved amounts do not match the open calls.
pub(crate) fn check(program: &Path, installation: &Installation) -> Outcome<()> {
    admin(program, installation, &["credits", "check"])
}

/// Runs `pia-server admin` with these arguments.
pub(crate) fn admin(
    program: &Path,
    installation: &Installation,
    arguments: &[&str],
) -> Outcome<()> {
    let mut command = Command::new(program);
    command.env_clear().envs(installation.settings.iter().cloned());
    let output = command.current_dir(&installation.dir).arg("admin").args(arguments).output()?;
    if output.status.success() {
        return Ok(());
    }
    let stderr = String::from_utf8_lossy(&output.stderr);
    Err(format!("pia-server admin {}: {stderr}", arguments.join(" ")).into())
}
