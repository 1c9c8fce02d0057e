//! Documents of knowledge bases, in SQL.
//!
//! Content is written by `new_content.rs`, under the lock of the owner's row. Macros
//! build the queries: `base_of!` and `row_of!` add the access of the caller, so that
//! no method can forget it, and `sorted!` pages by any column.

use async_trait::async_trait;
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use pia_kernel::{
    DocumentId, GroupId, PageRequest, SideEffects, SortCursor, Timestamp, Unavailable,
};
use pia_knowledge::{
    BaseRef, CitedDocument, ContentChange, Document, DocumentColumn, DocumentContent,
    DocumentFilter, DocumentRef, DocumentStatus, DocumentStore, DocumentStoreOutcome, GroupQuotas,
    NewContent,
};
use pia_storage::schema::{
    group_personas, knowledge_base_groups, knowledge_bases, knowledge_documents, knowledge_files,
    managed_personas, persona_knowledge_bases,
};
use pia_storage::text_search::{like_containing, lower};
use pia_storage::{
    Database, DbInstant, DbUid, WriteEffects, in_column_order, in_tx, lock_row, on_conn,
};

use crate::document_row::{DocumentRow, parse_type};
use crate::new_content::{ContentWrite, StoreContent, StoredDocument};
use crate::publication::PublishContent;
use crate::quotas::LoadGroupUsage;
use crate::reindexing::StartReindex;
use crate::removal::RemoveChunks;

/// Documents of knowledge bases, in SQL.
#[derive(Debug, Clone)]
pub struct SqlDocuments {
    db: Database,
}

/// Document that an answer cites, with its file.
#[derive(Queryable)]
struct CitedRow {
    title: String,
    source_uri: Option<String>,
    content_type: String,
    content: Vec<u8>,
}

/// Query of a base that the caller may manage.
macro_rules! base_of {
    ($base:expr) => {
        managed_bases!($base.access).filter(knowledge_bases::id.eq(DbUid($base.id.0)))
    };
}

/// Query of a document that the caller may manage.
macro_rules! row_of {
    ($document:expr) => {
        knowledge_documents::table.find(DbUid($document.document.0)).filter(
            knowledge_documents::base_id
                .eq_any(base_of!($document.base).select(knowledge_bases::id)),
        )
    };
}

/// Sorts a boxed query of documents by a column and then by id, and lets it begin
/// after the cursor of the page.
macro_rules! sorted {
    ($query:expr, $filter:expr, $page:expr, $column:expr, $it:ident => $value:expr) => {
        in_column_order!(
            $query, $filter.is_descending, $page.after, ($column, knowledge_documents::id),
            $it => $value
        )
    };
}

impl SqlDocuments {
    /// Creates a store in `db`.
    pub fn new(db: Database) -> Self {
        Self { db }
    }
}

#[async_trait]
impl DocumentStore for SqlDocuments {
    async fn list(&self, base: BaseRef) -> Result<Option<Vec<Document>>, Unavailable> {
        let documents = base_of!(base)
            .left_join(knowledge_documents::table)
            .order((knowledge_documents::title, knowledge_documents::id));
        let rows: Vec<Option<DocumentRow>> = on_conn!(self.db.reader(), |conn| {
            documents.select(Option::<DocumentRow>::as_select()).load(conn).await?
        })?;
        if rows.is_empty() {
            return Ok(None);
        }

        let documents =
            rows.into_iter().flatten().map(Document::try_from).collect::<Result<_, _>>()?;

        Ok(Some(documents))
    }

    async fn page(
        &self,
        base: BaseRef,
        filter: DocumentFilter,
        page: PageRequest<SortCursor>,
    ) -> Result<Vec<Document>, Unavailable> {
        use knowledge_documents::{
            base_id, retrieval_count, size_bytes, source_uri, status, title, updated_at,
        };

        let pattern = like_containing(&filter.search);
        let matches_search =
            lower(title.nullable())
                .like(&pattern)
                .escape('\\')
                .or(lower(source_uri).like(&pattern).escape('\\'));
        let bases = base_of!(base).select(knowledge_bases::id);
        let documents = knowledge_documents::table
            .filter(base_id.eq_any(bases))
            .filter(matches_search)
            .limit(page.limit.into());

        let rows: Vec<DocumentRow> = on_conn!(self.db.reader(), |conn| {
            let mut query = documents.into_boxed();
            if let Some(it) = filter.status {
                query = query.filter(status.eq(it.name()));
            }
            query = match filter.sort {
                DocumentColumn::Title => {
                    let column = || lower(title.nullable());
                    sorted!(query, filter, page, column(), it => lower(Some(it.text().to_owned())))
                }
                DocumentColumn::Status => {
                    sorted!(query, filter, page, status, it => it.text().to_owned())
                }
                DocumentColumn::Size => sorted!(query, filter, page, size_bytes, it => it.number()),
                DocumentColumn::Retrievals => {
                    sorted!(query, filter, page, retrieval_count, it => it.number())
                }
                DocumentColumn::Updated => {
                    sorted!(query, filter, page, updated_at, it => DbInstant(it.time()))
                }
            };
            query.select(DocumentRow::as_select()).load(conn).await?
        })?;

        Ok(rows.into_iter().map(Document::try_from).collect::<Result<_, _>>()?)
    }

    async fn find(&self, document: DocumentRef) -> Result<Option<Document>, Unavailable> {
        let row: Option<DocumentRow> = on_conn!(self.db.reader(), |conn| {
            row_of!(document).select(DocumentRow::as_select()).first(conn).await.optional()?
        })?;
        Ok(row.map(Document::try_from).transpose()?)
    }

    async fn content(&self, document: DocumentRef) -> Result<Option<DocumentContent>, Unavailable> {
        let file = row_of!(document)
            .inner_join(
                knowledge_files::table.on(knowledge_files::document_id.eq(knowledge_documents::id)),
            )
            .select((knowledge_documents::content_type, knowledge_files::content));
        let file: Option<(String, Vec<u8>)> =
            on_conn!(self.db.reader(), |conn| file.first(conn).await.optional()?)?;
        let Some((content_type, bytes)) = file else { return Ok(None) };
        Ok(Some(DocumentContent { content_type: parse_type(&content_type)?, bytes }))
    }

    async fn read(
        &self,
        group: GroupId,
        document: DocumentId,
    ) -> Result<Option<CitedDocument>, Unavailable> {
        let group_id = DbUid(group.0);
        let cited_document = knowledge_documents::table
            .find(DbUid(document.0))
            .inner_join(knowledge_bases::table)
            .inner_join(
                knowledge_files::table.on(knowledge_files::document_id.eq(knowledge_documents::id)),
            )
            .filter(is_searched!(group_id, personas!(group_id)))
            .select((
                knowledge_documents::title,
                knowledge_documents::source_uri,
                knowledge_documents::content_type,
                knowledge_files::content,
            ));

        let row: Option<CitedRow> =
            on_conn!(self.db.reader(), |conn| cited_document.first(conn).await.optional()?)?;
        let Some(row) = row else { return Ok(None) };

        let content_type = parse_type(&row.content_type)?;
        let file = DocumentContent { content_type, bytes: row.content };

        Ok(Some(CitedDocument { title: row.title, source_uri: row.source_uri, file }))
    }

    async fn put(
        &self,
        base: BaseRef,
        content: NewContent,
        defaults: GroupQuotas,
        change: ContentChange,
    ) -> Result<DocumentStoreOutcome, Unavailable> {
        let db = &self.db;
        let id = DbUid(base.id.0);
        let content = &content;
        in_tx!(self.db, async |conn| {
            let owner = base_of!(base).select(knowledge_bases::group_id);
            let Some(owner) = owner.first::<DbUid>(conn).await.optional()? else {
                return Ok(DocumentStoreOutcome::Unknown);
            };

            conn.lock_group(owner).await?;
            let write = ContentWrite { db, base: id, owner, defaults, content, change };

            if let Some(source) = &content.source_uri {
                let existing_query = knowledge_documents::table
                    .filter(knowledge_documents::base_id.eq(id))
                    .filter(knowledge_documents::source_uri.eq(source))
                    .select(StoredDocument::as_select());
                if let Some(document) = existing_query.first(conn).await.optional()? {
                    return conn.replace_document(write, document).await;
                }
            }

            conn.insert_document(write).await
        })
    }

    async fn replace(
        &self,
        document: DocumentRef,
        content: NewContent,
        defaults: GroupQuotas,
        change: ContentChange,
    ) -> Result<DocumentStoreOutcome, Unavailable> {
        let base = document.base;
        let db = &self.db;
        let id = DbUid(base.id.0);
        let content = &content;
        in_tx!(self.db, async |conn| {
            let owner = base_of!(base).select(knowledge_bases::group_id);
            let Some(owner) = owner.first::<DbUid>(conn).await.optional()? else {
                return Ok(DocumentStoreOutcome::Unknown);
            };

            conn.lock_group(owner).await?;
            let write = ContentWrite { db, base: id, owner, defaults, content, change };
            let stored_query = row_of!(document).select(StoredDocument::as_select());
            match stored_query.first(conn).await.optional()? {
                Some(stored) => conn.replace_document(write, stored).await,
                None => Ok(DocumentStoreOutcome::Unknown),
            }
        })
    }

    async fn delete(
        &self,
        document: DocumentRef,
        effects: SideEffects,
    ) -> Result<bool, Unavailable> {
        let id = DbUid(document.document.0);
        let base = DbUid(document.base.id.0);
        in_tx!(self.db, async |conn| {
            // A worker that ingests the document loses its claim.
            let fence = knowledge_documents::fence.eq(knowledge_documents::fence + 1);
            if diesel::update(row_of!(document)).set(fence).execute(conn).await? == 0 {
                return Ok(false);
            }

            conn.remove_chunks(&[id], true).await?;
            conn.remove_chunks(&[id], false).await?;
            diesel::delete(knowledge_documents::table.find(id)).execute(conn).await?;
            // The document may be the last one that a reindexed base waits for.
            conn.finish_reindex(base).await?;
            conn.forget_model(base).await?;
            conn.write_effects(&self.db, &effects).await?;

            Ok(true)
        })
    }

    async fn reindex(
        &self,
        base: BaseRef,
        model: &str,
        at: Timestamp,
        effects: SideEffects,
    ) -> Result<Option<u64>, Unavailable> {
        in_tx!(self.db, async |conn| {
            let row = base_of!(base).select(knowledge_bases::id);
            if row.first::<DbUid>(conn).await.optional()?.is_none() {
                return Ok(None);
            }
            let count = conn.start_reindex(DbUid(base.id.0), model, DbInstant(at)).await?;
            conn.write_effects(&self.db, &effects).await?;
            Ok(Some(count))
        })
    }

    async fn retry(
        &self,
        document: DocumentRef,
        at: Timestamp,
        effects: SideEffects,
    ) -> Result<bool, Unavailable> {
        let id = DbUid(document.document.0);
        in_tx!(self.db, async |conn| {
            let failed_document = row_of!(document)
                .filter(knowledge_documents::status.eq(DocumentStatus::Failed.name()));
            if !lock_row!(conn, failed_document, knowledge_documents::fence) {
                return Ok(false);
            }
            conn.resume_document(id, DbInstant(at)).await?;
            conn.write_effects(&self.db, &effects).await?;
            Ok(true)
        })
    }
}
