//! Drafts of documents, as clients send them, and their rules.
//!
//! `ContentType` lists what can be ingested; `extraction` has a parser for each type
//! that `is_text` excludes. `documents.rs` calls the `parse_…` functions.

use pia_kernel::{named_variants, utf16_len};

/// Maximum size of a file, in bytes.
pub const MAX_CONTENT_BYTES: usize = 10 * 1024 * 1024;
/// Maximum length of a title, in UTF-16 code units.
const MAX_TITLE_CHARS: usize = 500;
/// Maximum length of a source, in bytes: databases index it.
const MAX_SOURCE_BYTES: usize = 2_000;

/// Document to be stored, unchecked.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DocumentDraft {
    /// Title; required.
    pub title: Option<String>,
    /// Identity of the source; a document of the same source is replaced.
    pub source_uri: Option<String>,
    /// Media type; plain text if omitted.
    pub content_type: Option<String>,
    /// File; required, and not blank.
    pub content: Option<Vec<u8>>,
}

/// New content of a stored document, unchecked.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ContentDraft {
    /// Title; the stored one if omitted.
    pub title: Option<String>,
    /// Media type; the stored one if omitted.
    pub content_type: Option<String>,
    /// File; required, and not blank.
    pub content: Option<Vec<u8>>,
}

named_variants! {
    /// Type of a document's file, named by its media type.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum ContentType {
        /// Plain text in UTF-8.
        Text = "text/plain",
        /// Markdown, whose headings become paths of chunks.
        Markdown = "text/markdown",
        /// Web page, which is converted to Markdown.
        Html = "text/html",
        /// Table of values between commas.
        Csv = "text/csv",
        /// Email, which is converted to Markdown.
        Email = "message/rfc822",
        /// PDF, with text rather than scanned pages.
        Pdf = "application/pdf",
        /// Word document.
        Docx = "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
        /// `PowerPoint` presentation.
        Pptx = "application/vnd.openxmlformats-officedocument.presentationml.presentation",
        /// Excel workbook.
        Xlsx = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    }
}

impl ContentType {
    /// Returns the type with this media type, in any case; parameters are ignored.
    /// `None` if it is not supported.
    pub fn from_name(name: &str) -> Option<Self> {
        let name = name.split(';').next().unwrap_or_default().trim();
        Self::ALL.into_iter().find(|it| it.name().eq_ignore_ascii_case(name))
    }

    /// Returns whether the file is its own text and needs no extraction.
    pub fn is_text(self) -> bool {
        matches!(self, Self::Text | Self::Markdown)
    }
}

/// Reason for which a document is invalid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum DraftError {
    /// Title is missing or blank.
    #[error("The document needs a title.")]
    TitleRequired,
    /// Title is longer than `MAX_TITLE_CHARS`.
    #[error("The title may have at most {MAX_TITLE_CHARS} characters.")]
    TitleTooLong,
    /// Source is longer than 2,000 bytes.
    #[error("The source may have at most 2,000 bytes.")]
    SourceTooLong,
    /// Media type is none of [`ContentType::ALL`].
    #[error("Documents of this type are not supported.")]
    UnsupportedType,
    /// Content is missing or blank.
    #[error("The document has no content.")]
    ContentRequired,
    /// Content is larger than [`MAX_CONTENT_BYTES`].
    #[error("The document is larger than 10 MiB.")]
    TooLarge,
    /// Content is not the text that its type says it is.
    #[error("The document is not text in UTF-8.")]
    NotText,
}

/// Normalises a title to one line; `None` if it is blank. Rejects one that is too long.
pub(crate) fn parse_title(title: Option<String>) -> Result<Option<String>, DraftError> {
    match title.map(|it| to_single_line(&it)).filter(|it| !it.is_empty()) {
        Some(title) if utf16_len(&title) > MAX_TITLE_CHARS => Err(DraftError::TitleTooLong),
        title => Ok(title),
    }
}

/// Normalises a source to one line; `None` if it is blank. Rejects one that is too long.
pub(crate) fn parse_source(source: Option<String>) -> Result<Option<String>, DraftError> {
    match source.map(|it| to_single_line(&it)).filter(|it| !it.is_empty()) {
        Some(source) if source.len() > MAX_SOURCE_BYTES => Err(DraftError::SourceTooLong),
        source => Ok(source),
    }
}

/// Parses a media type; `None` if it is omitted. Rejects an unsupported type.
pub(crate) fn parse_type(name: Option<&str>) -> Result<Option<ContentType>, DraftError> {
    name.map(|it| ContentType::from_name(it).ok_or(DraftError::UnsupportedType)).transpose()
}

/// Returns the content of a file. Rejects content that is blank or too large, and text that is not
/// UTF-8; without a type, the encoding is not checked.
pub(crate) fn parse_content(
    content: Option<Vec<u8>>,
    content_type: Option<ContentType>,
) -> Result<Vec<u8>, DraftError> {
    let content =
        content.filter(|it| !it.trim_ascii().is_empty()).ok_or(DraftError::ContentRequired)?;
    if content.len() > MAX_CONTENT_BYTES {
        return Err(DraftError::TooLarge);
    }
    if content_type.is_some_and(ContentType::is_text) && str::from_utf8(&content).is_err() {
        return Err(DraftError::NotText);
    }
    Ok(content)
}

/// Returns a text in one line, without control characters.
pub(crate) fn to_single_line(text: &str) -> String {
    let spaced_text: String =
        text.chars().map(|it| if it.is_control() { ' ' } else { it }).collect();
    spaced_text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_media_type_is_read_without_its_parameters_in_any_case() {
        assert_eq!(
            ContentType::from_name("Text/Markdown; charset=utf-8"),
            Some(ContentType::Markdown)
        );
        assert_eq!(ContentType::from_name("image/png"), None);
        for it in ContentType::ALL {
            assert_eq!(ContentType::from_name(it.name()), Some(it));
        }
    }

    #[test]
    fn limits_are_inclusive() {
        assert!(parse_title(Some("x".repeat(500))).is_ok());
        assert_eq!(parse_title(Some("x".repeat(501))), Err(DraftError::TitleTooLong));
        assert_eq!(parse_source(Some("x".repeat(2001))), Err(DraftError::SourceTooLong));
        assert!(parse_content(Some(vec![b'x'; MAX_CONTENT_BYTES]), None).is_ok());
        let larger = parse_content(Some(vec![b'x'; MAX_CONTENT_BYTES + 1]), None);
        assert_eq!(larger, Err(DraftError::TooLarge));
    }

    #[test]
    fn titles_and_sources_are_one_line_without_control_characters() {
        let title = parse_title(Some(" a\0b\nc ".to_owned())).unwrap();
        assert_eq!(title.as_deref(), Some("a b c"));
        assert_eq!(parse_source(Some("\0".to_owned())), Ok(None));
    }

    #[test]
    fn blank_content_and_bytes_that_are_no_text_are_rejected() {
        assert_eq!(parse_content(Some(b" \n".to_vec()), None), Err(DraftError::ContentRequired));
        let bytes = Some(vec![0xff, 0xfe, 0x41]);
        assert_eq!(parse_content(bytes, Some(ContentType::Text)), Err(DraftError::NotText));
    }
}
