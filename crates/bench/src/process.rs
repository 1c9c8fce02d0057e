//! A contender's process: started, watched through `/proc`, ended with us.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::failure::Outcome;

/// Maximum time until a contender responds, migrations included.
const START: Duration = Duration::from_secs(30);
/// A tick of the CPU times in `/proc`: Linux shows them in hundredths of a
/// second on every platform that this runs on.
const TICK: Duration = Duration::from_millis(10);
/// Number of log lines that an error repeats.
const TAIL: usize = 12;

/// A running child process, killed when dropped.
pub(crate) struct Process {
    name: String,
    child: Child,
    log: PathBuf,
}

impl Process {
    /// Starts it; whatever it prints goes to a file in `logs`.
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

    /// Waits until it answers.
    pub(crate) fn wait_for(&mut self, answers: impl Fn() -> bool) -> Outcome<()> {
        self.wait_as_long(START, answers)
    }

    /// Waits until it answers, for at most so long.
    pub(crate) fn wait_as_long(
        &mut self,
        longest: Duration,
        answers: impl Fn() -> bool,
    ) -> Outcome<()> {
        let begun = Instant::now();
        while !answers() {
            if let Some(status) = self.child.try_wait()? {
                return Err(self.failed(&format!("ended at once ({status})")));
            }
            if begun.elapsed() > longest {
                return Err(self.failed("did not answer in time"));
            }
            thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }

    /// The CPU time that all its threads have taken so far.
    pub(crate) fn cpu(&self) -> Outcome<Duration> {
        let text = fs::read_to_string(format!("/proc/{}/stat", self.child.id()))
            .map_err(|err| self.failed(&format!("is gone ({err})")))?;
        let ticks = ticks(&text).ok_or_else(|| self.failed("has CPU times that cannot be read"))?;
        Ok(TICK * ticks)
    }

    /// The memory that it holds resident, in MB.
    pub(crate) fn resident(&self) -> Outcome<f64> {
        let text = fs::read_to_string(format!("/proc/{}/status", self.child.id()))
            .map_err(|err| self.failed(&format!("is gone ({err})")))?;
        memory(&text, "VmRSS:").ok_or_else(|| self.failed("has a memory size that cannot be read"))
    }

    /// The most memory that it ever held resident, in MB.
    pub(crate) fn peak(&self) -> Outcome<f64> {
        let text = fs::read_to_string(format!("/proc/{}/status", self.child.id()))
            .map_err(|err| self.failed(&format!("is gone ({err})")))?;
        memory(&text, "VmHWM:").ok_or_else(|| self.failed("has a memory size that cannot be read"))
    }

    fn failed(&self, how: &str) -> Box<dyn std::error::Error + Send + Sync> {
        let log = fs::read_to_string(&self.log).unwrap_or_default();
        let lines: Vec<&str> = log.lines().collect();
        let tail = lines.get(lines.len().saturating_sub(TAIL)..).unwrap_or_default().join("\n  ");
        format!("{} {how}; the end of its log:\n  {tail}", self.name).into()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended by itself; then there is nothing to do.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// Waits until no process takes CPU time any more, so that what one leaves
/// behind, such as usage still to be written, does not slow the next.
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

/// User and system time out of `/proc/PID/stat`. The name in brackets comes
/// first and may hold spaces and brackets itself.
fn ticks(stat: &str) -> Option<u32> {
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
    fn cpu_time_is_that_of_user_and_system() {
        let stat = "42 (a (strange) name) S 1 2 3 4 5 6 7 8 9 10 110 23 7 8 20 0 4 0 99";

        assert_eq!(ticks(stat), Some(133));
        assert_eq!(ticks("42 (cut off) S 1 2"), None);
    }

    #[test]
    fn resident_memory_is_reported_in_megabytes() {
        let status = "Name:\tx\nVmHWM:\t  9999 kB\nVmRSS:\t   125000 kB\n";

        assert_eq!(memory(status, "VmRSS:"), Some(128.0));
        assert_eq!(memory("Name:\tx\n", "VmRSS:"), None);
    }

    #[test]
    fn a_process_that_ends_at_once_is_reported_with_its_log() {
        let logs = tempfile::tempdir().unwrap();
        let mut command = Command::new("sh");
        command.args(["-c", "echo no port is free; exit 3"]);
        let mut process = Process::start("demo", &mut command, logs.path()).unwrap();

        let message = process.wait_for(|| false).unwrap_err().to_string();

        assert!(message.starts_with("demo ended at once"), "{message}");
        assert!(message.ends_with("no port is free"), "{message}");
    }

    #[test]
    fn a_program_that_is_missing_is_named() {
        let logs = tempfile::tempdir().unwrap();
        let mut command = Command::new("/no/such/program");

        let message = Process::start("demo", &mut command, logs.path()).err().unwrap().to_string();

        assert!(message.contains("/no/such/program"), "{message}");
    }
}
