//! Messages between the parent and the child: a line with a description, and the
//! content.
//!
//! Request: a media type, a line end, the file, end of input. Answer: a JSON line
//! such as `{"markdown":true}` or `{"error":"NoText"}`, then the text. The child is not
//! trusted either: `read_answer` accepts nothing else.

use std::io::{self, BufRead, Write};

use pia_knowledge::{ContentType, ExtractError, ExtractedText};
use serde::{Deserialize, Serialize};

/// Maximum length of a line, in bytes.
pub(crate) const MAX_LINE_BYTES: usize = 200;

/// First line of an answer.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Head {
    /// Text follows, which is Markdown or not.
    Markdown(bool),
    /// Reason why there is no text.
    Error(Reason),
}

/// Counterpart of `ExtractError` on the pipe.
#[derive(Debug, Serialize, Deserialize)]
enum Reason {
    Damaged,
    Encrypted,
    NoText,
    TooComplex,
    Unavailable,
}

impl From<ExtractError> for Reason {
    fn from(error: ExtractError) -> Self {
        match error {
            ExtractError::Damaged => Self::Damaged,
            ExtractError::Encrypted => Self::Encrypted,
            ExtractError::NoText => Self::NoText,
            ExtractError::TooComplex => Self::TooComplex,
            ExtractError::Unavailable => Self::Unavailable,
        }
    }
}

impl From<Reason> for ExtractError {
    fn from(reason: Reason) -> Self {
        match reason {
            Reason::Damaged => Self::Damaged,
            Reason::Encrypted => Self::Encrypted,
            Reason::NoText => Self::NoText,
            Reason::TooComplex => Self::TooComplex,
            Reason::Unavailable => Self::Unavailable,
        }
    }
}

/// Returns the first line of a request.
pub(crate) fn request_line(content_type: ContentType) -> String {
    format!("{}\n", content_type.name())
}

/// Reads a request; `None` if its type is unknown.
pub(crate) fn read_request(input: &mut impl BufRead) -> io::Result<Option<(ContentType, Vec<u8>)>> {
    let mut line = String::new();
    let mut content = Vec::new();
    input.read_line(&mut line)?;
    let Some(content_type) = ContentType::from_name(&line) else { return Ok(None) };
    input.read_to_end(&mut content)?;
    Ok(Some((content_type, content)))
}

/// Writes an answer.
pub(crate) fn write_answer(
    output: &mut impl Write,
    answer: Result<ExtractedText, ExtractError>,
) -> io::Result<()> {
    let (head, text) = match answer {
        Ok(extracted) => (Head::Markdown(extracted.is_markdown), extracted.text),
        Err(error) => (Head::Error(error.into()), String::new()),
    };
    serde_json::to_writer(&mut *output, &head)?;
    output.write_all(b"\n")?;
    output.write_all(text.as_bytes())?;
    output.flush()
}

/// Reads an answer; `None` if it is malformed.
pub(crate) fn read_answer(mut answer: Vec<u8>) -> Option<Result<ExtractedText, ExtractError>> {
    let end = answer.iter().take(MAX_LINE_BYTES).position(|it| *it == b'\n')?;
    let text = answer.split_off(end);
    let is_markdown = match serde_json::from_slice(&answer).ok()? {
        Head::Markdown(it) => it,
        Head::Error(reason) => return Some(Err(reason.into())),
    };
    let mut text = String::from_utf8(text).ok()?;
    // The line end after the first line.
    text.remove(0);
    Some(Ok(ExtractedText { text, is_markdown }))
}
