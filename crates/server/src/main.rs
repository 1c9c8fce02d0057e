//! `pia-server`: one binary, one process.

use std::io::Write;
use std::process::ExitCode;

#[tokio::main]
async fn main() -> ExitCode {
    match pia_server::run().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            // Logging may not be started yet.
            drop(writeln!(std::io::stderr(), "{failure}"));
            ExitCode::FAILURE
        }
    }
}
