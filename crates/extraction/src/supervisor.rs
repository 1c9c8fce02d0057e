//! Supervision of child processes.
//!
//! `extract` waits for a free place, starts a child, sends the file while it receives
//! the answer, and ends the child when its time is over. An end by a signal means that
//! the file exceeded a limit; after an exit without an answer it may be tried again.

use std::ffi::OsString;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use async_trait::async_trait;
use pia_knowledge::{ContentType, ExtractError, ExtractedText, TextExtractor};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::sync::Semaphore;
use tokio::time::timeout;

use crate::extraction::{MAX_TEXT_BYTES, extract_here};
use crate::framing;

/// Limits of the children of a [`ChildExtractor`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChildLimits {
    /// Maximum duration of a child.
    pub wall_time: Duration,
    /// Maximum number of children at once.
    pub children: usize,
    /// Maximum length of an extracted text, in bytes.
    pub text_bytes: usize,
}

impl Default for ChildLimits {
    fn default() -> Self {
        Self { wall_time: Duration::from_secs(30), children: 2, text_bytes: MAX_TEXT_BYTES }
    }
}

/// Extractor that parses each file in a process of its own, which ends with it:
/// no file can harm the server or read another one. Text and Markdown are not
/// parsed, and so need no process.
#[derive(Debug)]
pub struct ChildExtractor {
    program: PathBuf,
    args: Vec<OsString>,
    limits: ChildLimits,
    /// Permits of the children that may run at once.
    places: Semaphore,
}

impl ChildExtractor {
    /// Returns an extractor whose children are a program with arguments that calls
    /// [`run_child`](crate::run_child).
    pub fn new(program: PathBuf, args: Vec<OsString>, limits: ChildLimits) -> Self {
        Self { program, args, limits, places: Semaphore::new(limits.children.max(1)) }
    }

    /// Starts a child, which is killed when it is dropped.
    fn start(&self) -> std::io::Result<(Child, ChildStdin, ChildStdout)> {
        let mut child = Command::new(&self.program)
            .args(&self.args)
            .env_clear()
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()?;
        let pipes = child.stdin.take().zip(child.stdout.take());
        let (input, output) = pipes.ok_or(std::io::ErrorKind::BrokenPipe)?;
        Ok((child, input, output))
    }

    /// Lets a child parse a file.
    async fn parse_in_child(&self, content_type: ContentType, content: &[u8]) -> Outcome {
        let (mut child, input, output) = match self.start() {
            Ok(started) => started,
            Err(reason) => return Outcome::NotStarted(reason),
        };

        let max_bytes = self.limits.text_bytes + framing::MAX_LINE_BYTES;
        let work = async {
            let ((), answer) =
                tokio::join!(send(input, content_type, content), receive(output, max_bytes));
            let answer = answer?;
            let status = child.wait().await.ok()?;
            Some(Outcome::Ended(answer, status))
        };
        if let Ok(Some(outcome)) = timeout(self.limits.wall_time, work).await {
            return outcome;
        }

        // An error means that the child has already ended.
        drop(child.kill().await);

        Outcome::Killed
    }
}

/// End of a child.
enum Outcome {
    /// Child could not be started.
    NotStarted(std::io::Error),
    /// Child exceeded its limits and was killed.
    Killed,
    /// Child exited or was ended by a signal, after this output.
    Ended(Vec<u8>, ExitStatus),
}

#[async_trait]
impl TextExtractor for ChildExtractor {
    async fn extract(
        &self,
        content_type: ContentType,
        content: Vec<u8>,
    ) -> Result<ExtractedText, ExtractError> {
        if content_type.is_text() {
            return extract_here(content_type, &content);
        }

        let place = self.places.acquire().await;
        let _place = place.map_err(|_closed| ExtractError::Unavailable)?;

        match self.parse_in_child(content_type, &content).await {
            Outcome::NotStarted(reason) => {
                tracing::error!(%reason, "extraction of text could not be started");
                Err(ExtractError::Unavailable)
            }
            Outcome::Killed => Err(ExtractError::TooComplex),
            Outcome::Ended(_, status) if status.signal().is_some() => Err(ExtractError::TooComplex),
            Outcome::Ended(answer, status) => {
                let answer = if status.success() { framing::read_answer(answer) } else { None };
                answer.unwrap_or_else(|| {
                    tracing::error!(%status, "extraction of text ended without an answer");
                    Err(ExtractError::Unavailable)
                })
            }
        }
    }
}

/// Sends a file. A child that ended does not read it to its end.
async fn send(mut input: ChildStdin, content_type: ContentType, content: &[u8]) {
    let line = framing::request_line(content_type);
    if input.write_all(line.as_bytes()).await.is_ok() {
        // Dropping `input` afterwards is the end of the file for the child.
        drop(input.write_all(content).await);
    }
}

/// Receives an answer; `None` if it is too long.
async fn receive(output: ChildStdout, max_bytes: usize) -> Option<Vec<u8>> {
    let mut answer = Vec::new();
    output.take(max_bytes as u64 + 1).read_to_end(&mut answer).await.ok()?;
    (answer.len() <= max_bytes).then_some(answer)
}
