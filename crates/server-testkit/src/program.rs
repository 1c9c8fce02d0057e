//! The real binary, in its own folder.
//!
//! `Invocation::new().with(…).start()` starts a server and waits until it logs that it
//! listens; `run` and `fails` wait for the exit of a command. The environment is
//! cleared, so only the variables of the invocation count.

use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use serde_json::Value;
use tempfile::TempDir;

use crate::client::Client;
use crate::harness::{JWT_KEY, MASTER_KEY, licence, terms};
use crate::polling::until;

/// Invocation of the binary.
pub struct Invocation {
    dir: Arc<TempDir>,
    variables: Vec<(String, String)>,
    arguments: Vec<String>,
}

/// Running server; killed on drop.
pub struct ServerProcess {
    /// Address that it listens on.
    pub addr: SocketAddr,
    child: Child,
    log: Log,
    _dir: Arc<TempDir>,
}

/// Log lines so far.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<String>>>);

/// Settings that Development requires, and those that make tests quick.
const BASE: &[(&str, &str)] = &[
    ("PIA_ENVIRONMENT", "Development"),
    ("JWT_SECRET_KEY", JWT_KEY),
    ("ENCRYPTION_MASTER_KEY", MASTER_KEY),
    ("Server__Address", "127.0.0.1:0"),
    // Tests of knowledge bases switch it on.
    ("Knowledge__ConnectionString", ""),
    ("Server__Workers", "2"),
    ("Logging__Format", "json"),
    ("PasswordHashing__MemoryKib", "64"),
    ("PasswordHashing__Iterations", "1"),
    ("RateLimits__Auth", "1000000"),
    ("RateLimits__LocalAuth", "1000000"),
];

impl Invocation {
    /// Creates an invocation in Development, in an empty folder.
    pub fn new() -> Self {
        Self { arguments: Vec::new(), ..Self::bare() }.with_all(BASE)
    }

    /// Creates an invocation without any setting.
    pub fn bare() -> Self {
        let dir = Arc::new(tempfile::tempdir().expect("a folder"));
        Self { dir, variables: Vec::new(), arguments: Vec::new() }
    }

    /// Creates another invocation in this folder, with the same variables.
    pub fn beside(&self) -> Self {
        let dir = Arc::clone(&self.dir);
        let variables = self.variables.clone();
        Self { dir, variables, arguments: Vec::new() }
    }

    fn with_all(self, variables: &[(&str, &str)]) -> Self {
        variables.iter().fold(self, |call, (name, value)| call.with(name, value))
    }

    /// Sets an environment variable.
    pub fn with(mut self, name: &str, value: &str) -> Self {
        self.variables.retain(|(it, _)| it != name);
        self.variables.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Removes an environment variable.
    pub fn without(mut self, name: &str) -> Self {
        self.variables.retain(|(it, _)| it != name);
        self
    }

    /// Adds an argument to the command line.
    pub fn argument(mut self, argument: &str) -> Self {
        self.arguments.push(argument.to_owned());
        self
    }

    /// Writes a file to its folder.
    pub fn file(self, name: &str, content: &str) -> Self {
        std::fs::write(self.dir().join(name), content).expect("a file");
        self
    }

    /// Writes a valid licence to its folder.
    pub fn licensed(self) -> Self {
        self.file("license.lic", &licence(&terms()))
    }

    /// Returns its working directory.
    pub fn dir(&self) -> &Path {
        self.dir.path()
    }

    fn command(&self) -> Command {
        let mut command = Command::new(binary());
        command
            .env_clear()
            .envs(self.variables.iter().map(|(name, value)| (name, value)))
            .args(&self.arguments)
            .current_dir(self.dir())
            .stdin(Stdio::null());
        command
    }

    /// Runs it until it exits.
    pub fn run(&self) -> Output {
        self.command().output().expect("the binary")
    }

    /// Runs it, which must fail, and returns its standard error.
    pub fn fails(&self) -> String {
        let output = self.run();
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success(), "it did not fail: {errors}");
        assert!(output.stdout.is_empty(), "it wrote to standard output");
        errors
    }

    /// Starts it and waits until it listens.
    pub async fn start(&self) -> ServerProcess {
        let mut child = self.command().stderr(Stdio::piped()).spawn().expect("the binary");
        let log = Log::default();
        let lines = child.stderr.take().expect("a log");
        let written = log.clone();
        thread::spawn(move || {
            for line in BufReader::new(lines).lines().map_while(Result::ok) {
                written.lines().push(line);
            }
        });

        let listening = until(async || {
            assert!(matches!(child.try_wait(), Ok(None)), "it ended: {:?}", log.lines());
            log.find("listening")
        })
        .await;
        let addr = listening["server.address"].as_str().and_then(|it| it.parse().ok());

        ServerProcess { addr: addr.expect("an address"), child, log, _dir: Arc::clone(&self.dir) }
    }
}

impl ServerProcess {
    /// Creates a client without tokens.
    pub fn anonymous(&self) -> Client {
        Client::new(self.addr)
    }

    /// Waits for a log line with this message or code, and returns it.
    pub async fn logs(&self, message: &str) -> Value {
        until(async || self.log.find(message)).await
    }

    /// Waits for a log line with this message about this setting.
    pub async fn logs_of_setting(&self, message: &str, key: &str) {
        until(async || {
            self.log
                .lines()
                .iter()
                .filter_map(|it| serde_json::from_str::<Value>(it).ok())
                .any(|it| it["message"] == message && it["setting.key"] == key)
                .then_some(())
        })
        .await;
    }

    /// Returns the log so far.
    pub fn log(&self) -> String {
        self.log.lines().join("\n")
    }

    /// Sends a signal: `TERM`, `KILL`.
    pub fn signal(&self, name: &str) {
        let kill = format!("kill -{name} {}", self.child.id());
        let status = Command::new("sh").args(["-c", &kill]).status().expect("a shell");
        assert!(status.success(), "no signal was sent");
    }

    /// Returns the id of the process.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Waits until it exits.
    pub async fn end(mut self) -> ExitStatus {
        until(async || self.child.try_wait().expect("a child")).await
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

impl Log {
    fn lines(&self) -> std::sync::MutexGuard<'_, Vec<String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the first line with this code, or with this text in its message.
    fn find(&self, message: &str) -> Option<Value> {
        self.lines().iter().filter_map(|it| serde_json::from_str::<Value>(it).ok()).find(|line| {
            let text = line["message"].as_str();
            line["code"] == message || text.is_some_and(|it| it.contains(message))
        })
    }
}

/// Returns the peak memory of a process, in bytes.
pub fn peak(program: &ServerProcess) -> usize {
    let path = format!("/proc/{}/status", program.id());
    let status = std::fs::read_to_string(path).expect("a process");
    let line = status.lines().find_map(|it| it.strip_prefix("VmHWM:")).expect("a peak");
    line.trim().trim_end_matches("kB").trim().parse::<usize>().expect("a number") << 10
}

/// Returns the path of the server's binary, which Cargo builds for its integration tests.
#[expect(clippy::disallowed_methods, reason = "Cargo sets it at run time only")]
fn binary() -> String {
    std::env::var("CARGO_BIN_EXE_pia-server").expect("a test that Cargo runs")
}
