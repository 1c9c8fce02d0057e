//! Port of text extraction; implemented in `extraction`.

use async_trait::async_trait;

use crate::draft::ContentType;

/// Extractor of text, for files that may be damaged or malicious.
#[async_trait]
pub trait TextExtractor: Send + Sync {
    /// Extracts the text of a file. Bounded in time, memory and output.
    async fn extract(
        &self,
        content_type: ContentType,
        content: Vec<u8>,
    ) -> Result<ExtractedText, ExtractError>;
}

/// Text of a document, as plain text or Markdown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExtractedText {
    /// Text in UTF-8, with all that searches should find.
    pub text: String,
    /// True if the text is Markdown.
    pub is_markdown: bool,
}

/// Reasons why a document has no text. They are shown to its managers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ExtractError {
    /// Content is not what its type says.
    #[error("The file is damaged, or not of the type that it is declared to be.")]
    Damaged,
    /// File cannot be opened without a password.
    #[error("The file is protected by a password.")]
    Encrypted,
    /// File consists of pictures.
    #[error(
        "The file has no text. Scanned pages must be recognised (OCR) before they are uploaded."
    )]
    NoText,
    /// Extraction exceeded its limits of time, memory or output.
    #[error("The file is too large or too complex to be read.")]
    TooComplex,
    /// Extraction could not be started; it may be tried again.
    #[error("The text could not be extracted at present.")]
    Unavailable,
}
