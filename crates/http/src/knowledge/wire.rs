//! Responses about documents and the numbers of a base.

use actix_web::HttpResponse;
use pia_kernel::Timestamp;
use pia_knowledge::{BaseStats, Document, DocumentStatus, IngestionProgress, Submission};
use serde::Serialize;
use utoipa::ToSchema;

/// Document of a knowledge base, without its content.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct KnowledgeDocument {
    #[schema(format = Uuid)]
    id: String,
    title: String,
    /// Identity of the source, by which a further upload replaces the document.
    #[serde(skip_serializing_if = "Option::is_none")]
    source_uri: Option<String>,
    /// Media type of the file.
    content_type: &'static str,
    /// `Pending`, `Processing`, `Ready` or `Failed`. Until new content is
    /// `Ready`, searches find the previous one.
    status: &'static str,
    /// Size of the file.
    size_bytes: i64,
    /// Reason of the failure, if the document failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    /// Progress of the ingestion, while the document is `Processing`.
    #[serde(skip_serializing_if = "Option::is_none")]
    progress: Option<DocumentProgress>,
    /// Number of chunks that searches find.
    chunk_count: i64,
    /// Tokens of these chunks.
    tokens: i64,
    /// Number of times that the document was retrieved for an answer.
    retrieval_count: i64,
    /// Time of the last retrieval.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    last_retrieved_at: Option<Timestamp>,
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
    /// Time of the last change of the content.
    #[schema(value_type = String, format = DateTime)]
    updated_at: Timestamp,
}

/// Progress of a document that is being ingested, in chunks.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct DocumentProgress {
    /// Chunks that are embedded.
    embedded: i64,
    /// All chunks.
    total: i64,
}

/// Numbers of a knowledge base.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct KnowledgeStats {
    /// Number of documents in any state.
    document_count: i64,
    /// Documents that wait to be ingested.
    pending_count: i64,
    /// Documents that are being ingested.
    processing_count: i64,
    /// Documents that searches find.
    ready_count: i64,
    /// Documents that could not be ingested.
    failed_count: i64,
    /// Bytes of all files.
    size_bytes: i64,
    /// Maximum bytes of all bases of the owner together.
    byte_limit: i64,
    /// Maximum number of documents of all bases of the owner together.
    document_limit: i64,
    /// Number of chunks that searches find.
    chunk_count: i64,
    /// Tokens of these chunks.
    indexed_tokens: i64,
    /// Number of times that a document was retrieved for an answer.
    retrieval_count: i64,
    /// Time of the last retrieval.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    last_retrieved_at: Option<Timestamp>,
    /// Number of questions for which searches of the base found nothing.
    miss_count: i64,
    /// Time of the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    last_missed_at: Option<Timestamp>,
    /// Tokens that were embedded for this base in the current month, UTC.
    embedding_tokens_this_month: i64,
}

/// Accepted content of a document.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct DocumentSubmission {
    #[schema(format = Uuid)]
    document_id: String,
    /// `Pending` until the ingestion begins; poll the document for its end.
    status: &'static str,
}

impl DocumentSubmission {
    /// Returns the response: 202 if the content is to be ingested, 200 if the
    /// document had it already.
    pub(super) fn response(submission: Submission) -> HttpResponse {
        let mut response =
            if submission.changed { HttpResponse::Accepted() } else { HttpResponse::Ok() };
        response.json(Self {
            document_id: submission.document.to_string(),
            status: submission.status.name(),
        })
    }
}

impl From<Document> for KnowledgeDocument {
    fn from(document: Document) -> Self {
        let is_processing = document.status == DocumentStatus::Processing;
        let progress = if is_processing { document.progress } else { None };
        Self {
            id: document.id.to_string(),
            title: document.title,
            source_uri: document.source_uri,
            content_type: document.content_type.name(),
            status: document.status.name(),
            size_bytes: document.size_bytes,
            error: document.error,
            progress: progress.map(DocumentProgress::from),
            chunk_count: document.chunk_count,
            tokens: document.tokens,
            retrieval_count: document.retrieval_count,
            last_retrieved_at: document.last_retrieved_at,
            created_at: document.created_at,
            updated_at: document.updated_at,
        }
    }
}

impl From<IngestionProgress> for DocumentProgress {
    fn from(progress: IngestionProgress) -> Self {
        Self { embedded: progress.embedded, total: progress.total }
    }
}

impl From<BaseStats> for KnowledgeStats {
    fn from(stats: BaseStats) -> Self {
        Self {
            document_count: stats.pending + stats.processing + stats.ready + stats.failed,
            pending_count: stats.pending,
            processing_count: stats.processing,
            ready_count: stats.ready,
            failed_count: stats.failed,
            size_bytes: stats.size_bytes,
            byte_limit: stats.byte_limit,
            document_limit: stats.document_limit,
            chunk_count: stats.chunk_count,
            indexed_tokens: stats.indexed_tokens,
            retrieval_count: stats.retrieval_count,
            last_retrieved_at: stats.last_retrieved_at,
            miss_count: stats.miss_count,
            last_missed_at: stats.last_missed_at,
            embedding_tokens_this_month: stats.embedding_tokens_this_month,
        }
    }
}

#[cfg(test)]
mod tests {
    use pia_kernel::DocumentId;
    use pia_knowledge::ContentType;

    use super::*;

    fn document(status: DocumentStatus) -> Document {
        Document {
            id: DocumentId::generate(),
            title: "Handbook".to_owned(),
            source_uri: None,
            content_type: ContentType::Markdown,
            status,
            size_bytes: 5,
            error: None,
            chunk_count: 0,
            progress: Some(IngestionProgress { embedded: 1, total: 4 }),
            tokens: 0,
            retrieval_count: 0,
            last_retrieved_at: None,
            created_at: Timestamp::UNIX_EPOCH,
            updated_at: Timestamp::UNIX_EPOCH,
        }
    }

    #[test]
    fn progress_is_sent_only_while_a_document_is_processed() {
        for status in DocumentStatus::ALL {
            let json = serde_json::to_value(KnowledgeDocument::from(document(status))).unwrap();

            let is_processing = status == DocumentStatus::Processing;
            assert_eq!(json.get("progress").is_some(), is_processing, "{status:?}");
            assert_eq!(json["status"], status.name());
        }
    }

    #[test]
    fn absent_values_are_omitted() {
        let item = KnowledgeDocument::from(document(DocumentStatus::Ready));

        let json = serde_json::to_value(item).unwrap();

        for key in ["sourceUri", "error", "lastRetrievedAt"] {
            assert!(json.get(key).is_none(), "{key}");
        }
        assert_eq!(json["contentType"], "text/markdown");
    }

    #[test]
    fn documents_of_all_states_are_counted() {
        let stats =
            BaseStats { pending: 1, processing: 2, ready: 3, failed: 4, ..BaseStats::default() };

        assert_eq!(KnowledgeStats::from(stats).document_count, 10);
    }

    #[test]
    fn only_changed_content_is_accepted_for_ingestion() {
        let document = DocumentId::generate();
        let status = DocumentStatus::Ready;
        for (changed, expected) in [(true, 202), (false, 200)] {
            let submission = Submission { document, status, changed };

            assert_eq!(DocumentSubmission::response(submission).status().as_u16(), expected);
        }
    }
}
