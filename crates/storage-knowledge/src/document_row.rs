//! Rows of `knowledge_documents`, as managers of a base read them.

use diesel::prelude::*;
use pia_kernel::DocumentId;
use pia_knowledge::{ContentType, Document, DocumentStatus, IngestionProgress};
use pia_storage::schema::knowledge_documents;
use pia_storage::{DbError, DbInstant, DbUid};

#[derive(Queryable, Selectable)]
#[diesel(table_name = knowledge_documents)]
pub(crate) struct DocumentRow {
    id: DbUid,
    title: String,
    source_uri: Option<String>,
    content_type: String,
    status: String,
    size_bytes: i64,
    error: Option<String>,
    chunk_count: i64,
    new_chunks: i64,
    new_embedded: i64,
    tokens: i64,
    retrieval_count: i64,
    last_retrieved_at: Option<DbInstant>,
    created_at: DbInstant,
    updated_at: DbInstant,
}

impl TryFrom<DocumentRow> for Document {
    type Error = DbError;

    fn try_from(row: DocumentRow) -> Result<Self, DbError> {
        let status = parse_status(&row.status)?;
        let is_in_progress = status == DocumentStatus::Processing && row.new_chunks > 0;
        let progress = IngestionProgress { embedded: row.new_embedded, total: row.new_chunks };
        Ok(Self {
            id: DocumentId(row.id.0),
            title: row.title,
            source_uri: row.source_uri,
            content_type: parse_type(&row.content_type)?,
            status,
            size_bytes: row.size_bytes,
            error: row.error,
            chunk_count: row.chunk_count,
            progress: is_in_progress.then_some(progress),
            tokens: row.tokens,
            retrieval_count: row.retrieval_count,
            last_retrieved_at: row.last_retrieved_at.map(|it| it.0),
            created_at: row.created_at.0,
            updated_at: row.updated_at.0,
        })
    }
}

pub(crate) fn parse_status(name: &str) -> Result<DocumentStatus, DbError> {
    DocumentStatus::from_name(name).ok_or(DbError::Unreadable("knowledge_documents.status"))
}

pub(crate) fn parse_type(name: &str) -> Result<ContentType, DbError> {
    ContentType::from_name(name).ok_or(DbError::Unreadable("knowledge_documents.content_type"))
}
