//! Tests of ingestion.

use std::sync::Mutex;

use pia_kernel::{DocumentId, GroupId, Timestamp};
use pia_testkit::ManualClock;

use super::*;
use crate::document::DocumentStatus;
use crate::fakes::{AFTER_LEASE, CountingEmbedder, Fault, InMemory, MarkdownFiles, Step};
use crate::ports::chunk_store::ChunkStore;
use crate::ports::context_writer::{MockContextWriter, WrittenContext};
use crate::ports::embedder::{Embedding, MockEmbedder, VECTOR_SIZE};
use crate::ports::ingest_queue::MockIngestQueue;

/// Document of five sections, each a chunk.
const TRAVEL: &str = "# Rail\n\nSecond class tickets only.\n\n# Air\n\nAsk the office first.\n\n\
    # Hotels\n\nUp to ninety euros a night.\n\n# Taxis\n\nOnly at night, with a receipt.\n\n\
    # Meals\n\nA flat rate for each day.\n";

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
            extractor: Arc::<MarkdownFiles>::default(),
            embedder: Arc::clone(&embedder) as _,
            vectors: Arc::clone(&store) as _,
            context_writer: None,
            settings: LiveSetting::new(IngestionSettings {
                chunking: ChunkingSettings { max_chars: 50, overlap_chars: 0 },
                max_attempts: 3,
                lease: Duration::from_mins(5),
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
        embedder.expect_embed().returning(move |_| embed());
        self.ingestion.embedder = Arc::new(embedder);
        self
    }

    /// Extracts nothing.
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

    async fn ingest(&self) -> bool {
        self.ingestion.ingest_next().await.unwrap()
    }

    /// Asserts that the document is published, and each chunk paid for once.
    fn assert_published(&self) {
        assert_eq!((self.row().status, self.row().error), (DocumentStatus::Ready, None));
        let state = self.store.state();
        assert!(!state.rows.chunks.is_empty());
        assert!(state.rows.chunks.iter().all(|it| it.is_published && it.vector.is_some()));
        assert!(state.rows.chunks.iter().all(|it| state.points.contains_key(&it.new.id)));
        let tokens: i64 = state.rows.chunks.iter().map(|it| it.tokens).sum();
        assert_eq!(state.rows.charged, tokens);
    }

    /// Asserts that the document has failed for a reason and is not tried again.
    async fn assert_failed(&self, reason: &str) {
        let row = self.row();
        assert_eq!((row.status, row.due_at), (DocumentStatus::Failed, None));
        assert!(row.error.as_ref().is_some_and(|it| it.contains(reason)), "{:?}", row.error);
        self.clock.advance(MAX_REQUESTED_DELAY);
        assert!(!self.ingest().await);
        assert_eq!(self.store.state().rows.charged, 0);
    }
}

fn unavailable(retry_after: Option<Duration>) -> EmbedError {
    EmbedError::Unavailable { reason: "it is busy".to_owned(), retry_after }
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
async fn nothing_is_ingested_while_nothing_is_due() {
    let world = World::new();
    world.ingest().await;

    assert!(!world.ingest().await);
}

#[tokio::test]
async fn a_transient_failure_is_retried_with_a_delay_that_doubles() {
    let world = World::new().without_extractor();
    world
        .ingestion
        .settings
        .set(IngestionSettings { max_attempts: 20, ..*world.ingestion.settings.get() });
    let mut delays = Vec::new();

    for _ in 0..12 {
        assert!(world.ingest().await);
        assert!(!world.ingest().await, "it waits");
        delays.push(world.delay().as_secs());
        world.clock.advance(world.delay());
    }

    assert_eq!(delays, [5, 10, 20, 40, 80, 160, 320, 640, 1280, 2560, 3600, 3600]);
    assert_eq!(world.row().status, DocumentStatus::Pending);
    assert!(world.row().error.unwrap().contains("at present"));
}

#[tokio::test]
async fn an_outage_is_not_the_fault_of_a_document() {
    let world = World::new().with_embedder(|| Err(unavailable(None)));

    for _ in 0..20 {
        assert!(world.ingest().await);
        assert_eq!((world.row().status, world.row().failures), (DocumentStatus::Pending, 0));
        assert_eq!(world.delay(), OUTAGE_DELAY);
        world.clock.advance(world.delay());
    }
    assert!(world.row().error.unwrap().contains("it is busy"));
}

#[tokio::test]
async fn a_delay_that_the_provider_requests_is_honoured() {
    for (requested, expected) in [(1, 5), (90, 90), (u64::MAX, 24 * 60 * 60)] {
        let requested = Duration::from_secs(requested);
        let world = World::new().with_embedder(move || Err(unavailable(Some(requested))));

        world.ingest().await;

        assert_eq!(world.delay().as_secs(), expected);
    }
}

#[tokio::test]
async fn a_document_has_failed_after_the_last_attempt() {
    let world = World::new().without_extractor();

    for _ in 0..2 {
        world.ingest().await;
        assert_eq!(world.row().status, DocumentStatus::Pending);
        world.clock.advance(world.delay());
    }
    world.ingest().await;

    world.assert_failed("at present").await;
    assert_eq!(world.row().failures, 3);
}

#[tokio::test]
async fn a_document_that_can_never_be_read_fails_at_once_with_the_reason() {
    for err in [
        ExtractError::Damaged,
        ExtractError::Encrypted,
        ExtractError::NoText,
        ExtractError::TooComplex,
    ] {
        let mut world = World::new();
        world.ingestion.extractor = Arc::new(MarkdownFiles(Some(err)));

        world.ingest().await;

        world.assert_failed(&err.to_string()).await;
    }
}

#[tokio::test]
async fn a_document_that_cannot_be_read_at_present_is_tried_again() {
    let mut world = World::new();
    world.ingestion.extractor = Arc::new(MarkdownFiles(Some(ExtractError::Unavailable)));

    world.ingest().await;

    assert_eq!(world.delay(), FIRST_DELAY);
}

#[tokio::test]
async fn a_document_of_blanks_has_no_text() {
    let world = World::new();
    world.store.replace(world.document, " \n\n\u{a0}\n");

    world.ingest().await;

    world.assert_failed(&ExtractError::NoText.to_string()).await;
}

#[tokio::test]
async fn a_document_of_too_many_chunks_is_too_complex() {
    let world = World::new();
    let chunking = ChunkingSettings { max_chars: 1, overlap_chars: 0 };
    world.ingestion.settings.set(IngestionSettings { chunking, ..*world.ingestion.settings.get() });
    world.store.replace(world.document, &"a ".repeat(MAX_CHUNKS + 1));

    world.ingest().await;

    world.assert_failed(&ExtractError::TooComplex.to_string()).await;
}

#[tokio::test]
async fn a_request_that_the_provider_rejects_fails_at_once() {
    let world =
        World::new().with_embedder(|| Err(EmbedError::Rejected("no such model".to_owned())));

    world.ingest().await;

    world.assert_failed("no such model").await;
}

#[tokio::test]
async fn a_group_without_tokens_embeds_nothing() {
    let world = World::new();
    let settings = *world.ingestion.settings.get();
    world.ingestion.settings.set(IngestionSettings { default_monthly_tokens: 10, ..settings });

    world.ingest().await;

    assert_eq!((world.row().status, world.delay()), (DocumentStatus::Pending, QUOTA_DELAY));
    assert!(world.row().error.unwrap().contains("tokens of this month are used up"));
    assert!(world.embedder.0.lock().unwrap().is_empty());
}

#[tokio::test]
async fn vectors_that_are_missing_or_unusable_are_not_stored() {
    let fine = || vec![0.5; VECTOR_SIZE];
    for vectors in [
        vec![],
        vec![fine()],
        vec![fine(), fine(), fine()],
        vec![fine(), vec![0.5; 3]],
        vec![fine(), vec![0.0; VECTOR_SIZE]],
        vec![fine(), vec![f32::NAN; VECTOR_SIZE]],
    ] {
        let embedding = Embedding { vectors, tokens: 7 };
        let world = World::new().with_embedder(move || Ok(embedding.clone()));

        world.ingest().await;

        assert_eq!((world.row().status, world.delay()), (DocumentStatus::Pending, OUTAGE_DELAY));
        let state = world.store.state();
        assert!(state.rows.chunks.iter().all(|it| it.vector.is_none()));
        assert_eq!(state.rows.charged, 0);
    }
}

#[tokio::test]
async fn a_lost_claim_changes_nothing() {
    let mut losses = 0;
    for step in Step::OF_CLAIM {
        for after in 0..5 {
            let world = World::new();
            world.store.set_fault(step, after, Fault::LosesClaim);

            assert!(world.ingest().await);

            let state = world.store.state();
            if let Some(rows) = &state.rows_at_loss {
                assert_eq!(&state.rows, rows, "{step:?} after {after}");
                losses += 1;
            }
        }
    }
    assert!(losses > 15);
}

#[tokio::test]
async fn a_crash_before_or_after_any_step_charges_and_stores_everything_once() {
    let undisturbed = World::new();
    undisturbed.ingest().await;
    let expected = undisturbed.store.state().rows.charged;
    let mut crashes = 0;

    for step in [Step::Claim].into_iter().chain(Step::OF_CLAIM) {
        for (after, fault) in
            (0..5).flat_map(|it| [(it, Fault::CrashesBefore), (it, Fault::CrashesAfter)])
        {
            let world = World::new();
            world.store.set_fault(step, after, fault);
            let outcome = world.ingestion.ingest_next().await;
            if !world.store.restart() {
                continue;
            }
            assert!(outcome.is_err(), "{step:?} after {after}");
            world.clock.advance(AFTER_LEASE);
            world.ingestion.ingest_next().await.unwrap();

            world.assert_published();
            assert_eq!(world.store.state().rows.charged, expected);
            let texts = world.embedder.0.lock().unwrap().concat();
            // Only what was embedded but not yet stored is embedded again.
            let repeated =
                if (step, fault) == (Step::PutVectors, Fault::CrashesBefore) { 2 } else { 0 };
            assert!(texts.len() <= 5 + repeated, "{step:?} after {after}: {}", texts.len());
            crashes += 1;
        }
    }
    assert!(crashes > 30);
}

#[tokio::test]
async fn a_store_that_refuses_any_step_once_delays_a_document() {
    for step in Step::OF_CLAIM {
        let world = World::new();
        world.store.set_fault(step, 0, Fault::Refuses);

        world.ingest().await;

        assert_eq!(world.row().status, DocumentStatus::Pending, "{step:?}");
        world.clock.advance(OUTAGE_DELAY);
        world.ingest().await;
        world.assert_published();
    }
}

#[tokio::test]
async fn a_document_is_not_ready_if_the_vector_store_loses_its_points() {
    let world = World::new();
    world.store.state().loses_points = true;

    world.ingest().await;

    assert_eq!(world.row().status, DocumentStatus::Pending);
    assert!(world.row().error.unwrap().contains("did not store all chunks"));
    assert!(world.store.state().rows.chunks.iter().all(|it| !it.is_published));
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
    assert_eq!((state.rows.chunks.len(), state.rows.removed.len()), (5, 5));
}

#[tokio::test]
async fn a_long_document_is_indexed_in_several_writes() {
    let world = World::new();
    let section = |it| format!("# Section {it}\n\nIt has the number {it}.\n\n");
    let long: String = (0..600).map(section).collect();
    world.store.replace(world.document, &long);

    world.ingest().await;

    world.assert_published();
    assert_eq!(world.store.state().points.len(), 600);
}

#[tokio::test]
async fn a_queue_that_is_unavailable_is_an_error() {
    let mut world = World::new();
    let mut queue = MockIngestQueue::new();
    queue.expect_claim().once().returning(|_, _| Err(crate::fakes::unavailable()));
    world.ingestion.queue = Arc::new(queue);

    assert!(world.ingestion.ingest_next().await.is_err());
}

#[tokio::test]
async fn workers_share_a_queue() {
    let world = World::new();
    let base = world.row().base;
    let documents: Vec<DocumentId> =
        (0..6).map(|it| world.store.add(base, &format!("Document {it}"), TRAVEL)).collect();
    let done = Mutex::new(0);

    let work = || async {
        while world.ingest().await {
            *done.lock().unwrap() += 1;
        }
    };
    tokio::join!(work(), work(), work());

    assert_eq!(*done.lock().unwrap(), 7);
    assert!(documents.iter().all(|it| world.store.document(*it).status == DocumentStatus::Ready));
    world.assert_published();
}

#[tokio::test]
async fn contexts_are_written_once_and_embedded_with_their_chunks() {
    let mut world = World::new();
    let mut writer = MockContextWriter::new();
    writer.expect_write().times(5).returning(|request| {
        assert_eq!(request.title, "Travel");
        let text = format!("About  {}.\n", request.chunk.len());
        Ok(WrittenContext { text, tokens: 10 })
    });
    world.ingestion.context_writer = Some(Arc::new(writer));

    assert!(world.ingestion.ingest_next().await.unwrap());

    let chunks = world.store.published(None, 9).await.unwrap();
    assert_eq!(chunks.len(), 5);
    assert!(chunks.iter().all(|it| it.context == format!("About {}.", it.text.len())));
}

#[tokio::test]
async fn a_document_that_ends_its_worker_fails_in_the_end() {
    let world = World::new();
    for _ in 0..3 {
        let mut state = world.store.state();
        state.rows.documents.get_mut(&world.document).unwrap().failures += 1;
    }
    assert!(world.ingestion.ingest_next().await.unwrap());
    let error = world.store.document(world.document).error;
    assert!(error.unwrap().contains("stopped too often"));
}
