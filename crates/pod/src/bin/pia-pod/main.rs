//! Reference pod, with two small tools.

mod options;
mod tools;

use std::error::Error;
use std::io::{IsTerminal, Write, stderr, stdout};
use std::process::ExitCode;

use pia_kernel::SystemClock;
use pia_pod::Pod;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use crate::options::{Options, USAGE};
use crate::tools::{CountWords, CurrentTime};

#[tokio::main]
async fn main() -> ExitCode {
    match run().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            writeln!(stderr(), "pia-pod: {error}").ok();
            ExitCode::FAILURE
        }
    }
}

async fn run() -> Result<(), Box<dyn Error>> {
    let Some(options) = Options::parse(std::env::args().skip(1))? else {
        return Ok(writeln!(stdout(), "{USAGE}")?);
    };
    let log = tracing_subscriber::fmt().with_writer(stderr);
    log.with_ansi(stderr().is_terminal()).init();
    let pod = Pod::new(&options.server, &options.token)?
        .with_name(&options.name)
        .with_tool(CurrentTime(SystemClock))
        .with_tool(CountWords);

    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let stop = CancellationToken::new();
    let signalled = async {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
        tracing::info!("stopping; calls in progress end first");
        stop.cancel();
    };
    let running = pod.run(stop.clone());
    tokio::pin!(running);
    tokio::select! {
        ended = &mut running => return Ok(ended?),
        () = signalled => {}
    }
    Ok(running.await?)
}
