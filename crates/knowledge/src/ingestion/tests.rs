//! Tests of ingestion.

mod claims;
mod contexts;
mod failures;
mod reindexing;

use async_trait::async_trait;
use pia_kernel::{DocumentId, GroupId, Timestamp};
use pia_testkit::ManualClock;

use super::*;
use crate::ContentType;
use crate::document::DocumentStatus;
use crate::fakes::{ChunkRow, CountingEmbedder, CountingWriter, InMemory, MarkdownFiles};
use crate::ports::chunk_store::ChunkStore;
use crate::ports::embedder::{Embedding, MockEmbedder, VECTOR_SIZE};
use crate::terms::query_terms;

/// Document of five sections, each a chunk.
const TRAVEL: &str = "# Rail\n\nSecond class tickets only.\n\n# Air\n\nAsk the office first.\n\n\
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

struct World {
    store: Arc<InMemory>,
    embedder: Arc<CountingEmbedder>,
    clock: Arc<ManualClock>,
    ingestion: Ingestion,
    document: DocumentId,
}

impl World {
    fn new() -> Self {
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

    /// Embeds with a mock instead.
    fn with_embedder(
        mut self,
        embed: impl Fn() -> Result<Embedding, EmbedError> + Send + 'static,
    ) -> Self {
        let mut embedder = MockEmbedder::new();
        embedder.expect_model().return_const("mock".to_owned());
        embedder.expect_batch_size().return_const(2_usize);
        embedder.expect_embed().returning(move |_, _| embed());
        self.ingestion.embedder = Arc::new(embedder);
        self
    }

    /// Writes contexts before it embeds.
    fn with_writer(mut self) -> (Self, Arc<CountingWriter>) {
        let writer = Arc::<CountingWriter>::default();
        self.ingestion.context_writer = Some(Arc::clone(&writer) as _);
        (self, writer)
    }

    /// Replaces the extractor by one that is never available.
    fn without_extractor(mut self) -> Self {
        self.ingestion.extractor = Arc::new(MarkdownFiles(Some(ExtractError::Unavailable)));
        self
    }

    fn row(&self) -> crate::fakes::Row {
        self.store.document(self.document)
    }

    /// Returns the time until the next attempt.
    fn delay(&self) -> Duration {
        let due_at = self.row().due_at.unwrap();
        Duration::from_micros(u64::try_from(due_at.micros() - self.clock.now().micros()).unwrap())
    }

    /// Ingests the next document. Returns whether one was due.
    async fn ingest(&self) -> bool {
        self.ingestion.ingest_next().await.unwrap() == IngestionOutcome::Attempted
    }

    /// Ingests documents until none is due.
    async fn ingest_all(&self) {
        loop {
            if !self.ingest().await {
                return;
            }
        }
    }

    /// Asserts that the document is published, and each chunk and context paid
    /// for once.
    fn assert_published(&self) {
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
    async fn assert_failed(&self, reason: &str) {
        let row = self.row();
        assert_eq!(row.status, DocumentStatus::Failed);
        assert_eq!(row.due_at, None);
        assert!(row.error.as_ref().is_some_and(|it| it.contains(reason)), "{:?}", row.error);
        self.clock.advance(MAX_REQUESTED_DELAY);
        assert!(!self.ingest().await);
        assert_eq!(self.store.state().rows.charged, 0);
    }
}

#[tokio::test]
async fn a_document_is_cut_embedded_in_batches_indexed_and_published() {
    let world = World::new();

    assert!(world.ingest().await);

    world.assert_published();
    let calls = world.embedder.0.lock().unwrap();
    assert_eq!(calls.iter().map(Vec::len).collect::<Vec<_>>(), [2, 2, 1]);
    assert_eq!(calls[0][0], "Travel\nRail\n\n# Rail\n\nSecond class tickets only.");
    let state = world.store.state();
    let ordinals: Vec<i32> = state.rows.chunks.iter().map(|it| it.new.ordinal).collect();
    assert_eq!(ordinals, [0, 1, 2, 3, 4]);
    assert!(state.points.values().all(|it| !it.terms.is_empty() && it.dense.len() == VECTOR_SIZE));
}

#[tokio::test]
async fn words_of_the_title_and_the_headings_find_every_chunk() {
    let world = World::new();
    world.ingest().await;

    let ids = world.store.list_published(None, None, 9).await.unwrap();
    let chunks = world.store.load_indexed(&ids).await.unwrap();
    let state = world.store.state();
    assert_eq!(chunks.len(), 5);
    for chunk in chunks {
        let terms = &state.points[&chunk.id].terms;
        for word in query_terms(&format!("Travel {}", chunk.path)) {
            assert!(terms.iter().any(|it| it.term == word.term), "{}", chunk.text);
        }
    }
}

#[tokio::test]
async fn nothing_is_ingested_while_nothing_is_due() {
    let world = World::new();
    world.ingest().await;

    assert!(!world.ingest().await);
}

#[tokio::test]
async fn only_the_chunks_that_changed_are_embedded_again() {
    let world = World::new();
    world.ingest().await;
    world.embedder.0.lock().unwrap().clear();

    world.store.replace(world.document, &TRAVEL.replace("ninety", "a hundred"));
    world.ingest().await;

    let texts = world.embedder.0.lock().unwrap().concat();
    assert!(texts.len() == 1 && texts[0].contains("a hundred"), "{texts:?}");
    let state = world.store.state();
    assert_eq!(state.rows.chunks.len(), 5);
    assert_eq!(state.rows.removed.len(), 5);
}

#[tokio::test]
async fn a_long_document_is_indexed_in_several_writes() {
    let world = World::new();
    let section = |it| format!("# Section {it}\n\nIt has the number {it}.\n\n");
    let long_text: String = (0..600).map(section).collect();
    world.store.replace(world.document, &long_text);

    world.ingest().await;

    world.assert_published();
    assert_eq!(world.store.state().points.len(), 600);
}
