//! Child process, which parses one file and ends.
//!
//! Order: silence panics, limit resources, and only then read the file. The parent
//! is in `supervisor.rs`; a process becomes a child in `server/src/process.rs`.

use std::io::{self, stdin, stdout};
use std::thread;

use pia_knowledge::{ContentType, ExtractError, ExtractedText};

use crate::extraction::extract_here;
use crate::{framing, resources};

/// Size of the stack on which files are parsed, in bytes.
const STACK_BYTES: usize = 64 * 1024 * 1024;
/// Exit code after an answer.
const ANSWERED: u8 = 0;
/// Exit code without an answer.
const FAILED: u8 = 1;

/// Answers the request of a parent on standard input, with limited resources.
/// Returns the exit code. To be called first in a process of its own, which it
/// leaves unable to open files.
pub fn run_child() -> u8 {
    // A message of a panic may quote the file.
    std::panic::set_hook(Box::new(|_| {}));
    if answer().is_ok() { ANSWERED } else { FAILED }
}

fn answer() -> io::Result<()> {
    resources::limit()?;
    let request = framing::read_request(&mut stdin().lock())?;
    let (content_type, content) = request.ok_or(io::ErrorKind::InvalidInput)?;
    let text = parse(content_type, content)?;
    framing::write_answer(&mut stdout().lock(), text)
}

/// Extracts the text on a larger stack. A parser that panics has met a damaged
/// file.
fn parse(
    content_type: ContentType,
    content: Vec<u8>,
) -> io::Result<Result<ExtractedText, ExtractError>> {
    let parser = thread::Builder::new()
        .stack_size(STACK_BYTES)
        .spawn(move || extract_here(content_type, &content))?;
    Ok(parser.join().unwrap_or(Err(ExtractError::Damaged)))
}
