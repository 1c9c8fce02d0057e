//! Budgets of the group that everybody is in, set as an operator would.

use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use crate::call::{Call, Expectation};
use crate::connection::Connection;
use crate::failure::Outcome;
use crate::installation::Installation;

/// A member's day and week and the group's week, each more than a benchmark
/// spends: three windows in which every call is counted.
const BUDGETS: [&str; 3] = [
    "credits.daily=1000000000000",
    "credits.weekly=1000000000000",
    "credits.group-weekly=1000000000000",
];
/// A running server looks for changes every five seconds.
const PATIENCE: Duration = Duration::from_secs(30);

/// Sets them, and waits until the server knows.
pub(crate) fn set(
    program: &Path,
    installation: &Installation,
    server: SocketAddr,
    token: &str,
) -> Outcome<()> {
    let mut arguments = vec!["group", "set", "Default"];
    arguments.extend(BUDGETS);
    admin(program, installation, &arguments)?;
    let proof = Expectation::Holds(b"\"limited\":true".to_vec());
    let limited = Call::get_as(server, "/api/ai/credits", token, proof);
    let begun = Instant::now();
    let mut connection = Connection::open(server)?;
    loop {
        let answer = connection.exchange(&limited.request)?;
        match limited.check(&answer) {
            Ok(()) => return Ok(()),
            Err(err) if begun.elapsed() > PATIENCE => return Err(err),
            Err(_) => thread::sleep(Duration::from_millis(100)),
        }
    }
}

/// Fails where what is reserved is not what open calls may spend.
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
    let message = String::from_utf8_lossy(&output.stderr);
    Err(format!("pia-server admin {}: {message}", arguments.join(" ")).into())
}
