//! Tests of documents that cannot be ingested, or not yet.

use super::*;
use crate::ports::ingest_queue::MockIngestQueue;

fn unavailable(retry_after: Option<Duration>) -> EmbedError {
    EmbedError::Unavailable { reason: "it is busy".to_owned(), retry_after }
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
        assert_eq!(world.row().status, DocumentStatus::Pending);
        assert_eq!(world.row().failures, 0);
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
async fn a_group_without_tokens_embeds_nothing_until_its_quota_is_raised() {
    let world = World::new();
    let settings = *world.ingestion.settings.get();
    world.ingestion.settings.set(IngestionSettings { default_monthly_tokens: 10, ..settings });

    world.ingest().await;

    assert_eq!(world.row().status, DocumentStatus::Pending);
    assert_eq!(world.delay(), QUOTA_DELAY);
    assert!(world.row().error.unwrap().contains("tokens of this month are used up"));
    assert!(world.embedder.calls().is_empty());
    world.ingestion.settings.set(settings);
    world.clock.advance(Duration::from_mins(5));
    world.ingest().await;
    world.assert_published();
}

#[tokio::test]
async fn vectors_that_are_missing_or_unusable_are_not_stored() {
    let fine = || vec![0.5; VECTOR_SIZE];
    for vectors in [
        vec![],
        vec![fine()],
        vec![fine(), fine(), fine()],
        vec![fine(), vec![0.0; VECTOR_SIZE]],
        vec![fine(), vec![f32::NAN; VECTOR_SIZE]],
    ] {
        let embedding = Embedding { vectors, tokens: 7 };
        let world = World::new().with_embedder(move || Ok(embedding.clone()));

        world.ingest().await;

        assert_eq!(world.row().status, DocumentStatus::Pending);
        assert_eq!(world.delay(), OUTAGE_DELAY);
        let state = world.store.state();
        assert!(state.rows.chunks.iter().all(|it| it.vector.is_none()));
        assert_eq!(state.rows.charged, 0);
    }
}

#[tokio::test]
async fn a_model_with_vectors_of_another_size_is_called_once() {
    let vectors = vec![vec![0.5; 3072]; CountingEmbedder::BATCH_SIZE];
    let world =
        World::new().with_embedder(move || Ok(Embedding { vectors: vectors.clone(), tokens: 7 }));

    world.ingest().await;

    world.assert_failed("its vectors have 3072 dimensions instead of 1024").await;
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
async fn a_queue_that_is_unavailable_is_an_error() {
    let mut world = World::new();
    let mut queue = MockIngestQueue::new();
    queue.expect_claim().once().returning(|_, _| Err(crate::fakes::unavailable()));
    world.ingestion.queue = Arc::new(queue);

    assert!(world.ingestion.ingest_next().await.is_err());
}

#[tokio::test]
async fn a_document_that_ends_its_worker_fails_in_the_end() {
    let world = World::new();
    for _ in 0..3 {
        let mut state = world.store.state();
        state.rows.documents.get_mut(&world.document).unwrap().failures += 1;
    }

    assert!(world.ingest().await);

    let error = world.store.document(world.document).error;
    assert!(error.unwrap().contains("stopped too often"));
}
