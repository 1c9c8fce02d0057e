//! Runs the bare proxy: `pia-bench-bare-proxy LISTEN UPSTREAM`, both addresses.
//! The first line of output is the address that it listens on.

use std::io::Write;
use std::net::SocketAddr;
use std::process::ExitCode;

use pia_bench::{Outcome, serve};

fn main() -> ExitCode {
    match run(&std::env::args().skip(1).collect::<Vec<_>>()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(err) => {
            // If stderr is closed, the error cannot be reported.
            drop(writeln!(std::io::stderr(), "pia-bench-bare-proxy: {err}"));
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &[String]) -> Outcome<()> {
    let [listen, upstream] = arguments else {
        return Err("usage: pia-bench-bare-proxy LISTEN UPSTREAM".into());
    };
    serve(listen.parse::<SocketAddr>()?, upstream.parse::<SocketAddr>()?, |address| {
        writeln!(std::io::stdout(), "{address}")
    })
}
