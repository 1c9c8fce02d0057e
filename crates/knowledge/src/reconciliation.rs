//! Reconciliation of the vector store with the database.
//!
//! The database is always right, and the store is changed to match it. The worker
//! in `server/src/knowledge_worker.rs` calls `delete_removed` and `sweep`;
//! `pia-server admin kb verify` calls `verify`, which only counts.

use std::collections::HashSet;
use std::sync::Arc;

use pia_kernel::{KnowledgeBaseId, Unavailable};

use crate::ingestion::{POINTS_PER_WRITE, point};
use crate::ports::chunk_store::{ChunkId, ChunkStore};
use crate::ports::vector_store::VectorStore;

/// Number of ids that are loaded and compared in one step.
const CHUNKS_PER_STEP: usize = 500;

/// Numbers of points that a sweep repaired.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Repaired {
    /// Points of published chunks that were missing.
    pub restored: usize,
    /// Points without a chunk.
    pub deleted: usize,
}

/// Numbers of the chunks of a base.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct VerifiedChunks {
    /// Number of published chunks that were compared.
    pub published: usize,
    /// Published chunks without a point.
    pub missing: usize,
}

/// Makes the vector store agree with the database, which is always right.
#[derive(Clone)]
pub struct Reconciliation {
    /// Chunks in the database.
    pub chunks: Arc<dyn ChunkStore>,
    /// Points in the vector store.
    pub vectors: Arc<dyn VectorStore>,
}

impl Reconciliation {
    /// Deletes the points of chunks that were deleted or replaced. Returns their
    /// number.
    pub async fn delete_removed(&self) -> Result<usize, Unavailable> {
        let mut count = 0;
        loop {
            let chunks = self.chunks.list_removed(CHUNKS_PER_STEP).await?;
            if chunks.is_empty() {
                return Ok(count);
            }
            // In this order: after a crash in between, points are deleted twice.
            self.vectors.delete(&chunks).await?;
            self.chunks.forget_removed(&chunks).await?;
            count += chunks.len();
        }
    }

    /// Compares all chunks with all points: missing points are stored again,
    /// from the vectors in the database, and points without a chunk are deleted.
    pub async fn sweep(&self) -> Result<Repaired, Unavailable> {
        Ok(Repaired { restored: self.restore().await?, deleted: self.delete_unknown().await? })
    }

    /// Counts the chunks of a base that have no point, and changes nothing.
    pub async fn verify(&self, base: KnowledgeBaseId) -> Result<VerifiedChunks, Unavailable> {
        let mut after = None;
        let mut counts = VerifiedChunks::default();
        loop {
            let chunks = self.chunks.list_published(Some(base), after, CHUNKS_PER_STEP).await?;
            let Some(last_chunk) = chunks.last() else { return Ok(counts) };
            after = Some(*last_chunk);
            counts.published += chunks.len();
            counts.missing += self.missing(&chunks).await?.len();
        }
    }

    /// Stores the points that published chunks lack. Returns their number.
    async fn restore(&self) -> Result<usize, Unavailable> {
        let mut after = None;
        let mut count = 0;
        loop {
            let chunks = self.chunks.list_published(None, after, CHUNKS_PER_STEP).await?;
            let Some(last_chunk) = chunks.last() else { return Ok(count) };
            after = Some(*last_chunk);
            for missing_chunks in self.missing(&chunks).await?.chunks(POINTS_PER_WRITE) {
                let points: Vec<_> = self
                    .chunks
                    .load_indexed(missing_chunks)
                    .await?
                    .into_iter()
                    .map(point)
                    .collect();
                count += points.len();
                self.vectors.put(points).await?;
            }
        }
    }

    /// Returns those of the chunks that have no point.
    async fn missing(&self, chunks: &[ChunkId]) -> Result<Vec<ChunkId>, Unavailable> {
        let existing = HashSet::<ChunkId>::from_iter(self.vectors.existing(chunks).await?);
        Ok(chunks.iter().filter(|it| !existing.contains(it)).copied().collect())
    }

    /// Deletes the points whose chunks the database does not have. Returns their number.
    async fn delete_unknown(&self) -> Result<usize, Unavailable> {
        let mut after = None;
        let mut count = 0;
        loop {
            let points = self.vectors.list(after, CHUNKS_PER_STEP).await?;
            let Some(last_point) = points.last() else { return Ok(count) };
            after = Some(*last_point);
            let existing_chunks =
                HashSet::<ChunkId>::from_iter(self.chunks.existing(&points).await?);
            let unknown_points: Vec<_> =
                points.into_iter().filter(|it| !existing_chunks.contains(it)).collect();
            if !unknown_points.is_empty() {
                count += unknown_points.len();
                self.vectors.delete(&unknown_points).await?;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use pia_kernel::{GroupId, LiveSetting, Timestamp};
    use pia_testkit::ManualClock;

    use super::*;
    use crate::chunking::ChunkingSettings;
    use crate::fakes::{Fault, InMemory, MarkdownFiles, Step};
    use crate::hashed_embedder::HashedEmbedder;
    use crate::ingestion::{Ingestion, IngestionOutcome, IngestionSettings};
    use crate::ports::vector_store::VectorPoint;

    /// Stores that were filled by a worker.
    struct Ingested {
        store: Arc<InMemory>,
        reconciliation: Reconciliation,
        ingestion: Ingestion,
    }

    /// Returns stores with a document of more chunks than one step compares.
    async fn ingest_sections() -> Ingested {
        let store = Arc::<InMemory>::default();
        let base = store.add_base(GroupId::generate(), "Handbook");
        let text = |it| format!("# Section {it}\n\nIt has the number {it}.\n\n");
        store.add(base, "Sections", &(0..CHUNKS_PER_STEP + 10).map(text).collect::<String>());
        let ingestion = Ingestion {
            queue: Arc::clone(&store) as _,
            extractor: Arc::<MarkdownFiles>::default(),
            embedder: Arc::new(HashedEmbedder),
            vectors: Arc::clone(&store) as _,
            context_writer: None,
            settings: LiveSetting::new(IngestionSettings {
                chunking: ChunkingSettings { max_chars: 40, overlap_chars: 0 },
                max_attempts: 1,
                lease: std::time::Duration::from_mins(5),
                default_monthly_tokens: i64::MAX,
            }),
            clock: Arc::new(ManualClock::new(Timestamp::UNIX_EPOCH)),
        };
        assert_eq!(ingestion.ingest_next().await.unwrap(), IngestionOutcome::Attempted);
        let reconciliation =
            Reconciliation { chunks: Arc::clone(&store) as _, vectors: Arc::clone(&store) as _ };
        Ingested { store, reconciliation, ingestion }
    }

    fn points(store: &InMemory) -> BTreeMap<ChunkId, VectorPoint> {
        store.state().points.clone()
    }

    #[tokio::test]
    async fn nothing_changes_if_both_stores_agree() {
        let Ingested { store, reconciliation, .. } = ingest_sections().await;
        let before = points(&store);
        let rows = store.state().rows.clone();

        assert_eq!(reconciliation.sweep().await.unwrap(), Repaired::default());
        assert_eq!(reconciliation.delete_removed().await.unwrap(), 0);

        assert_eq!(points(&store), before);
        assert_eq!(store.state().rows, rows);
    }

    #[tokio::test]
    async fn missing_points_are_restored_as_they_were() {
        let Ingested { store, reconciliation, .. } = ingest_sections().await;
        let before = points(&store);
        let mut is_odd = false;
        store.state().points.retain(|_, _| {
            is_odd = !is_odd;
            is_odd
        });

        let repaired = reconciliation.sweep().await.unwrap();

        assert_eq!(repaired, Repaired { restored: before.len() / 2, deleted: 0 });
        assert_eq!(points(&store), before);
    }

    #[tokio::test]
    async fn an_empty_vector_store_is_filled_from_the_database() {
        let Ingested { store, reconciliation, .. } = ingest_sections().await;
        let before = std::mem::take(&mut store.state().points);

        let repaired = reconciliation.sweep().await.unwrap();

        assert_eq!(repaired.restored, before.len());
        assert_eq!(points(&store), before);
    }

    #[tokio::test]
    async fn missing_points_of_a_base_are_counted() {
        let Ingested { store, reconciliation, .. } = ingest_sections().await;
        let base = store.state().rows.bases[0].1.id;
        let published = CHUNKS_PER_STEP + 10;
        let count = |missing| VerifiedChunks { published, missing };
        assert_eq!(reconciliation.verify(base).await.unwrap(), count(0));
        store.state().points.pop_first();
        store.state().points.pop_last();

        assert_eq!(reconciliation.verify(base).await.unwrap(), count(2));

        assert_eq!(points(&store).len(), published - 2);
        let unknown_base = KnowledgeBaseId::generate();
        assert_eq!(reconciliation.verify(unknown_base).await.unwrap(), VerifiedChunks::default());
    }

    #[tokio::test]
    async fn points_without_a_chunk_are_deleted() {
        let Ingested { store, reconciliation, .. } = ingest_sections().await;
        let before = points(&store);
        for _ in 0..=CHUNKS_PER_STEP {
            let chunk = ChunkId::generate();
            let base = KnowledgeBaseId::generate();
            let point = VectorPoint { chunk, base, dense: Vec::new(), terms: Vec::new() };
            store.state().points.insert(chunk, point);
        }

        let repaired = reconciliation.sweep().await.unwrap();

        assert_eq!(repaired, Repaired { restored: 0, deleted: CHUNKS_PER_STEP + 1 });
        assert_eq!(points(&store), before);
    }

    #[tokio::test]
    async fn points_of_replaced_chunks_are_deleted_once() {
        let Ingested { store, reconciliation, ingestion } = ingest_sections().await;
        let replaced_points = points(&store);
        let document = *store.state().rows.documents.keys().next().unwrap();
        store.replace(document, "It is short now.");
        assert_eq!(ingestion.ingest_next().await.unwrap(), IngestionOutcome::Attempted);

        assert_eq!(reconciliation.delete_removed().await.unwrap(), replaced_points.len());

        assert_eq!(points(&store).len(), 1);
        assert!(points(&store).keys().all(|it| !replaced_points.contains_key(it)));
        assert_eq!(reconciliation.delete_removed().await.unwrap(), 0);
    }

    #[tokio::test]
    async fn removed_chunks_stay_queued_until_their_points_are_deleted() {
        let Ingested { store, reconciliation, .. } = ingest_sections().await;
        let removed_points = points(&store).into_keys().collect::<Vec<_>>();
        store.state().rows.removed.clone_from(&removed_points);

        // The call after that which reads the queue deletes points.
        store.set_fault(Step::Other, 1, Fault::Refuses);
        assert!(reconciliation.delete_removed().await.is_err());

        assert_eq!(store.state().rows.removed, removed_points);
        assert_eq!(reconciliation.delete_removed().await.unwrap(), removed_points.len());
    }
}
