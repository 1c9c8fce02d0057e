//! Store of published chunks in memory.

use async_trait::async_trait;
use pia_kernel::{DocumentId, GroupId, KnowledgeBaseId, PersonaId, Timestamp, Unavailable};

use super::{ChunkRow, InMemory, Rows, Step};
use crate::ports::chunk_store::{ChunkId, ChunkStore, IndexedChunk, StoredPassage};
use crate::ports::ingest_queue::NewChunk;
use crate::retrieval::SearchedBase;

#[async_trait]
impl ChunkStore for InMemory {
    async fn searched_bases(
        &self,
        group: GroupId,
        _persona: Option<PersonaId>,
    ) -> Result<Vec<SearchedBase>, Unavailable> {
        self.run_step(Step::Other, |state| {
            state
                .rows
                .bases
                .iter()
                .filter(|(searching_group, _)| *searching_group == group)
                .map(|(_, base)| base.clone())
                .collect()
        })
    }

    async fn models(
        &self,
        bases: &[KnowledgeBaseId],
    ) -> Result<Vec<(KnowledgeBaseId, String)>, Unavailable> {
        self.run_step(Step::Other, |state| {
            state
                .rows
                .models
                .iter()
                .filter(|(base, _)| bases.contains(base))
                .filter_map(|(base, it)| Some((*base, it.model.clone()?)))
                .collect()
        })
    }

    async fn passages(&self, chunks: &[ChunkId]) -> Result<Vec<StoredPassage>, Unavailable> {
        self.run_step(Step::Other, |state| {
            state
                .rows
                .chunks
                .iter()
                .filter(|it| it.is_published && chunks.contains(&it.new.id))
                .map(|it| passage(&state.rows, it))
                .collect()
        })
    }

    async fn texts(&self, document: DocumentId) -> Result<Vec<String>, Unavailable> {
        self.run_step(Step::Other, |state| {
            let mut chunks: Vec<&ChunkRow> = state
                .rows
                .chunks
                .iter()
                .filter(|it| it.is_published && it.document == document)
                .collect();
            chunks.sort_by_key(|it| it.new.ordinal);
            chunks.into_iter().map(|it| it.new.text.clone()).collect()
        })
    }

    async fn count_retrievals(
        &self,
        documents: &[DocumentId],
        _at: Timestamp,
    ) -> Result<(), Unavailable> {
        self.run_step(Step::Other, |state| state.rows.retrieved.extend(documents))
    }

    async fn count_miss(
        &self,
        bases: &[KnowledgeBaseId],
        _at: Timestamp,
    ) -> Result<(), Unavailable> {
        self.run_step(Step::Other, |state| state.rows.missed.extend(bases))
    }

    async fn list_removed(&self, limit: usize) -> Result<Vec<ChunkId>, Unavailable> {
        self.run_step(Step::Other, |state| state.rows.removed.iter().copied().take(limit).collect())
    }

    async fn forget_removed(&self, chunks: &[ChunkId]) -> Result<(), Unavailable> {
        self.run_step(Step::Other, |state| state.rows.removed.retain(|it| !chunks.contains(it)))
    }

    async fn list_published(
        &self,
        base: Option<KnowledgeBaseId>,
        after: Option<ChunkId>,
        limit: usize,
    ) -> Result<Vec<ChunkId>, Unavailable> {
        self.run_step(Step::Other, |state| {
            let rows = &state.rows;
            let is_of_base =
                |it: &&ChunkRow| base.is_none_or(|base| rows.documents[&it.document].base == base);
            let mut ids: Vec<ChunkId> = rows
                .chunks
                .iter()
                .filter(|it| it.is_published && Some(it.new.id) > after)
                .filter(is_of_base)
                .map(|it| it.new.id)
                .collect();
            ids.sort();
            ids.truncate(limit);
            ids
        })
    }

    async fn load_indexed(&self, chunks: &[ChunkId]) -> Result<Vec<IndexedChunk>, Unavailable> {
        self.run_step(Step::Other, |state| {
            state
                .rows
                .chunks
                .iter()
                .filter(|it| it.is_published && chunks.contains(&it.new.id))
                .map(|it| to_indexed_chunk(&state.rows, it))
                .collect()
        })
    }

    async fn existing(&self, chunks: &[ChunkId]) -> Result<Vec<ChunkId>, Unavailable> {
        self.run_step(Step::Other, |state| {
            let ids = state.rows.chunks.iter().map(|it| it.new.id);
            ids.filter(|it| chunks.contains(it)).collect()
        })
    }
}

pub(super) fn to_indexed_chunk(rows: &Rows, chunk: &ChunkRow) -> IndexedChunk {
    let NewChunk { id, path, text, .. } = chunk.new.clone();
    let dense = chunk.vector.clone().unwrap_or_default();
    let row = &rows.documents[&chunk.document];
    let base = row.base;
    let title = row.title.clone();
    let context = chunk.context.clone().unwrap_or_default();
    IndexedChunk { id, base, title, path, text, context, dense }
}

fn passage(rows: &Rows, chunk: &ChunkRow) -> StoredPassage {
    let neighbour = |ordinal: i32| {
        rows.chunks
            .iter()
            .filter(|it| it.is_published && it.document == chunk.document)
            .find(|it| it.new.ordinal == ordinal && it.new.path == chunk.new.path)
            .map(|it| it.new.text.clone())
    };
    let row = &rows.documents[&chunk.document];
    StoredPassage {
        chunk: chunk.new.id,
        base: row.base,
        document: chunk.document,
        title: row.title.clone(),
        source_uri: None,
        ordinal: chunk.new.ordinal,
        path: chunk.new.path.clone(),
        text: chunk.new.text.clone(),
        before: neighbour(chunk.new.ordinal - 1),
        after: neighbour(chunk.new.ordinal + 1),
        dense: chunk.vector.clone().unwrap_or_default(),
    }
}
