//! Document of a knowledge base: its state, its properties and its references.
//!
//! State: `Pending` → `Processing` → `Ready` or `Failed`. A document has up to two
//! contents at once, the published one and new content that is being ingested:
//! `status` and `progress` are about the new one, `chunk_count` and `tokens` about
//! the published one.

use pia_kernel::{DocumentId, SortCursor, SortValue, Timestamp, named_variants};

use crate::base::BaseRef;
use crate::draft::ContentType;

named_variants! {
    /// State of a document.
    ///
    /// The names are those in the database and on the wire. The order is that in which a
    /// document passes the states.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum DocumentStatus {
        /// Waits to be ingested.
        Pending = "Pending",
        /// A worker has claimed it.
        Processing = "Processing",
        /// Searches find its current content.
        Ready = "Ready",
        /// Could not be ingested; its error says why.
        Failed = "Failed",
    }
}

impl DocumentStatus {
    /// Returns the state with this name; `None` if there is none. Case matters.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.name() == name)
    }
}

/// Selection of a base's documents; an empty criterion selects all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DocumentFilter {
    /// Part of the title or of the source, in any case.
    pub search: String,
    /// Documents in this state; `None` selects all states.
    pub status: Option<DocumentStatus>,
    /// Column that they are sorted by.
    pub sort: DocumentColumn,
    /// True if the highest value is the first.
    pub is_descending: bool,
}

/// Column that documents are sorted by, and then by their ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DocumentColumn {
    /// Title, in any case.
    #[default]
    Title,
    /// Name of the state.
    Status,
    /// Size of the file.
    Size,
    /// Number of retrievals.
    Retrievals,
    /// Time of the last change of the content.
    Updated,
}

impl DocumentColumn {
    /// Returns whether the column is a text; the others are numbers and times.
    pub fn is_text(self) -> bool {
        matches!(self, Self::Title | Self::Status)
    }

    /// Returns the position of a document in a list that is sorted by the column.
    pub fn cursor(self, document: &Document) -> SortCursor {
        let id = document.id.0;
        let number = |it| SortCursor { value: SortValue::Number(it), id };
        match self {
            Self::Title => SortCursor::at_text(&document.title, id),
            Self::Status => SortCursor::at_text(document.status.name(), id),
            Self::Size => number(document.size_bytes),
            Self::Retrievals => number(document.retrieval_count),
            Self::Updated => SortCursor::at_time(document.updated_at, id),
        }
    }
}

/// Document of a base, without its content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    /// Id, also part of its page's URL.
    pub id: DocumentId,
    /// Title, in one line; searches find its words.
    pub title: String,
    /// Identity of its source, such as a URL; `None` if it has none.
    pub source_uri: Option<String>,
    /// Type of its file, which decides how its text is extracted.
    pub content_type: ContentType,
    /// State of the content that was stored last.
    pub status: DocumentStatus,
    /// Bytes of its file.
    pub size_bytes: i64,
    /// Reason of the last failure, for the managers of the base.
    pub error: Option<String>,
    /// Chunks that searches find.
    pub chunk_count: i64,
    /// Progress of the ingestion of new content; `None` if none is being ingested.
    pub progress: Option<IngestionProgress>,
    /// Tokens of the chunks that searches find.
    pub tokens: i64,
    /// Number of times that it was retrieved.
    pub retrieval_count: i64,
    /// Time of the last retrieval; `None` before the first.
    pub last_retrieved_at: Option<Timestamp>,
    /// Time when it was first stored.
    pub created_at: Timestamp,
    /// Time of the last change of its content.
    pub updated_at: Timestamp,
}

/// Progress of the content that is being ingested, in chunks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IngestionProgress {
    /// Chunks that have their vectors.
    pub embedded: i64,
    /// Chunks of the new content, embedded or not.
    pub total: i64,
}

/// File of a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DocumentContent {
    /// Type that the document was stored with.
    pub content_type: ContentType,
    /// File as it was stored.
    pub bytes: Vec<u8>,
}

/// Document that was cited to a member.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CitedDocument {
    /// Title, as it was cited.
    pub title: String,
    /// Identity of its source; `None` if it has none.
    pub source_uri: Option<String>,
    /// File as it was stored.
    pub file: DocumentContent,
}

/// Returns the URL of a document: its source if that is a web page, or else its
/// page on the server at this public URL.
pub fn document_url(public_url: &str, id: DocumentId, source_uri: Option<&str>) -> String {
    match source_uri {
        Some(uri) if uri.starts_with("https://") || uri.starts_with("http://") => uri.to_owned(),
        _ => format!("{}/kb/{id}", public_url.trim_end_matches('/')),
    }
}

/// Reference to a document that a caller may manage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DocumentRef {
    /// Base that the document must be in.
    pub base: BaseRef,
    /// Document, which need not exist.
    pub document: DocumentId,
}

/// Accepted content of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Submission {
    /// Document that has the content: a new one, or the one of the same source.
    pub document: DocumentId,
    /// State of the document.
    pub status: DocumentStatus,
    /// False if the document had this content already.
    pub changed: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_url_is_the_source_only_if_that_is_a_page() {
        let id = DocumentId::generate();
        let own_page = format!("https://pia.example/kb/{id}");
        for (source, expected) in [
            (Some("https://wiki.example/policy"), "https://wiki.example/policy"),
            (Some("http://wiki/policy"), "http://wiki/policy"),
            (Some("file:///policy"), &own_page),
            (Some("javascript:alert(1)"), &own_page),
            (None, &own_page),
        ] {
            assert_eq!(document_url("https://pia.example/", id, source), expected);
        }
    }
}
