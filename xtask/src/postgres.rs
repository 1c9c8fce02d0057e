//! Temporary PostgreSQL clusters.
//!
//! A cluster is a fresh data folder and one server process on a free port, removed
//! with the value. PostgreSQL refuses to run as root, so as root it runs as the user
//! `postgres`.

use std::env;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::command::{ending_with_parent, find_program, output};
use crate::debian;
use crate::interrupt::Interrupt;
use crate::job::Job;
use crate::outcome::Outcome;
use crate::places;

/// Folder of PostgreSQL's programs in Debian, with a folder per version.
const DEBIAN: &str = "/usr/lib/postgresql";

/// Folder in memory.
const MEMORY: &str = "/dev/shm";

/// Free space that the databases of tests need in memory, in KiB.
const TEST_KIB: u64 = 4 << 20;

/// Log file of a cluster, in its folder.
const LOG: &str = "log";

/// Maximum time until a new cluster responds.
const START_TIMEOUT: Duration = Duration::from_mins(1);

/// Running cluster in a folder of its own; both are removed when it is dropped.
pub(crate) struct Cluster {
    // Fields are dropped in this order: first the server, then its folder.
    server: Job,
    dir: TempDir,
    port: u16,
}

impl Cluster {
    /// Starts a cluster for tests, without protection against power failures: in memory
    /// if there is space, where each test gets its database three times as fast.
    pub(crate) fn for_tests(interrupt: &Interrupt) -> Outcome<Self> {
        let has_memory = free_kib(MEMORY).is_some_and(|it| it >= TEST_KIB);
        let folder = if has_memory { PathBuf::from(MEMORY) } else { env::temp_dir() };
        Self::start(&folder, &["-c", "fsync=off", "-c", "max_connections=500"], interrupt)
    }

    /// Starts a cluster for benchmarks, with durable commits.
    pub(crate) fn for_benches(interrupt: &Interrupt) -> Outcome<Self> {
        Self::start(&env::temp_dir(), &["-c", "max_connections=200"], interrupt)
    }

    fn start(folder: &Path, settings: &[&str], interrupt: &Interrupt) -> Outcome<Self> {
        let programs = program_folder()?;
        let dir = tempfile::Builder::new().prefix("pia-postgres-").tempdir_in(folder)?;

        if debian::is_root()? {
            output(Command::new("chown").arg("postgres").arg(dir.path()))?;
        }

        let data = dir.path().join("data");
        let mut initdb = unprivileged(&programs.join("initdb"))?;
        initdb
            .args(["-A", "trust", "-U", "postgres", "-E", "UTF8", "--locale=C"])
            .args(["--no-sync", "-D"])
            .arg(&data);
        output(&mut initdb)?;
        let port = places::free_port()?;
        let log = File::create(dir.path().join(LOG))?;
        let mut postgres = unprivileged(&programs.join("postgres"))?;
        postgres
            .arg("-D")
            .arg(&data)
            .args(["-p", &port.to_string(), "-c", "listen_addresses=127.0.0.1", "-k"])
            .arg(dir.path())
            .args(settings)
            .stdout(log.try_clone()?)
            .stderr(log);
        // Stopped immediately when dropped: its data goes with the folder.
        let server = Job::start(&mut postgres)?.stopped_by("QUIT");
        let mut cluster = Self { server, dir, port };
        cluster.wait(&programs.join("pg_isready"), interrupt)?;

        Ok(cluster)
    }

    /// Returns the connection string without the name of a database.
    pub(crate) fn url(&self) -> String {
        format!("postgres://postgres@127.0.0.1:{}", self.port)
    }

    /// Returns the path of the log.
    pub(crate) fn log(&self) -> PathBuf {
        self.dir.path().join(LOG)
    }

    fn wait(&mut self, pg_isready: &Path, interrupt: &Interrupt) -> Outcome {
        let started = Instant::now();
        let port = self.port.to_string();

        while started.elapsed() < START_TIMEOUT {
            interrupt.check()?;

            self.server.still_runs().map_err(|err| {
                let log = fs::read_to_string(self.log()).unwrap_or_default();
                format!("{err}; its log says:\n{log}")
            })?;
            let mut probe = Command::new(pg_isready);
            if probe.args(["-q", "-h", "127.0.0.1", "-p", &port]).status()?.success() {
                return Ok(());
            }

            sleep(Duration::from_millis(50));
        }

        Err(format!("PostgreSQL did not answer within {} s", START_TIMEOUT.as_secs()).into())
    }
}

/// Returns the free space of the volume of a folder, in KiB, if `df` reports it.
fn free_kib(folder: &str) -> Option<u64> {
    let report = Command::new("df").args(["--output=avail", "-k", folder]).output().ok()?;
    String::from_utf8(report.stdout).ok()?.lines().last()?.trim().parse().ok()
}

/// Returns the folder with PostgreSQL's programs; installs them if necessary.
fn program_folder() -> Outcome<PathBuf> {
    if let Some(folder) = installed() {
        return Ok(folder);
    }
    debian::install("PostgreSQL's server", &["postgresql"])?;
    // Debian starts a cluster with the installation, which is not needed; if it
    // was not started, there is nothing to stop.
    drop(Command::new("service").args(["postgresql", "stop"]).output());
    installed().ok_or_else(|| "the package postgresql brought no server".into())
}

fn installed() -> Option<PathBuf> {
    let versions = Path::new(DEBIAN).read_dir().into_iter().flatten().flatten();
    let newest = versions
        .map(|it| it.path())
        .filter(|it| it.join("bin/initdb").is_file())
        .max_by_key(|it| version(it));
    let on_path = || find_program("initdb")?.parent().map(Path::to_owned);
    newest.map(|it| it.join("bin")).or_else(on_path)
}

/// Returns the version that a folder is named after; 0 for any other folder.
fn version(folder: &Path) -> u32 {
    let name = folder.file_name().and_then(OsStr::to_str).unwrap_or_default();
    name.parse().unwrap_or_default()
}

/// Returns a command of a PostgreSQL program, as a user it accepts.
fn unprivileged(program: &Path) -> Outcome<Command> {
    if !debian::is_root()? {
        return Ok(ending_with_parent("QUIT", &[], program.as_os_str()));
    }
    if find_program("setpriv").is_none() {
        return Err("PostgreSQL does not run as root, and util-linux's setpriv is missing: \
                    install it, or run this as another user"
            .into());
    }

    let user = ["--reuid=postgres", "--regid=postgres", "--clear-groups"];
    let mut command = ending_with_parent("QUIT", &user, program.as_os_str());
    command.current_dir("/");

    Ok(command)
}
