//! Storing of a document's content.
//!
//! Called by `documents.rs`, which finds the document and locks the owner. Two ways
//! into the queue differ: `resume_document` continues a failed ingestion with the
//! chunks that it has, and `queue_documents` discards them and starts over.

use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use pia_kernel::DocumentId;
use pia_knowledge::{
    ContentChange, ContentType, DocumentStatus, DocumentStoreOutcome, GroupQuotas, KnowledgeQuota,
    NewContent,
};
use pia_storage::schema::{knowledge_documents, knowledge_files};
use pia_storage::{Database, DbError, DbInstant, DbUid, WriteEffects, connection_trait};

use crate::document_row::{parse_status, parse_type};
use crate::month::month;
use crate::publication::AT_ONCE;
use crate::quotas::LoadGroupUsage;
use crate::removal::RemoveChunks;

/// Content to be stored in a base, whose owner's row is locked.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ContentWrite<'a> {
    pub(crate) db: &'a Database,
    pub(crate) base: DbUid,
    pub(crate) owner: DbUid,
    pub(crate) defaults: GroupQuotas,
    pub(crate) content: &'a NewContent,
    pub(crate) change: ContentChange,
}

/// Stored document whose content is to be replaced.
#[derive(Debug, Clone, Queryable, Selectable)]
#[diesel(table_name = knowledge_documents)]
pub(crate) struct StoredDocument {
    id: DbUid,
    title: String,
    content_type: String,
    content_hash: Vec<u8>,
    size_bytes: i64,
    status: String,
}

/// Columns of a new document.
#[derive(Insertable)]
#[diesel(table_name = knowledge_documents)]
struct NewRow<'a> {
    id: DbUid,
    base_id: DbUid,
    title: &'a str,
    source_uri: Option<&'a str>,
    content_type: &'static str,
    content_hash: &'a [u8],
    size_bytes: i64,
    status: &'static str,
    chunk_count: i64,
    tokens: i64,
    new_chunks: i64,
    new_embedded: i64,
    is_held: bool,
    reserved_tokens: i64,
    failures: i32,
    fence: i64,
    due_at: Option<DbInstant>,
    retrieval_count: i64,
    created_at: DbInstant,
    updated_at: DbInstant,
}

impl<'a> NewRow<'a> {
    fn new(base: DbUid, content: &'a NewContent, at: DbInstant) -> Self {
        Self {
            id: DbUid(content.id.0),
            base_id: base,
            title: content.title.as_deref().unwrap_or_default(),
            source_uri: content.source_uri.as_deref(),
            content_type: content.content_type.unwrap_or(ContentType::Text).name(),
            content_hash: &content.hash,
            size_bytes: size(content),
            status: DocumentStatus::Pending.name(),
            chunk_count: 0,
            tokens: 0,
            new_chunks: 0,
            new_embedded: 0,
            is_held: false,
            reserved_tokens: 0,
            failures: 0,
            fence: 0,
            due_at: Some(at),
            retrieval_count: 0,
            created_at: at,
            updated_at: at,
        }
    }
}

connection_trait! {
    /// Storing of a document's content. The owner's row is locked.
    pub(crate) trait StoreContent {
        /// Stores a new document, unless another has its content, or a quota is
        /// used up.
        async fn insert_document(
            &mut self,
            write: ContentWrite<'_>,
        ) -> Result<DocumentStoreOutcome, DbError> {
            let content = write.content;
            let change = write.change;
            if let Some(duplicate) = self.duplicate(write).await? {
                return Ok(DocumentStoreOutcome::Duplicate(duplicate));
            }
            if let Some(quota) = self.exceeded_quota(write, 1, size(content)).await? {
                return Ok(DocumentStoreOutcome::QuotaExceeded(quota));
            }

            let row = NewRow::new(write.base, content, DbInstant(change.at));
            diesel::insert_into(knowledge_documents::table).values(&row).execute(self).await?;
            self.write_file(row.id, &content.content).await?;
            self.write_effects(write.db, &change.creation_effects(content.id)).await?;

            Ok(DocumentStoreOutcome::Created(content.id))
        }

        /// Replaces the content of a document, unless it is the same, another has
        /// it, or a quota is used up. A failed document with the same content is
        /// queued again.
        async fn replace_document(
            &mut self,
            write: ContentWrite<'_>,
            stored: StoredDocument,
        ) -> Result<DocumentStoreOutcome, DbError> {
            let content = write.content;
            let change = write.change;
            let document = DocumentId(stored.id.0);
            let status = parse_status(&stored.status)?;

            let content_type = content.content_type.unwrap_or(parse_type(&stored.content_type)?);
            let title = content.title.as_ref().unwrap_or(&stored.title);
            let has_content = stored.content_hash == content.hash;
            let is_same = has_content
                && *title == stored.title
                && content_type.name() == stored.content_type;

            if is_same && status != DocumentStatus::Failed {
                return Ok(DocumentStoreOutcome::Unchanged(document, status));
            }
            if is_same {
                self.resume_document(stored.id, DbInstant(change.at)).await?;
                self.write_effects(write.db, &change.replacement_effects(document)).await?;
                return Ok(DocumentStoreOutcome::Replaced(document));
            }
            if !has_content && let Some(duplicate) = self.duplicate(write).await? {
                return Ok(DocumentStoreOutcome::Duplicate(duplicate));
            }

            let growth = size(content) - stored.size_bytes;
            if let Some(quota) = self.exceeded_quota(write, 0, growth).await? {
                return Ok(DocumentStoreOutcome::QuotaExceeded(quota));
            }

            self.overwrite_document(write, stored.id, title, content_type).await?;
            self.write_effects(write.db, &change.replacement_effects(document)).await?;

            Ok(DocumentStoreOutcome::Replaced(document))
        }

        /// Stores new content in a document, and queues the document for ingestion.
        async fn overwrite_document(
            &mut self,
            write: ContentWrite<'_>,
            document: DbUid,
            title: &str,
            content_type: ContentType,
        ) -> Result<(), DbError> {
            let content = write.content;
            let at = DbInstant(write.change.at);
            let row = knowledge_documents::table.find(document);

            let new_columns = (
                knowledge_documents::title.eq(title),
                knowledge_documents::content_type.eq(content_type.name()),
                knowledge_documents::content_hash.eq(&content.hash[..]),
                knowledge_documents::size_bytes.eq(size(content)),
                knowledge_documents::updated_at.eq(at),
            );
            diesel::update(row).set(new_columns).execute(self).await?;
            self.queue_documents(&[document], at).await?;
            self.write_file(document, &content.content).await
        }

        /// Queues a failed document for ingestion from where it failed: what was
        /// embedded is not embedded again.
        async fn resume_document(&mut self, document: DbUid, at: DbInstant) -> Result<(), DbError> {
            let queued_columns = (
                knowledge_documents::status.eq(DocumentStatus::Pending.name()),
                knowledge_documents::error.eq(None::<String>),
                knowledge_documents::reserved_tokens.eq(0),
                knowledge_documents::failures.eq(0),
                knowledge_documents::fence.eq(knowledge_documents::fence + 1),
                knowledge_documents::due_at.eq(Some(at)),
            );

            let row = knowledge_documents::table.find(document);
            diesel::update(row).set(queued_columns).execute(self).await?;
            Ok(())
        }

        /// Queues documents for ingestion from the start. Claims of them are lost.
        async fn queue_documents(
            &mut self,
            documents: &[DbUid],
            at: DbInstant,
        ) -> Result<(), DbError> {
            for documents in documents.chunks(AT_ONCE) {
                let queued_columns = (
                    knowledge_documents::status.eq(DocumentStatus::Pending.name()),
                    knowledge_documents::error.eq(None::<String>),
                    knowledge_documents::new_model.eq(None::<String>),
                    knowledge_documents::is_held.eq(false),
                    knowledge_documents::new_chunks.eq(0),
                    knowledge_documents::new_embedded.eq(0),
                    knowledge_documents::reserved_tokens.eq(0),
                    knowledge_documents::failures.eq(0),
                    knowledge_documents::fence.eq(knowledge_documents::fence + 1),
                    knowledge_documents::due_at.eq(Some(at)),
                );

                let rows =
                    knowledge_documents::table.filter(knowledge_documents::id.eq_any(documents));
                diesel::update(rows).set(queued_columns).execute(self).await?;
                self.remove_chunks(documents, false).await?;
            }

            Ok(())
        }

        /// Returns another document of the base with this content.
        async fn duplicate(
            &mut self,
            write: ContentWrite<'_>,
        ) -> Result<Option<DocumentId>, DbError> {
            let duplicate: Option<DbUid> = knowledge_documents::table
                .filter(knowledge_documents::base_id.eq(write.base))
                .filter(knowledge_documents::content_hash.eq(&write.content.hash[..]))
                .select(knowledge_documents::id)
                .first(self)
                .await
                .optional()?;
            Ok(duplicate.map(|it| DocumentId(it.0)))
        }

        /// Returns the quota that so many documents and bytes more would exceed.
        async fn exceeded_quota(
            &mut self,
            write: ContentWrite<'_>,
            documents: i64,
            bytes: i64,
        ) -> Result<Option<KnowledgeQuota>, DbError> {
            let current_month = month(write.change.at);
            let usage = self.group_usage(write.owner, current_month, write.defaults).await?;
            Ok(usage.exceeded_quota(documents, bytes))
        }

        async fn write_file(&mut self, document: DbUid, content: &[u8]) -> Result<(), DbError> {
            let new_file = (
                knowledge_files::document_id.eq(document),
                knowledge_files::content.eq(content),
            );
            diesel::insert_into(knowledge_files::table)
                .values(new_file)
                .on_conflict(knowledge_files::document_id)
                .do_update()
                .set(knowledge_files::content.eq(content))
                .execute(self)
                .await?;
            Ok(())
        }
    }
}

fn size(content: &NewContent) -> i64 {
    i64::try_from(content.content.len()).unwrap_or(i64::MAX)
}
