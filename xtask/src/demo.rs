//! `cargo xtask demo`

use crate::dev_folder::DevFolder;
use crate::dev_server::{self, DevServer};
use crate::interrupt::Interrupt;
use crate::outcome::Outcome;
use crate::walk::Walk;

const HELP: &str = "\
usage: cargo xtask demo [--url URL]

Walks through the server at URL (default http://127.0.0.1:8080, where `cargo xtask dev`
starts it): register, sign in, optimise, a streamed chat, a search of documents, refresh,
sign out. Where no server answers and none was named, it starts one of its own for as
long as that takes.";

/// Default address of `cargo xtask dev`.
const DEFAULT_URL: &str = "http://127.0.0.1:8080";

/// Walks through a running server, step by step.
pub(crate) fn run(args: &[String], interrupt: &Interrupt) -> Outcome {
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    match words.as_slice() {
        [] if is_reachable(DEFAULT_URL) => Walk::through(DEFAULT_URL, interrupt),
        [] => run_with_own_server(interrupt),
        ["--url", url] => Walk::through(url.trim_end_matches('/'), interrupt),
        ["--help"] => {
            println!("{HELP}");
            Ok(())
        }
        _ => Err(HELP.into()),
    }
}

fn is_reachable(url: &str) -> bool {
    ureq::get(format!("{url}/health")).call().is_ok()
}

/// Runs the walk against a temporary server.
fn run_with_own_server(interrupt: &Interrupt) -> Outcome {
    println!("No server answers at {DEFAULT_URL}, so this starts one in a temporary folder.");
    dev_server::build(interrupt)?;
    let dir = tempfile::Builder::new().prefix("pia-demo-").tempdir()?;
    let folder = DevFolder::open(dir.path())?;
    let server = DevServer::start_quietly(&folder, interrupt)?;
    Walk::through(server.url(), interrupt)
}
