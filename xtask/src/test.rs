//! `cargo xtask test` and `cargo xtask pictures`
//!
//! `run_with` provides what the tests run against, in other languages or as servers,
//! and passes each to `cargo test` in a variable `TEST_…`. Whatever is missing is
//! installed below `target/tools`, in the versions of the constants here.

use std::env;
use std::path::Path;
use std::thread;

use crate::chromium;
use crate::command::cargo;
use crate::interrupt::Interrupt;
use crate::job::Job;
use crate::node;
use crate::outcome::Outcome;
use crate::places;
use crate::postgres::Cluster;
use crate::python::Venv;
use crate::temporal::TemporalServer;

/// Official client that the composed server is tested with.
const OPENAI: &str = "openai==3.54.0";
/// Third-party clients of the same API, each package with its version.
const SDKS: &str = include_str!("../../crates/server/tests/ai/openai/sdks.txt");
/// Mail relay for the tests.
const AIOSMTPD: &str = "aiosmtpd==1.4.6";
/// Package that fuzzes the server by its OpenAPI document.
const SCHEMATHESIS: &str = "schemathesis==4.32.5";
/// Package that generates a client from that document.
const OPENAPI_CLIENT: &str = "openapi-python-client==0.29.1";
/// Client of SignalR hubs.
const PYSIGNALR: &str = "pysignalr==1.3.3";

/// Packages of the npm registry: the variable that passes their folder to the
/// tests, the name of that folder, and the folder with their lists.
const NODE_MODULES: [(&str, &str, &str); 6] = [
    ("TEST_OIDC", "oidc-provider", "crates/server/tests/auth/oidc"),
    ("TEST_OPENAI", "openai", "crates/server/tests/ai/openai"),
    ("TEST_OPENAPI", "openapi-typescript", "crates/server/tests/server/openapi"),
    ("TEST_AXE", "axe", "crates/server/tests/server/pages/axe"),
    ("TEST_SIGNALR", "signalr", "crates/signalr/tests/it/clients"),
    ("TEST_POD_TS", "pod-ts", "examples/pod-ts"),
];

/// Variable with the number of tests that a program runs at once: twice the cores, as
/// tests wait for timers, peers and the database for more than half of their time.
const THREADS: &str = "RUST_TEST_THREADS";

/// Features that releases have, for cargo.
pub(crate) const FEATURES: &str = "--features=pia-server/temporal";

/// Runs all tests, on SQLite and on a temporary PostgreSQL.
pub(crate) fn run(args: Vec<String>, interrupt: &Interrupt) -> Outcome {
    run_with(args, None, interrupt)
}

/// Takes the pictures of the handbook, by the test of them.
pub(crate) fn take_pictures(interrupt: &Interrupt) -> Outcome {
    let test = ["-p", "pia-server", "--test", "server", "pages::pictures"];
    let folder = places::root().join("docs/images");
    run_with(test.map(str::to_owned).into(), Some(folder.as_path()), interrupt)
}

/// Runs tests. Those of pages store pictures in a folder, if there is one.
fn run_with(args: Vec<String>, pictures: Option<&Path>, interrupt: &Interrupt) -> Outcome {
    let peers = [OPENAI, AIOSMTPD, SCHEMATHESIS, OPENAPI_CLIENT, PYSIGNALR];
    let python = Venv::with("test-peers", &peers)?;
    let sdks = Venv::with("openai-clients", &SDKS.lines().collect::<Vec<_>>())?;
    let chromedriver = chromium::driver()?;
    let mut tests = cargo();
    for (variable, name, source) in NODE_MODULES {
        tests.env(variable, node::modules(name, source)?);
    }

    let cluster = Cluster::for_tests(interrupt)?;
    let selected = selection(args);
    // The first build of Temporal takes minutes.
    let needs_temporal = selected.iter().any(|it| it == "--workspace" || it.contains("temporal"));
    let temporal = needs_temporal.then(|| TemporalServer::start(interrupt)).transpose()?;
    tests
        .arg("test")
        .args(selected)
        .current_dir(places::root())
        .env("TEST_POSTGRES_URL", cluster.url())
        .env("TEST_CHROMEDRIVER", chromedriver)
        .env("TEST_SDKS", sdks.program("python"))
        .env("TEST_PYTHON", python.program("python"));

    if env::var_os(THREADS).is_none() {
        let cores = thread::available_parallelism()?.get();
        tests.env(THREADS, (2 * cores).to_string());
    }
    if let Some(temporal) = &temporal {
        tests.env("TEST_TEMPORAL", temporal.address());
    }
    if let Some(folder) = pictures {
        tests.env("PIA_TEST_PICTURES", folder);
    }

    Job::run(&mut tests, interrupt)
}

/// Returns the arguments for `cargo test`: the entire workspace with all features
/// by default.
fn selection(mut args: Vec<String>) -> Vec<String> {
    if args.first().is_some_and(|it| it == "--") {
        args.remove(0);
    }
    let package_options = ["-p", "--package", "--workspace", "--manifest-path"];
    let selects_packages = |arg: &String| package_options.iter().any(|it| arg.starts_with(it));
    if !args.iter().take_while(|it| *it != "--").any(selects_packages) {
        args.splice(0..0, ["--workspace", FEATURES].map(str::to_owned));
    }
    args
}

#[cfg(test)]
mod tests {
    use super::*;

    fn selected(line: &str) -> String {
        selection(line.split_whitespace().map(str::to_owned).collect()).join(" ")
    }

    #[test]
    fn the_entire_workspace_is_tested_by_default() {
        assert_eq!(selected(""), "--workspace --features=pia-server/temporal");
        assert_eq!(selected("-- -p pia-web gates"), "-p pia-web gates");
        assert_eq!(
            selected("gates -- -p"),
            "--workspace --features=pia-server/temporal gates -- -p"
        );
    }
}
