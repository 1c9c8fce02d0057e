//! Project automation: `cargo xtask <task>`.
//!
//! Each task is a file with a function `run`. Tasks start other programs as a `Job`
//! (`job.rs`), which does not outlive this process, and install what is missing:
//! `debian.rs`, `python.rs`, `node.rs` and `workshop.rs` say from where. `Interrupt`
//! lets a task clean up after Ctrl-C.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a command line talks to its user")]

mod bench;
mod chromium;
mod ci;
mod codegen;
mod command;
mod debian;
mod demo;
mod dev;
mod dev_folder;
mod dev_server;
mod dist;
mod interrupt;
mod job;
mod license;
mod migration;
mod node;
mod outcome;
mod places;
mod postgres;
mod python;
mod streamed;
mod temporal;
mod test;
mod walk;
mod workshop;

use std::process::ExitCode;

use interrupt::Interrupt;
use outcome::Outcome;

const HELP: &str = "\
usage: cargo xtask <task>

  dev [--port N] [--fresh]   build and start a licensed server on SQLite, to try and to work on
  demo [--url URL]           walk through it: sign up, sign in, optimise, chat, sign out
  test [-- ARGS]             every test, on SQLite and a PostgreSQL of their own; ARGS as `cargo test` takes
  ci                         all that must pass before a change goes in
  pictures                   take the pictures of the handbook into docs/images
  codegen [--check]          write docs/openapi.json from the route table, or compare it
  bench gateway [ARGS]       measure what the server adds to an upstream's answers
  bench sync [ARGS]          measure what devices that keep in step cost
  migration new NAME         an empty migration for each database
  license ...                make keys, issue and inspect licences (`license --help`)
  dist                       a release build for distribution, in target/dist

Each says more with --help where it takes options.";

fn main() -> ExitCode {
    match run(std::env::args().skip(1)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(err) => {
            eprintln!("xtask: {err}");
            ExitCode::FAILURE
        }
    }
}

fn run(mut args: impl Iterator<Item = String>) -> Outcome {
    let interrupt = Interrupt::listen()?;
    let task = args.next();
    let args: Vec<String> = args.collect();

    match task.as_deref() {
        Some("bench") => bench::run(&args, &interrupt),
        Some("ci") => ci::run(&interrupt),
        Some("codegen") => codegen::run(&args),
        Some("demo") => demo::run(&args, &interrupt),
        Some("dev") => dev::run(&args, &interrupt),
        Some("dist") => dist::run(&interrupt),
        Some("license") => license::run(args.into_iter()),
        Some("migration") => migration::run(&args),
        Some("pictures") => test::take_pictures(&interrupt),
        Some("test") => test::run(args, &interrupt),
        None | Some("help" | "--help" | "-h") => {
            println!("{HELP}");
            Ok(())
        }
        Some(other) => Err(format!("there is no task {other}\n\n{HELP}").into()),
    }
}
