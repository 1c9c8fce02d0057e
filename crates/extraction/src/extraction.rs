//! Extraction in this process.
//!
//! `child.rs` calls `extract_here` for files that must be parsed, and `supervisor.rs`
//! directly for text and Markdown.

use pia_knowledge::{ContentType, ExtractError, ExtractedText};

use crate::{csv, docx, email, encoding, html, pdf, pptx, xlsx};

/// Maximum length of a text, in bytes.
pub(crate) const MAX_TEXT_BYTES: usize = 20 * 1024 * 1024;

/// Extracts the text of a file. Bounded in output and in what it inflates, but
/// not in time: hostile files belong into a child.
pub fn extract_here(
    content_type: ContentType,
    bytes: &[u8],
) -> Result<ExtractedText, ExtractError> {
    let text = match content_type {
        ContentType::Text | ContentType::Markdown => encoding::utf8(bytes)?.to_owned(),
        ContentType::Html => html::to_markdown(&encoding::of_html(bytes))?,
        ContentType::Csv => csv::to_markdown(&encoding::of_text(bytes))?,
        ContentType::Email => email::to_markdown(bytes)?,
        ContentType::Pdf => pdf::to_markdown(bytes)?,
        ContentType::Docx => docx::to_markdown(bytes)?,
        ContentType::Pptx => pptx::to_markdown(bytes)?,
        ContentType::Xlsx => xlsx::to_markdown(bytes)?,
    };

    if text.len() > MAX_TEXT_BYTES {
        return Err(ExtractError::TooComplex);
    }
    if !text.chars().any(char::is_alphanumeric) {
        return Err(ExtractError::NoText);
    }

    let is_markdown = content_type != ContentType::Text;

    Ok(ExtractedText { text, is_markdown })
}
