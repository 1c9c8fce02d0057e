//! Development server that runs as a child process.
//!
//! `build` first, then `DevServer::start`, which starts the demo upstream unless the
//! environment names another, then the server, waits until it is ready, and fills a
//! knowledge base. `dev.rs` and `demo.rs` use it.

use std::env;
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::process::Stdio;
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::command::{cargo, command};
use crate::dev_folder::DevFolder;
use crate::interrupt::Interrupt;
use crate::job::Job;
use crate::outcome::Outcome;
use crate::places;

/// Settings of an upstream that the caller configures.
const UPSTREAM_SETTINGS: [&str; 3] = ["Ai__Endpoint", "Ai__ApiKey", "Ai__Model"];

/// Maximum time until a server is ready; its first start creates the database.
const START_TIMEOUT: Duration = Duration::from_mins(1);

/// Name of the knowledge base with the documentation.
const HANDBOOK: &str = "Handbook";

/// Server and, unless the environment names another, its demo upstream. Both
/// are stopped when this is dropped, the server first.
pub(crate) struct DevServer {
    server: Job,
    upstream: Option<Upstream>,
    url: String,
}

/// Demo upstream that runs beside the server.
struct Upstream {
    job: Job,
    url: String,
}

impl DevServer {
    /// Starts the server in a folder, on a port of 127.0.0.1, and waits until
    /// it is ready.
    pub(crate) fn start(folder: &DevFolder, port: u16, interrupt: &Interrupt) -> Outcome<Self> {
        Self::start_with(&[], folder, port, interrupt)
    }

    /// Starts a server on any free port, with the least log output.
    pub(crate) fn start_quietly(folder: &DevFolder, interrupt: &Interrupt) -> Outcome<Self> {
        Self::start_with(&[("Logging__Level", "error")], folder, 0, interrupt)
    }

    fn start_with(
        settings: &[(&str, &str)],
        folder: &DevFolder,
        port: u16,
        interrupt: &Interrupt,
    ) -> Outcome<Self> {
        let port = usable_port(port)?;
        let upstream = if is_upstream_configured() { None } else { Some(Upstream::start()?) };
        let address = format!("127.0.0.1:{port}");
        let mut program = command(places::debug()?.join("pia-server"));
        program
            .current_dir(folder.path())
            .envs(settings.iter().copied())
            .env("PIA_ENVIRONMENT", "Development")
            .env("Server__Address", &address);

        if let Some(upstream) = &upstream {
            program
                .env("Ai__Endpoint", format!("{}/v1", upstream.url))
                .env("Ai__ApiKey", "demo")
                .env("Ai__Model", "demo");
        }

        let server = Job::start(&mut program)?;
        let mut dev_server = Self { server, upstream, url: format!("http://{address}") };
        dev_server.wait(interrupt)?;
        fill_handbook(folder)?;

        Ok(dev_server)
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// Returns the URL of the demo upstream, if it is used.
    pub(crate) fn demo_upstream(&self) -> Option<&str> {
        self.upstream.as_ref().map(|it| it.url.as_str())
    }

    /// Waits until the process is interrupted, which is the regular end.
    pub(crate) fn serve(mut self, interrupt: &Interrupt) -> Outcome {
        while !interrupt.is_set() {
            self.server.still_runs()?;
            if let Some(upstream) = &mut self.upstream {
                upstream.job.still_runs()?;
            }
            sleep(Duration::from_millis(50));
        }
        Ok(())
    }

    fn wait(&mut self, interrupt: &Interrupt) -> Outcome {
        let started = Instant::now();
        let ready_url = format!("{}/ready", self.url);

        while started.elapsed() < START_TIMEOUT {
            interrupt.check()?;
            self.server.still_runs()?;
            // Refused connections and 503 both mean that the server is not ready yet.
            if ureq::get(&ready_url).call().is_ok() {
                return Ok(());
            }
            sleep(Duration::from_millis(50));
        }

        Err(format!("{ready_url} did not answer 200 within {} s", START_TIMEOUT.as_secs()).into())
    }
}

/// Fills a knowledge base with the documentation, so that the server has
/// documents to answer from. Documents that are stored already stay.
fn fill_handbook(folder: &DevFolder) -> Outcome {
    if !admin(folder, &["list"])?.contains(HANDBOOK) {
        admin(folder, &["create", HANDBOOK, "default"])?;
    }
    let docs = places::root().join("docs");
    admin(folder, &["import", HANDBOOK, &docs.to_string_lossy()]).map(drop)
}

/// Runs `pia-server admin kb …` and returns its output.
fn admin(folder: &DevFolder, words: &[&str]) -> Outcome<String> {
    let mut program = command(places::debug()?.join("pia-server"));
    program.current_dir(folder.path()).env("PIA_ENVIRONMENT", "Development");
    let output = program.args(["admin", "kb"]).args(words).output()?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into());
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

impl Upstream {
    fn start() -> Outcome<Self> {
        let mut program = command(places::debug()?.join("pia-demo-upstream"));
        // Slow enough that streaming is visible.
        program.args(["--delay-ms", "30"]).stdout(Stdio::piped());
        let mut job = Job::start(&mut program)?;
        let stdout = job.stdout().ok_or("the demo upstream has no output")?;
        let mut first_line = String::new();
        BufReader::new(stdout).read_line(&mut first_line)?;
        if first_line.is_empty() {
            job.still_runs()?;
            return Err("the demo upstream does not say where it is".into());
        }

        Ok(Self { job, url: first_line.trim().to_owned() })
    }
}

/// Returns whether the environment configures an upstream. The server reads
/// names in any case.
fn is_upstream_configured() -> bool {
    env::vars_os()
        .filter_map(|(name, _)| name.into_string().ok())
        .any(|name| UPSTREAM_SETTINGS.iter().any(|it| it.eq_ignore_ascii_case(&name)))
}

/// Returns the port, or any free one for 0. Another server on the port would be
/// taken for this one.
fn usable_port(port: u16) -> Outcome<u16> {
    if port == 0 {
        return places::free_port();
    }
    TcpListener::bind(("127.0.0.1", port))
        .map_err(|err| format!("port {port}: {err} (`--port 0` takes any free one)"))?;
    Ok(port)
}

/// Builds the programs to start.
pub(crate) fn build(interrupt: &Interrupt) -> Outcome {
    println!("Building the server; the first time this takes some minutes …");
    let mut build = cargo();
    build.args(["build", "-p", "pia-server", "-p", "pia-demo-upstream"]);
    Job::run(build.current_dir(places::root()), interrupt)
}
