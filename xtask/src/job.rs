//! Child processes that do not outlive this one.
//!
//! A job is the leader of a process group, so that a signal reaches its descendants
//! too. Dropping a running job sends its signal, waits, and kills the group at last.

use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::command::display_command;
use crate::interrupt::Interrupt;
use crate::outcome::Outcome;

/// Interval at which a running child is polled.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// Maximum time for a child to end after a signal.
const STOP_TIMEOUT: Duration = Duration::from_secs(15);

/// Child in a process group of its own; when dropped, it is stopped with all
/// its descendants.
pub(crate) struct Job {
    child: Child,
    name: String,
    stop_signal: &'static str,
}

impl Job {
    /// Starts a command that is stopped by SIGTERM.
    pub(crate) fn start(command: &mut Command) -> Outcome<Self> {
        let name = display_command(command);
        let child = command
            .stdin(Stdio::null())
            .process_group(0)
            .spawn()
            .map_err(|err| format!("cannot start `{name}`: {err}"))?;
        Ok(Self { child, name, stop_signal: "TERM" })
    }

    /// Sets another signal by which the child is stopped.
    pub(crate) fn stopped_by(mut self, signal: &'static str) -> Self {
        self.stop_signal = signal;
        self
    }

    /// Runs a command to its end; a failure status is an error.
    pub(crate) fn run(command: &mut Command, interrupt: &Interrupt) -> Outcome {
        let mut job = Self::start(command)?;
        let status = job.wait(interrupt)?;
        if status.success() { Ok(()) } else { Err(job.failed(status)) }
    }

    /// Waits for the end of the child; an interrupt is an error.
    pub(crate) fn wait(&mut self, interrupt: &Interrupt) -> Outcome<ExitStatus> {
        loop {
            if let Some(status) = self.child.try_wait()? {
                return Ok(status);
            }
            interrupt.check()?;
            sleep(POLL_INTERVAL);
        }
    }

    /// Returns an error if the child has ended although it should run.
    pub(crate) fn still_runs(&mut self) -> Outcome {
        match self.child.try_wait()? {
            Some(status) => Err(self.failed(status)),
            None => Ok(()),
        }
    }

    pub(crate) fn stdout(&mut self) -> Option<ChildStdout> {
        self.child.stdout.take()
    }

    fn failed(&self, status: ExitStatus) -> Box<dyn std::error::Error> {
        format!("`{}` ended with {status}", self.name).into()
    }

    /// Signals the child and its descendants with the shell's own `kill`, since
    /// small systems lack the program.
    fn signal(&self, signal: &str) {
        let mut shell = Command::new("sh");
        let kill = shell.args(["-c", r#"kill -s "$0" -- "-$1""#, signal]);
        // It does not matter if the group is already gone.
        drop(kill.arg(self.child.id().to_string()).output());
    }
}

impl Drop for Job {
    fn drop(&mut self) {
        if let Ok(Some(_ended)) = self.child.try_wait() {
            return;
        }

        self.signal(self.stop_signal);
        let signalled_at = Instant::now();
        while signalled_at.elapsed() < STOP_TIMEOUT {
            if let Ok(Some(_ended)) = self.child.try_wait() {
                return;
            }
            sleep(POLL_INTERVAL);
        }

        self.signal("KILL");
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
