//! Reference pod, with two small tools or those of an MCP server.

mod mcp;
mod options;
mod token_file;
mod tools;

use std::error::Error;
use std::io::{IsTerminal, Write, stderr, stdout};
use std::pin::pin;
use std::process::ExitCode;

use futures_util::FutureExt;
use futures_util::future::select;
use pia_kernel::SystemClock;
use pia_pod::{Pod, PodError};
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use crate::mcp::McpServer;
use crate::options::{Options, USAGE};
use crate::token_file::TokenFile;
use crate::tools::{CountWords, CurrentTime};

/// Filter of the log: the library for MCP logs each connection in detail.
const LOG_FILTER: &str = "info,rmcp=warn";

/// Exit code of a pod that an administrator has ended: it is not to be started again.
const DRAINED: u8 = 3;

#[tokio::main]
async fn main() -> ExitCode {
    match run().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            writeln!(stderr(), "pia-pod: {error}").ok();
            let is_drained = matches!(error.downcast_ref(), Some(PodError::Drained));
            if is_drained { ExitCode::from(DRAINED) } else { ExitCode::FAILURE }
        }
    }
}

async fn run() -> Result<(), Box<dyn Error>> {
    let Some(options) = Options::parse(std::env::args().skip(1))? else {
        return Ok(writeln!(stdout(), "{USAGE}")?);
    };

    tracing_subscriber::fmt()
        .with_env_filter(LOG_FILTER)
        .with_writer(stderr)
        .with_ansi(stderr().is_terminal())
        .init();

    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let stop_signal = async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
        tracing::info!("stopping; calls in progress end first");
    };

    let mut pod = Pod::new(&options.server, &options.token)?.with_name(&options.name);
    if let Some(file) = options.token_file {
        pod = pod.with_token_store(TokenFile(file));
    }

    let Some((program, arguments)) = options.command else {
        let pod = pod.with_tool(CurrentTime(SystemClock)).with_tool(CountWords);
        return Ok(serve(&pod, stop_signal).await?);
    };

    let server = McpServer::start(&program, &arguments).await?;
    serve_mcp(pod, server, stop_signal).await
}

/// Serves the tools of an MCP server until `stop_signal` is ready, or the server has ended.
async fn serve_mcp(
    pod: Pod,
    server: McpServer,
    stop_signal: impl Future<Output = ()>,
) -> Result<(), Box<dyn Error>> {
    pod.replace_tools(server.tools().await?);
    let mut has_ended = false;
    let server_end = async {
        server.follow(&pod).await;
        has_ended = true;
    };
    let outcome = serve(&pod, select(pin!(stop_signal), pin!(server_end)).map(drop)).await;

    // The pod's tools hold the connection to the server, which is closed only then.
    drop(pod);
    server.stop().await;
    outcome?;

    if has_ended { Err("the MCP server has ended".into()) } else { Ok(()) }
}

/// Serves calls until `stopped` is ready, and those in progress have ended.
async fn serve(pod: &Pod, stopped: impl Future<Output = ()>) -> Result<(), PodError> {
    let stop = CancellationToken::new();
    let mut running = pin!(pod.run(stop.clone()));
    tokio::select! {
        ended = &mut running => return ended,
        () = stopped => stop.cancel(),
    }
    running.await
}
