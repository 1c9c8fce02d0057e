//! Runs the benchmarks: `pia-bench gateway`, `identity`, `sync`, `admin`,
//! `knowledge`, `assignments` or `pods`.

use std::io::Write;
use std::process::ExitCode;

use pia_bench::{
    Options, Outcome, USAGE, admin, assignments, gateway, identity, knowledge, pods, sync,
};

fn main() -> ExitCode {
    match run(&std::env::args().skip(1).collect::<Vec<_>>()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(err) => {
            // If stderr is closed, the error cannot be reported.
            drop(writeln!(std::io::stderr(), "pia-bench: {err}"));
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &[String]) -> Outcome<()> {
    let is_help = |it: &String| ["help", "--help", "-h"].contains(&it.as_str());
    if arguments.iter().any(is_help) {
        return Ok(write!(std::io::stdout(), "{USAGE}")?);
    }

    match arguments {
        [bench, rest @ ..] if bench == "gateway" => gateway(&Options::parse(rest)?),
        [bench, rest @ ..] if bench == "identity" => identity(&Options::parse(rest)?),
        [bench, rest @ ..] if bench == "admin" => admin(&Options::parse(rest)?),
        [bench, rest @ ..] if bench == "assignments" => assignments(&Options::parse(rest)?),
        [bench, rest @ ..] if bench == "pods" => pods(&Options::parse(rest)?),
        [bench, rest @ ..] if bench == "sync" => sync(&Options::parse(rest)?),
        [bench, rest @ ..] if bench == "knowledge" => knowledge(&Options::parse(rest)?),
        _ => Err(USAGE.into()),
    }
}
