//! Published chunks in SQL.
//!
//! Retrieval reads through this file, and `Reconciliation` compares through it.
//! Queries of searches see published chunks alone; `existing` sees all, since points
//! of new content are stored before it is published.

use std::collections::HashMap;

use async_trait::async_trait;
use diesel::dsl::exists;
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use pia_kernel::{DocumentId, GroupId, KnowledgeBaseId, PersonaId, Timestamp, Unavailable};
use pia_knowledge::{ChunkId, ChunkStore, IndexedChunk, SearchedBase, StoredPassage};
use pia_storage::schema::{
    group_personas, knowledge_base_groups, knowledge_bases, knowledge_chunks, knowledge_documents,
    knowledge_removed_chunks, managed_personas, persona_knowledge_bases,
};
use pia_storage::{Database, DbError, DbInstant, DbUid, on_conn};

use crate::chunk_rows::{INDEXED, IndexedRow, to_indexed_chunk};
use crate::vector_bytes::from_bytes;

/// Published chunks in SQL.
#[derive(Debug, Clone)]
pub struct SqlChunks {
    db: Database,
}

/// Columns of a published chunk and its document.
#[derive(Queryable)]
struct PassageRow {
    chunk: DbUid,
    base: DbUid,
    document: DbUid,
    title: String,
    source_uri: Option<String>,
    ordinal: i32,
    path: String,
    text: String,
    vector: Option<Vec<u8>>,
}

/// Headings and text of a chunk before or after a passage.
#[derive(Queryable)]
struct NeighbourRow {
    document: DbUid,
    ordinal: i32,
    path: String,
    text: String,
}

/// Chunks by document and position.
type Neighbours = HashMap<(DbUid, i32), NeighbourRow>;

/// Query of published chunks with their documents.
macro_rules! published_chunks {
    () => {
        knowledge_chunks::table
            .inner_join(knowledge_documents::table)
            .filter(knowledge_chunks::is_published.eq(true))
    };
}

impl SqlChunks {
    /// Creates a store in `db`.
    pub fn new(db: Database) -> Self {
        Self { db }
    }

    /// Loads the chunks before and after these.
    async fn neighbours(&self, rows: &[PassageRow]) -> Result<Neighbours, DbError> {
        let documents: Vec<DbUid> = rows.iter().map(|it| it.document).collect();
        let ordinals: Vec<i32> =
            rows.iter().flat_map(|it| [it.ordinal - 1, it.ordinal + 1]).collect();
        let query = knowledge_chunks::table
            .filter(knowledge_chunks::document_id.eq_any(documents))
            .filter(knowledge_chunks::is_published.eq(true))
            .filter(knowledge_chunks::ordinal.eq_any(ordinals))
            .select((
                knowledge_chunks::document_id,
                knowledge_chunks::ordinal,
                knowledge_chunks::path,
                knowledge_chunks::text,
            ));

        let neighbours: Vec<NeighbourRow> =
            on_conn!(self.db.reader(), |conn| query.load(conn).await?)?;

        Ok(neighbours.into_iter().map(|it| ((it.document, it.ordinal), it)).collect())
    }
}

fn passage(row: PassageRow, neighbours: &Neighbours) -> StoredPassage {
    let neighbour = |ordinal| {
        let neighbour = neighbours.get(&(row.document, ordinal))?;
        (neighbour.path == row.path).then(|| neighbour.text.clone())
    };

    let before = neighbour(row.ordinal - 1);
    let after = neighbour(row.ordinal + 1);
    StoredPassage {
        chunk: ChunkId(row.chunk.0),
        base: KnowledgeBaseId(row.base.0),
        document: DocumentId(row.document.0),
        title: row.title,
        source_uri: row.source_uri,
        ordinal: row.ordinal,
        before,
        after,
        path: row.path,
        text: row.text,
        dense: from_bytes(&row.vector.unwrap_or_default()),
    }
}

fn uids(chunks: &[ChunkId]) -> Vec<DbUid> {
    chunks.iter().map(|it| DbUid(it.0)).collect()
}

fn limit_of(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}

#[async_trait]
impl ChunkStore for SqlChunks {
    async fn searched_bases(
        &self,
        group: GroupId,
        persona: Option<PersonaId>,
    ) -> Result<Vec<SearchedBase>, Unavailable> {
        let personas = personas!(DbUid(group.0))
            .filter(managed_personas::id.eq(DbUid(persona.map(|it| it.0).unwrap_or_default())));
        let has_chunks = knowledge_documents::table
            .filter(knowledge_documents::base_id.eq(knowledge_bases::id))
            .filter(knowledge_documents::chunk_count.gt(0));

        let bases = knowledge_bases::table
            .filter(is_searched!(DbUid(group.0), personas))
            .filter(exists(has_chunks))
            .order(knowledge_bases::name_folded)
            .select((knowledge_bases::id, knowledge_bases::name, knowledge_bases::prompt));

        let rows: Vec<(DbUid, String, Option<String>)> =
            on_conn!(self.db.reader(), |conn| bases.load(conn).await?)?;

        let base = |(id, name, prompt): (DbUid, _, _)| SearchedBase {
            id: KnowledgeBaseId(id.0),
            name,
            prompt,
        };

        Ok(rows.into_iter().map(base).collect())
    }

    async fn models(
        &self,
        bases: &[KnowledgeBaseId],
    ) -> Result<Vec<(KnowledgeBaseId, String)>, Unavailable> {
        let ids: Vec<DbUid> = bases.iter().map(|it| DbUid(it.0)).collect();
        let models = knowledge_bases::table
            .filter(knowledge_bases::id.eq_any(ids))
            .filter(knowledge_bases::model.is_not_null())
            .select((knowledge_bases::id, knowledge_bases::model.assume_not_null()));
        let rows: Vec<(DbUid, String)> =
            on_conn!(self.db.reader(), |conn| models.load(conn).await?)?;
        Ok(rows.into_iter().map(|(id, model)| (KnowledgeBaseId(id.0), model)).collect())
    }

    async fn passages(&self, chunks: &[ChunkId]) -> Result<Vec<StoredPassage>, Unavailable> {
        let passages =
            published_chunks!().filter(knowledge_chunks::id.eq_any(uids(chunks))).select((
                knowledge_chunks::id,
                knowledge_documents::base_id,
                knowledge_documents::id,
                knowledge_documents::title,
                knowledge_documents::source_uri,
                knowledge_chunks::ordinal,
                knowledge_chunks::path,
                knowledge_chunks::text,
                knowledge_chunks::vector,
            ));
        let rows: Vec<PassageRow> = on_conn!(self.db.reader(), |conn| passages.load(conn).await?)?;
        let neighbours = self.neighbours(&rows).await?;
        Ok(rows.into_iter().map(|it| passage(it, &neighbours)).collect())
    }

    async fn texts(&self, document: DocumentId) -> Result<Vec<String>, Unavailable> {
        let texts = knowledge_chunks::table
            .filter(knowledge_chunks::document_id.eq(DbUid(document.0)))
            .filter(knowledge_chunks::is_published.eq(true))
            .order(knowledge_chunks::ordinal)
            .select(knowledge_chunks::text);
        Ok(on_conn!(self.db.reader(), |conn| texts.load(conn).await?)?)
    }

    async fn count_retrievals(
        &self,
        documents: &[DocumentId],
        at: Timestamp,
    ) -> Result<(), Unavailable> {
        let count = (
            knowledge_documents::retrieval_count.eq(knowledge_documents::retrieval_count + 1),
            knowledge_documents::last_retrieved_at.eq(Some(DbInstant(at))),
        );

        // One by one: two statements for several rows could wait for each other.
        for document in documents {
            let row = knowledge_documents::table.find(DbUid(document.0));
            on_conn!(self.db.counter(), |conn| {
                diesel::update(row).set(count).execute(conn).await?
            })?;
        }

        Ok(())
    }

    async fn count_miss(
        &self,
        bases: &[KnowledgeBaseId],
        at: Timestamp,
    ) -> Result<(), Unavailable> {
        let count = (
            knowledge_bases::miss_count.eq(knowledge_bases::miss_count + 1),
            knowledge_bases::last_missed_at.eq(Some(DbInstant(at))),
        );

        // One by one, for the same reason as retrievals.
        for base in bases {
            let row = knowledge_bases::table.find(DbUid(base.0));
            on_conn!(self.db.counter(), |conn| {
                diesel::update(row).set(count).execute(conn).await?
            })?;
        }

        Ok(())
    }

    async fn list_removed(&self, limit: usize) -> Result<Vec<ChunkId>, Unavailable> {
        let removed_chunks = knowledge_removed_chunks::table
            .order(knowledge_removed_chunks::id)
            .limit(limit_of(limit));
        let rows: Vec<DbUid> = on_conn!(self.db.reader(), |conn| {
            removed_chunks.select(knowledge_removed_chunks::id).load(conn).await?
        })?;
        Ok(rows.into_iter().map(|it| ChunkId(it.0)).collect())
    }

    async fn forget_removed(&self, chunks: &[ChunkId]) -> Result<(), Unavailable> {
        let removed_chunks = knowledge_removed_chunks::table
            .filter(knowledge_removed_chunks::id.eq_any(uids(chunks)));
        on_conn!(self.db.writer(), |conn| diesel::delete(removed_chunks).execute(conn).await?)?;
        Ok(())
    }

    async fn list_published(
        &self,
        base: Option<KnowledgeBaseId>,
        after: Option<ChunkId>,
        limit: usize,
    ) -> Result<Vec<ChunkId>, Unavailable> {
        let after = DbUid(after.map(|it| it.0).unwrap_or_default());
        let chunks = || {
            published_chunks!()
                .filter(knowledge_chunks::id.gt(after))
                .order(knowledge_chunks::id)
                .select(knowledge_chunks::id)
                .limit(limit_of(limit))
        };

        let rows: Vec<DbUid> = on_conn!(self.db.reader(), |conn| match base {
            None => chunks().load(conn).await?,
            Some(base) => {
                let of_base = knowledge_documents::base_id.eq(DbUid(base.0));
                chunks().filter(of_base).load(conn).await?
            }
        })?;

        Ok(rows.into_iter().map(|it| ChunkId(it.0)).collect())
    }

    async fn load_indexed(&self, chunks: &[ChunkId]) -> Result<Vec<IndexedChunk>, Unavailable> {
        let chunks =
            published_chunks!().filter(knowledge_chunks::id.eq_any(uids(chunks))).select(INDEXED);
        let rows: Vec<IndexedRow> = on_conn!(self.db.reader(), |conn| chunks.load(conn).await?)?;
        Ok(rows.into_iter().map(to_indexed_chunk).collect())
    }

    async fn existing(&self, chunks: &[ChunkId]) -> Result<Vec<ChunkId>, Unavailable> {
        let existing_chunks = knowledge_chunks::table
            .filter(knowledge_chunks::id.eq_any(uids(chunks)))
            .select(knowledge_chunks::id);
        let rows: Vec<DbUid> =
            on_conn!(self.db.reader(), |conn| existing_chunks.load(conn).await?)?;
        Ok(rows.into_iter().map(|it| ChunkId(it.0)).collect())
    }
}
