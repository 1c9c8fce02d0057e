//! Process of a contender, measured through `/proc` and killed when dropped.
//!
//! Callers start it and wait by `wait_for` until it responds. Between two loads they
//! call `settle`. An error repeats the end of the process's log.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::failure::Outcome;

/// Maximum time until a contender responds, migrations included.
const START_TIMEOUT: Duration = Duration::from_secs(30);
/// Unit of the CPU times in `/proc`: a hundredth of a second on every supported
/// platform.
const TICK: Duration = Duration::from_millis(10);
/// Number of log lines that an error repeats.
const LOG_TAIL_LINES: usize = 12;

/// A running child process, killed when dropped.
pub(crate) struct Process {
    name: String,
    child: Child,
    log: PathBuf,
}

impl Process {
    /// Starts the program, with its output in a file in `logs`.
    pub(crate) fn start(name: &str, command: &mut Command, logs: &Path) -> Outcome<Self> {
        let log = logs.join(format!("{}.log", name.replace(|it: char| !it.is_alphanumeric(), "-")));
        let file = fs::File::create(&log)?;
        let child = command
            .stdin(Stdio::null())
            .stdout(file.try_clone()?)
            .stderr(file)
            .spawn()
            .map_err(|err| format!("{name}: {}: {err}", command.get_program().display()))?;
        Ok(Self { name: name.to_owned(), child, log })
    }

    /// Waits until `is_ready` is true.
    pub(crate) fn wait_for(&mut self, is_ready: impl Fn() -> bool) -> Outcome<()> {
        self.wait_at_most(START_TIMEOUT, is_ready)
    }

    /// Waits until `is_ready` is true, but no longer than `max_wait`.
    pub(crate) fn wait_at_most(
        &mut self,
        max_wait: Duration,
        is_ready: impl Fn() -> bool,
    ) -> Outcome<()> {
        let start_time = Instant::now();
        while !is_ready() {
            if let Some(status) = self.child.try_wait()? {
                return Err(self.failed(&format!("ended at once ({status})")));
            }
            if start_time.elapsed() > max_wait {
                return Err(self.failed("did not answer in time"));
            }
            thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }

    /// Returns the CPU time of all threads of the process so far.
    pub(crate) fn cpu(&self) -> Outcome<Duration> {
        let text = fs::read_to_string(format!("/proc/{}/stat", self.child.id()))
            .map_err(|err| self.failed(&format!("is gone ({err})")))?;
        let ticks =
            parse_ticks(&text).ok_or_else(|| self.failed("has CPU times that cannot be read"))?;
        Ok(TICK * ticks)
    }

    /// Returns the resident memory in MB.
    pub(crate) fn resident(&self) -> Outcome<f64> {
        self.memory("VmRSS:")
    }

    /// Returns the peak of the resident memory in MB.
    pub(crate) fn peak(&self) -> Outcome<f64> {
        self.memory("VmHWM:")
    }

    fn memory(&self, name: &str) -> Outcome<f64> {
        let text = fs::read_to_string(format!("/proc/{}/status", self.child.id()))
            .map_err(|err| self.failed(&format!("is gone ({err})")))?;
        memory(&text, name).ok_or_else(|| self.failed("has a memory size that cannot be read"))
    }

    fn failed(&self, reason: &str) -> Box<dyn std::error::Error + Send + Sync> {
        let log = fs::read_to_string(&self.log).unwrap_or_default();
        let lines: Vec<&str> = log.lines().collect();
        let tail = lines
            .get(lines.len().saturating_sub(LOG_TAIL_LINES)..)
            .unwrap_or_default()
            .join("\n  ");
        format!("{} {reason}; the end of its log:\n  {tail}", self.name).into()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // The process may have ended already.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// Waits until no process uses CPU time, for 20 seconds at most, so that work
/// in the background, such as usage still to be written, does not slow the next
/// load.
pub(crate) fn settle(processes: &[&Process]) -> Outcome<()> {
    let total = || processes.iter().map(|it| it.cpu()).sum::<Outcome<Duration>>();
    let mut before = total()?;
    for _ in 0..200 {
        thread::sleep(Duration::from_millis(100));
        let now = total()?;
        if now.saturating_sub(before) <= TICK {
            break;
        }
        before = now;
    }
    Ok(())
}

/// Returns a line of this process's own memory in MB.
pub(crate) fn own_memory(name: &str) -> Outcome<f64> {
    let text = fs::read_to_string("/proc/self/status")?;
    memory(&text, name).ok_or_else(|| format!("{name} cannot be read").into())
}

/// Parses user and system time from `/proc/PID/stat`. The name in brackets
/// before them may contain spaces and brackets.
fn parse_ticks(stat: &str) -> Option<u32> {
    let (_, rest) = stat.rsplit_once(')')?;
    let mut fields = rest.split_ascii_whitespace().skip(11);
    let user: u32 = fields.next()?.parse().ok()?;
    let system: u32 = fields.next()?.parse().ok()?;
    user.checked_add(system)
}

fn memory(status: &str, name: &str) -> Option<f64> {
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    let kibibytes: u32 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(f64::from(kibibytes) * 1024.0 / 1e6)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_time_is_the_sum_of_user_and_system_time() {
        let stat = "42 (a (strange) name) S 1 2 3 4 5 6 7 8 9 10 110 23 7 8 20 0 4 0 99";

        assert_eq!(parse_ticks(stat), Some(133));
        assert_eq!(parse_ticks("42 (cut off) S 1 2"), None);
    }

    #[test]
    fn memory_is_converted_to_megabytes() {
        let status = "Name:\tx\nVmHWM:\t  9999 kB\nVmRSS:\t   125000 kB\n";

        assert_eq!(memory(status, "VmRSS:"), Some(128.0));
        assert_eq!(memory("Name:\tx\n", "VmRSS:"), None);
    }

    #[test]
    fn an_early_exit_is_reported_with_the_log() {
        let logs = tempfile::tempdir().unwrap();
        let mut command = Command::new("sh");
        command.args(["-c", "echo no port is free; exit 3"]);
        let mut process = Process::start("demo", &mut command, logs.path()).unwrap();

        let message = process.wait_for(|| false).unwrap_err().to_string();

        assert!(message.starts_with("demo ended at once"), "{message}");
        assert!(message.ends_with("no port is free"), "{message}");
    }

    #[test]
    fn a_missing_program_is_named_in_the_error() {
        let logs = tempfile::tempdir().unwrap();
        let mut command = Command::new("/no/such/program");

        let message = Process::start("demo", &mut command, logs.path()).err().unwrap().to_string();

        assert!(message.contains("/no/such/program"), "{message}");
    }
}
