//! Port of documents; implemented in `storage-knowledge`.
//!
//! A store checks quotas, sources and duplicates in the transaction that writes,
//! after locking the row of the owner. Stored content is only queued here:
//! `ingest_queue.rs` has the port of the workers.

use async_trait::async_trait;
use pia_kernel::{
    DocumentId, GroupId, PageRequest, SideEffects, SortCursor, Timestamp, Unavailable, UserId,
};

use super::base_store::GroupQuotas;
use crate::base::BaseRef;
use crate::document::{
    CitedDocument, Document, DocumentContent, DocumentFilter, DocumentRef, DocumentStatus,
};
use crate::draft::ContentType;

/// Store of documents.
///
/// Under concurrent changes no group exceeds its quotas, and of one base no two
/// documents have one source or the same content.
#[cfg_attr(any(test, feature = "mock"), mockall::automock)]
#[async_trait]
pub trait DocumentStore: Send + Sync {
    /// Loads the documents of a base, by title; `None` if there is no such base.
    async fn list(&self, base: BaseRef) -> Result<Option<Vec<Document>>, Unavailable>;

    /// Loads up to `page.limit` of the selected documents of a base, in their order: the
    /// first ones, or those after the position of the cursor. Without such a base there
    /// are none. Only a document whose own column changes between two pages may be
    /// skipped or repeated.
    async fn page(
        &self,
        base: BaseRef,
        filter: DocumentFilter,
        page: PageRequest<SortCursor>,
    ) -> Result<Vec<Document>, Unavailable>;

    /// Loads a document; `None` if it is not in that base, or the access
    /// excludes it.
    async fn find(&self, document: DocumentRef) -> Result<Option<Document>, Unavailable>;

    /// Loads the file of a document; `None` as for `find`.
    async fn content(&self, document: DocumentRef) -> Result<Option<DocumentContent>, Unavailable>;

    /// Loads a document for a member of this group; `None` if neither the group
    /// nor one of its active personas searches the document's base.
    async fn read(
        &self,
        group: GroupId,
        document: DocumentId,
    ) -> Result<Option<CitedDocument>, Unavailable>;

    /// Creates a document, or replaces that of the same source, and queues it
    /// for ingestion. Until the new content is published, searches find the
    /// previous one.
    async fn put(
        &self,
        base: BaseRef,
        content: NewContent,
        defaults: GroupQuotas,
        change: ContentChange,
    ) -> Result<DocumentStoreOutcome, Unavailable>;

    /// Replaces the content of a document, as [`put`](Self::put) does.
    async fn replace(
        &self,
        document: DocumentRef,
        content: NewContent,
        defaults: GroupQuotas,
        change: ContentChange,
    ) -> Result<DocumentStoreOutcome, Unavailable>;

    /// Deletes a document; searches do not find it once this returns. Returns
    /// false if there is none.
    async fn delete(
        &self,
        document: DocumentRef,
        effects: SideEffects,
    ) -> Result<bool, Unavailable>;

    /// Queues all documents of a base, to be embedded by this model. Searches find
    /// their previous content until all of them are ready. If the base is indexed
    /// by this model already, only documents that failed are queued. Returns
    /// their number; `None` if there is no such base.
    async fn reindex(
        &self,
        base: BaseRef,
        model: &str,
        at: Timestamp,
        effects: SideEffects,
    ) -> Result<Option<u64>, Unavailable>;

    /// Queues a failed document again. Returns false if the document does not
    /// exist or has not failed.
    async fn retry(
        &self,
        document: DocumentRef,
        at: Timestamp,
        effects: SideEffects,
    ) -> Result<bool, Unavailable>;
}

/// Content of a new document, or new content of a stored one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewContent {
    /// Id of the document if it is created.
    pub id: DocumentId,
    /// Title; `None` keeps the stored one.
    pub title: Option<String>,
    /// Identity of its source, which identifies an existing document; `None`
    /// keeps the stored source.
    pub source_uri: Option<String>,
    /// Type; `None` keeps the stored one.
    pub content_type: Option<ContentType>,
    /// File of at most [`MAX_CONTENT_BYTES`](crate::MAX_CONTENT_BYTES).
    pub content: Vec<u8>,
    /// SHA-256 of the file.
    pub hash: [u8; 32],
}

/// Outcome of storing a document's content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DocumentStoreOutcome {
    /// Document was created and queued.
    Created(DocumentId),
    /// Content was replaced, or is to be ingested again after a failure.
    Replaced(DocumentId),
    /// Document has this content already.
    Unchanged(DocumentId, DocumentStatus),
    /// Another document of the base has this content.
    Duplicate(DocumentId),
    /// No such base or document.
    Unknown,
    /// The owner of the base has used up a quota.
    QuotaExceeded(KnowledgeQuota),
}

/// Change of a document's content, for the audit log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ContentChange {
    /// Time of the change.
    pub at: Timestamp,
    /// User; `None` stands for the ingest key and the command line.
    pub by: Option<UserId>,
}

impl ContentChange {
    /// Returns the effects of creating a document.
    pub fn creation_effects(self, document: DocumentId) -> SideEffects {
        self.effects(document, "KnowledgeDocument.Created")
    }

    /// Returns the effects of replacing the content of a document.
    pub fn replacement_effects(self, document: DocumentId) -> SideEffects {
        self.effects(document, "KnowledgeDocument.Replaced")
    }

    fn effects(self, document: DocumentId, action: &'static str) -> SideEffects {
        SideEffects::of_object(self.at, self.by, format!("knowledge-document:{document}"), action)
    }
}

/// Quota that a document would exceed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KnowledgeQuota {
    /// Name on the wire.
    pub resource: &'static str,
    /// Maximum of the owner, over all its bases.
    pub limit: i64,
    /// Value that there would be.
    pub current: i64,
}
