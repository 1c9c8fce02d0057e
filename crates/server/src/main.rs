//! `pia-server`: one binary, one process.

use std::io::Write;
use std::process::ExitCode;

fn main() -> ExitCode {
    if let Some(code) = pia_server::extract() {
        return ExitCode::from(code);
    }
    serve()
}

#[tokio::main]
async fn serve() -> ExitCode {
    match pia_server::run().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            // Logging may not be started yet.
            drop(writeln!(std::io::stderr(), "{failure}"));
            ExitCode::FAILURE
        }
    }
}
