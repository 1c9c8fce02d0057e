//! World of the tests: a worker, its document, and the stores in memory.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use pia_kernel::{Clock, DocumentId, GroupId, LiveSetting, Timestamp};
use pia_testkit::ManualClock;

use crate::ContentType;
use crate::chunking::ChunkingSettings;
use crate::document::DocumentStatus;
use crate::fakes::{ChunkRow, CountingEmbedder, CountingWriter, InMemory, MarkdownFiles, Row};
use crate::ingestion::{Ingestion, IngestionOutcome, IngestionSettings, MAX_REQUESTED_DELAY};
use crate::ports::embedder::{EmbedError, Embedding, MockEmbedder};
use crate::ports::text_extractor::{ExtractError, ExtractedText, TextExtractor};

/// Document of five sections, each a chunk.
pub(super) const TRAVEL: &str = "\
    # Rail\n\nSecond class tickets only.\n\n# Air\n\nAsk the office first.\n\n\
    # Hotels\n\nUp to ninety euros a night.\n\n# Taxis\n\nOnly at night, with a receipt.\n\n\
    # Meals\n\nA flat rate for each day.\n";

const LEASE: Duration = Duration::from_mins(5);

/// Markdown files whose extraction takes a quarter of the lease.
struct SlowFiles(Arc<ManualClock>);

#[async_trait]
impl TextExtractor for SlowFiles {
    async fn extract(
        &self,
        content_type: ContentType,
        content: Vec<u8>,
    ) -> Result<ExtractedText, ExtractError> {
        self.0.advance(LEASE / 4);
        MarkdownFiles::default().extract(content_type, content).await
    }
}

/// Worker with one document that is queued, and its stores.
pub(super) struct World {
    pub(super) store: Arc<InMemory>,
    pub(super) embedder: Arc<CountingEmbedder>,
    pub(super) clock: Arc<ManualClock>,
    pub(super) ingestion: Ingestion,
    pub(super) document: DocumentId,
}

impl World {
    pub(super) fn new() -> Self {
        let store = Arc::<InMemory>::default();
        let base = store.add_base(GroupId::generate(), "Handbook");
        let document = store.add(base, "Travel", TRAVEL);
        let embedder = Arc::<CountingEmbedder>::default();
        let clock = Arc::new(ManualClock::new(Timestamp::UNIX_EPOCH));
        let ingestion = Ingestion {
            queue: Arc::clone(&store) as _,
            extractor: Arc::new(SlowFiles(Arc::clone(&clock))),
            embedder: Arc::clone(&embedder) as _,
            vectors: Arc::clone(&store) as _,
            context_writer: None,
            settings: LiveSetting::new(IngestionSettings {
                chunking: ChunkingSettings { max_chars: 50, overlap_chars: 0 },
                max_attempts: 3,
                lease: LEASE,
                default_monthly_tokens: 10_000,
            }),
            clock: Arc::clone(&clock) as _,
        };
        Self { store, embedder, clock, ingestion, document }
    }

    /// Replaces the embedder by a mock with the same size of batches.
    pub(super) fn with_embedder(
        mut self,
        embed: impl Fn() -> Result<Embedding, EmbedError> + Send + 'static,
    ) -> Self {
        let mut embedder = MockEmbedder::new();
        embedder.expect_model().return_const("mock".to_owned());
        embedder.expect_batch_size().return_const(CountingEmbedder::BATCH_SIZE);
        embedder.expect_embed().returning(move |_, _| embed());
        self.ingestion.embedder = Arc::new(embedder);
        self
    }

    /// Writes contexts before it embeds.
    pub(super) fn with_writer(mut self) -> (Self, Arc<CountingWriter>) {
        let writer = Arc::<CountingWriter>::default();
        self.ingestion.context_writer = Some(Arc::clone(&writer) as _);
        (self, writer)
    }

    /// Replaces the extractor by one that is never available.
    pub(super) fn without_extractor(mut self) -> Self {
        self.ingestion.extractor = Arc::new(MarkdownFiles(Some(ExtractError::Unavailable)));
        self
    }

    pub(super) fn row(&self) -> Row {
        self.store.document(self.document)
    }

    /// Returns the time until the next attempt.
    pub(super) fn delay(&self) -> Duration {
        let due_at = self.row().due_at.unwrap();
        Duration::from_micros(u64::try_from(due_at.micros() - self.clock.now().micros()).unwrap())
    }

    /// Ingests the next document. Returns whether one was due.
    pub(super) async fn ingest(&self) -> bool {
        self.ingestion.ingest_next().await.unwrap() == IngestionOutcome::Attempted
    }

    /// Ingests documents until none is due.
    pub(super) async fn ingest_all(&self) {
        loop {
            if !self.ingest().await {
                return;
            }
        }
    }

    /// Asserts that the document is published, and each chunk and context paid
    /// for once.
    pub(super) fn assert_published(&self) {
        assert_eq!(self.row().status, DocumentStatus::Ready);
        assert_eq!(self.row().error, None);
        let state = self.store.state();
        assert!(!state.rows.chunks.is_empty());
        assert!(state.rows.chunks.iter().all(|it| it.is_published && it.vector.is_some()));
        assert!(state.rows.chunks.iter().all(|it| state.points.contains_key(&it.new.id)));
        let context = |it: &ChunkRow| it.context.as_ref().map(|_| CountingWriter::TOKENS);
        let tokens = |it: &ChunkRow| it.tokens + context(it).unwrap_or_default();
        assert_eq!(state.rows.charged, state.rows.chunks.iter().map(tokens).sum::<i64>());
    }

    /// Asserts that the document has failed for a reason and is not tried again.
    pub(super) async fn assert_failed(&self, reason: &str) {
        let row = self.row();
        assert_eq!(row.status, DocumentStatus::Failed);
        assert_eq!(row.due_at, None);
        assert!(row.error.as_ref().is_some_and(|it| it.contains(reason)), "{:?}", row.error);
        self.clock.advance(MAX_REQUESTED_DELAY);
        assert!(!self.ingest().await);
        assert_eq!(self.store.state().rows.charged, 0);
    }
}
