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

/// Database and vector store, of which the second is changed to match the first.
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
        let mut deleted_count = 0;
        loop {
            let chunks = self.chunks.list_removed(CHUNKS_PER_STEP).await?;
            if chunks.is_empty() {
                return Ok(deleted_count);
            }

            // In this order: a crash in between leaves the chunks in the queue, and their
            // points are deleted once more.
            self.vectors.delete(&chunks).await?;
            self.chunks.forget_removed(&chunks).await?;
            deleted_count += chunks.len();
        }
    }

    /// Compares all chunks with all points: missing points are stored again,
    /// from the vectors in the database, and points without a chunk are deleted.
    pub async fn sweep(&self) -> Result<Repaired, Unavailable> {
        Ok(Repaired { restored: self.restore().await?, deleted: self.delete_unknown().await? })
    }

    /// Counts the chunks of a base that have no point, and changes nothing.
    pub async fn verify(&self, base: KnowledgeBaseId) -> Result<VerifiedChunks, Unavailable> {
        let mut counts = VerifiedChunks::default();
        let mut after = None;
        loop {
            let chunks = self.chunks.list_published(Some(base), after, CHUNKS_PER_STEP).await?;
            let Some(last_chunk) = chunks.last() else { return Ok(counts) };
            after = Some(*last_chunk);

            counts.published += chunks.len();
            counts.missing += self.find_missing(&chunks).await?.len();
        }
    }

    /// Stores the points that published chunks lack. Returns their number.
    async fn restore(&self) -> Result<usize, Unavailable> {
        let mut restored_count = 0;
        let mut after = None;
        loop {
            let chunks = self.chunks.list_published(None, after, CHUNKS_PER_STEP).await?;
            let Some(last_chunk) = chunks.last() else { return Ok(restored_count) };
            after = Some(*last_chunk);

            let missing_chunks = self.find_missing(&chunks).await?;
            for batch in missing_chunks.chunks(POINTS_PER_WRITE) {
                restored_count += self.store_points(batch).await?;
            }
        }
    }

    /// Returns those of the chunks that have no point.
    async fn find_missing(&self, chunks: &[ChunkId]) -> Result<Vec<ChunkId>, Unavailable> {
        let existing_points = HashSet::<ChunkId>::from_iter(self.vectors.existing(chunks).await?);
        Ok(chunks.iter().filter(|it| !existing_points.contains(it)).copied().collect())
    }

    /// Stores the points of published chunks. Returns their number, which is lower than
    /// that of the chunks if some were deleted meanwhile.
    async fn store_points(&self, chunks: &[ChunkId]) -> Result<usize, Unavailable> {
        let indexed_chunks = self.chunks.load_indexed(chunks).await?;
        let points: Vec<_> = indexed_chunks.into_iter().map(point).collect();
        let count = points.len();
        self.vectors.put(points).await?;
        Ok(count)
    }

    /// Deletes the points whose chunks the database does not have. Returns their number.
    ///
    /// The points of chunks that are not published yet stay.
    async fn delete_unknown(&self) -> Result<usize, Unavailable> {
        let mut deleted_count = 0;
        let mut after = None;
        loop {
            let points = self.vectors.list(after, CHUNKS_PER_STEP).await?;
            let Some(last_point) = points.last() else { return Ok(deleted_count) };
            after = Some(*last_point);

            let existing_chunks =
                HashSet::<ChunkId>::from_iter(self.chunks.existing(&points).await?);
            let unknown_points: Vec<_> =
                points.into_iter().filter(|it| !existing_chunks.contains(it)).collect();
            if !unknown_points.is_empty() {
                self.vectors.delete(&unknown_points).await?;
                deleted_count += unknown_points.len();
            }
        }
    }
}

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

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::time::Duration;

    use pia_kernel::{DocumentId, GroupId, LiveSetting, Timestamp};
    use pia_testkit::ManualClock;

    use super::*;
    use crate::chunking::ChunkingSettings;
    use crate::fakes::{Fault, InMemory, MarkdownFiles, Step};
    use crate::hashed_embedder::HashedEmbedder;
    use crate::ingestion::{Ingestion, IngestionOutcome, IngestionSettings};
    use crate::ports::vector_store::VectorPoint;

    /// Number of chunks of the ingested document, more than are compared in one step.
    const CHUNKS: usize = CHUNKS_PER_STEP + 10;

    /// Database and vector store with the chunks of one document, which a worker ingested.
    struct IngestedDocument {
        base: KnowledgeBaseId,
        document: DocumentId,
        store: Arc<InMemory>,
        reconciliation: Reconciliation,
        ingestion: Ingestion,
    }

    impl IngestedDocument {
        /// Ingests a document whose sections are a chunk each.
        async fn ingest() -> Self {
            let store = Arc::<InMemory>::default();
            let base = store.add_base(GroupId::generate(), "Handbook");
            let section = |number| format!("# Section {number}\n\nIt has the number {number}.\n\n");
            let content: String = (0..CHUNKS).map(section).collect();
            let document = store.add(base, "Sections", &content);
            let ingestion = new_ingestion(&store);
            assert_eq!(ingestion.ingest_next().await.unwrap(), IngestionOutcome::Attempted);

            let reconciliation = Reconciliation {
                chunks: Arc::clone(&store) as _,
                vectors: Arc::clone(&store) as _,
            };
            Self { base, document, store, reconciliation, ingestion }
        }
    }

    fn new_ingestion(store: &Arc<InMemory>) -> Ingestion {
        Ingestion {
            queue: Arc::clone(store) as _,
            extractor: Arc::<MarkdownFiles>::default(),
            embedder: Arc::new(HashedEmbedder),
            vectors: Arc::clone(store) as _,
            context_writer: None,
            settings: LiveSetting::new(IngestionSettings {
                chunking: ChunkingSettings { max_chars: 40, overlap_chars: 0 },
                max_attempts: 1,
                lease: Duration::from_mins(5),
                default_monthly_tokens: i64::MAX,
            }),
            clock: Arc::new(ManualClock::new(Timestamp::UNIX_EPOCH)),
        }
    }

    fn points(store: &InMemory) -> BTreeMap<ChunkId, VectorPoint> {
        store.state().points.clone()
    }

    #[tokio::test]
    async fn nothing_changes_if_both_stores_agree() {
        let IngestedDocument { store, reconciliation, .. } = IngestedDocument::ingest().await;
        let points_before = points(&store);
        let rows_before = store.state().rows.clone();

        let repaired = reconciliation.sweep().await.unwrap();
        let deleted_count = reconciliation.delete_removed().await.unwrap();

        assert_eq!(repaired, Repaired::default());
        assert_eq!(deleted_count, 0);
        assert_eq!(points(&store), points_before);
        assert_eq!(store.state().rows, rows_before);
    }

    #[tokio::test]
    async fn missing_points_are_restored_as_they_were() {
        let IngestedDocument { store, reconciliation, .. } = IngestedDocument::ingest().await;
        let points_before = points(&store);
        for chunk in points_before.keys().step_by(2) {
            store.state().points.remove(chunk);
        }

        let repaired = reconciliation.sweep().await.unwrap();

        assert_eq!(repaired, Repaired { restored: CHUNKS / 2, deleted: 0 });
        assert_eq!(points(&store), points_before);
    }

    #[tokio::test]
    async fn an_empty_vector_store_is_filled_from_the_database() {
        let IngestedDocument { store, reconciliation, .. } = IngestedDocument::ingest().await;
        let points_before = std::mem::take(&mut store.state().points);

        let repaired = reconciliation.sweep().await.unwrap();

        assert_eq!(repaired, Repaired { restored: CHUNKS, deleted: 0 });
        assert_eq!(points(&store), points_before);
    }

    #[tokio::test]
    async fn missing_points_of_a_base_are_counted() {
        let IngestedDocument { base, store, reconciliation, .. } = IngestedDocument::ingest().await;
        let counts_before = reconciliation.verify(base).await.unwrap();
        store.state().points.pop_first();
        store.state().points.pop_last();

        let counts = reconciliation.verify(base).await.unwrap();

        assert_eq!(counts_before, VerifiedChunks { published: CHUNKS, missing: 0 });
        assert_eq!(counts, VerifiedChunks { published: CHUNKS, missing: 2 });
        assert_eq!(points(&store).len(), CHUNKS - 2, "nothing is restored");
        let unknown_base = KnowledgeBaseId::generate();
        assert_eq!(reconciliation.verify(unknown_base).await.unwrap(), VerifiedChunks::default());
    }

    #[tokio::test]
    async fn points_without_a_chunk_are_deleted() {
        const UNKNOWN_POINTS: usize = CHUNKS_PER_STEP + 1;
        let IngestedDocument { base, store, reconciliation, .. } = IngestedDocument::ingest().await;
        let points_before = points(&store);
        for _ in 0..UNKNOWN_POINTS {
            let chunk = ChunkId::generate();
            let point = VectorPoint { chunk, base, dense: Vec::new(), terms: Vec::new() };
            store.state().points.insert(chunk, point);
        }

        let repaired = reconciliation.sweep().await.unwrap();

        assert_eq!(repaired, Repaired { restored: 0, deleted: UNKNOWN_POINTS });
        assert_eq!(points(&store), points_before);
    }

    #[tokio::test]
    async fn points_of_replaced_chunks_are_deleted_once() {
        let IngestedDocument { document, store, reconciliation, ingestion, .. } =
            IngestedDocument::ingest().await;
        let replaced_points = points(&store);
        store.replace(document, "It is short now.");
        assert_eq!(ingestion.ingest_next().await.unwrap(), IngestionOutcome::Attempted);

        assert_eq!(reconciliation.delete_removed().await.unwrap(), CHUNKS);
        assert_eq!(reconciliation.delete_removed().await.unwrap(), 0);

        let new_points = points(&store);
        assert_eq!(new_points.len(), 1);
        assert!(new_points.keys().all(|it| !replaced_points.contains_key(it)));
    }

    #[tokio::test]
    async fn removed_chunks_stay_queued_until_their_points_are_deleted() {
        let IngestedDocument { store, reconciliation, .. } = IngestedDocument::ingest().await;
        let removed_chunks = points(&store).into_keys().collect::<Vec<_>>();
        store.state().rows.removed.clone_from(&removed_chunks);

        // The queue is read in one call; the next call, which deletes points, fails.
        store.set_fault(Step::Other, 1, Fault::Refuses);
        assert!(reconciliation.delete_removed().await.is_err());

        assert_eq!(store.state().rows.removed, removed_chunks);
        assert_eq!(reconciliation.delete_removed().await.unwrap(), CHUNKS);
    }
}
