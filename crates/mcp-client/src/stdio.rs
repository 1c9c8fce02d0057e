//! Servers that are child processes.
//!
//! A message is one line. `spawn` starts a process, `over` uses streams that exist.
//! Closing ends the input of a child first, and kills its process group afterwards.

use std::io;
use std::process::Stdio;
use std::time::Duration;

use rmcp::RoleClient;
use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::Transport;
use rmcp::transport::async_rw::AsyncRwTransport;
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::time::timeout;

use crate::client::{MAX_MESSAGE_BYTES, McpClient};
use crate::error::McpError;

/// Time for a child to end once its input has.
const STOPPING_TIMEOUT: Duration = Duration::from_secs(2);

impl McpClient {
    /// Starts a server, and initializes it. The process and its children end
    /// with the client.
    pub async fn spawn(command: Command) -> Result<Self, McpError> {
        let transport = ChildTransport::spawn(command).map_err(McpError::Start)?;
        Self::initialize(transport, None).await
    }

    /// Initializes a server that reads lines of one stream and writes to
    /// another.
    pub async fn over<R, W>(input: R, output: W) -> Result<Self, McpError>
    where
        R: AsyncRead + Unpin + Send + 'static,
        W: AsyncWrite + Unpin + Send + 'static,
    {
        Self::initialize(lines(input, output), None).await
    }
}

fn lines<R, W>(input: R, output: W) -> AsyncRwTransport<RoleClient, R, W>
where
    R: AsyncRead + Unpin + Send + 'static,
    W: AsyncWrite + Unpin + Send + 'static,
{
    AsyncRwTransport::new(input, output).with_max_line_length(MAX_MESSAGE_BYTES)
}

/// Transport over the standard streams of a child.
struct ChildTransport {
    child: Child,
    inner: AsyncRwTransport<RoleClient, ChildStdout, ChildStdin>,
}

impl ChildTransport {
    /// Starts a child in a process group of its own, since many commands are
    /// launchers whose child is the server.
    fn spawn(mut command: Command) -> io::Result<Self> {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .process_group(0)
            .spawn()?;
        let streams = child.stdout.take().zip(child.stdin.take());
        let (output, input) = streams.ok_or_else(|| io::Error::other("it has no streams"))?;
        Ok(Self { child, inner: lines(output, input) })
    }

    /// Kills the process group, unless its first process has already ended.
    fn kill(&self) {
        if let Some(group) = self.child.id().and_then(|it| Pid::from_raw(it.cast_signed())) {
            kill_process_group(group, Signal::KILL).ok();
        }
    }
}

impl Transport<RoleClient> for ChildTransport {
    type Error = io::Error;

    fn send(
        &mut self,
        message: ClientJsonRpcMessage,
    ) -> impl Future<Output = Result<(), io::Error>> + Send + 'static {
        self.inner.send(message)
    }

    async fn receive(&mut self) -> Option<ServerJsonRpcMessage> {
        self.inner.receive().await
    }

    async fn close(&mut self) -> io::Result<()> {
        // A child that does not read would block the end of its input.
        timeout(STOPPING_TIMEOUT, async {
            self.inner.close().await.ok();
            self.child.wait().await.ok();
        })
        .await
        .ok();
        self.kill();
        Ok(())
    }
}

impl Drop for ChildTransport {
    fn drop(&mut self) {
        self.kill();
    }
}
