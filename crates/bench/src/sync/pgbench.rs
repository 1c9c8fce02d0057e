//! Runs `pgbench`, PostgreSQL's benchmark.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::failure::Outcome;

/// Folder of the programs in Debian's packages, with a subfolder for each
/// version.
const DEBIAN: &str = "/usr/lib/postgresql";

/// Path of the program.
pub(super) struct Pgbench(PathBuf);

impl Pgbench {
    /// Returns the newest version of Debian's packages, or else the program on
    /// the path.
    pub(super) fn find() -> Self {
        let version = |path: &Path| -> u32 {
            let name = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
            name.parse().unwrap_or_default()
        };
        let versions = Path::new(DEBIAN).read_dir().into_iter().flatten().flatten();
        let newest = versions
            .map(|it| it.path())
            .filter(|it| it.join("bin/pgbench").is_file())
            .max_by_key(|it| version(it));
        Self(newest.map_or_else(|| "pgbench".into(), |it| it.join("bin/pgbench")))
    }

    /// Runs the script with these variables and returns the runs a second. The
    /// duration is rounded down to seconds, one at least.
    pub(super) fn per_second(
        &self,
        url: &str,
        script: &Path,
        variables: &[(&str, &str)],
        (connections, duration): (usize, Duration),
    ) -> Outcome<f64> {
        let mut command = Command::new(&self.0);
        command.args(["--no-vacuum", "--protocol=prepared"]);
        command.args(["-c", &connections.to_string(), "-j", &connections.to_string()]);
        command.args(["-T", &duration.as_secs().max(1).to_string(), "-f"]).arg(script);

        for (name, value) in variables {
            command.args(["-D", &format!("{name}={value}")]);
        }

        let output = command.arg(url).output().map_err(|err| {
            format!("{}: {err}: it comes with PostgreSQL's server", self.0.display())
        })?;
        let stdout = String::from_utf8_lossy(&output.stdout);
        match rate(&stdout) {
            Some(rate) if output.status.success() => Ok(rate),
            _ => {
                let stderr = String::from_utf8_lossy(&output.stderr);
                Err(format!("pgbench ended with {}: {}", output.status, stderr.trim()).into())
            }
        }
    }
}

fn rate(stdout: &str) -> Option<f64> {
    let line = stdout.lines().find_map(|it| it.strip_prefix("tps = "))?;
    line.split(' ').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_is_parsed_from_the_output() {
        let stdout = "latency average = 0.5 ms\ntps = 1234.5 (without initial connection time)\n";

        assert_eq!(rate(stdout), Some(1234.5));
        assert_eq!(rate("pgbench: error: none"), None);
    }

    #[test]
    fn a_missing_program_is_named_in_the_error() {
        let missing = Pgbench("/no/such/pgbench".into());

        let result = missing.per_second("", Path::new("x"), &[], (1, Duration::ZERO));

        assert!(result.unwrap_err().to_string().starts_with("/no/such/pgbench"));
    }
}
