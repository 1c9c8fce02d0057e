//! Runs the benchmarks: `pia-bench gateway`.

use std::io::Write;
use std::process::ExitCode;

use pia_bench::{Options, Outcome, USAGE, gateway};

fn main() -> ExitCode {
    match run(&std::env::args().skip(1).collect::<Vec<_>>()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(err) => {
            // There is nobody left to tell where this fails.
            drop(writeln!(std::io::stderr(), "pia-bench: {err}"));
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &[String]) -> Outcome<()> {
    match arguments {
        [bench, rest @ ..] if bench == "gateway" && !rest.iter().any(|it| it == "--help") => {
            gateway(&Options::parse(rest)?)
        }
        [help] if ["help", "--help", "-h"].contains(&help.as_str()) => {
            Ok(write!(std::io::stdout(), "{USAGE}")?)
        }
        [bench, ..] if bench == "gateway" => Ok(write!(std::io::stdout(), "{USAGE}")?),
        _ => Err(USAGE.into()),
    }
}
