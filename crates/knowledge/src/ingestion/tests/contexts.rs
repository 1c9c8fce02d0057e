//! Tests of the contexts of chunks.

use super::*;
use crate::ports::context_writer::{ContextRequest, MockContextWriter, WrittenContext};

/// Returns a world whose writer has these outcomes.
fn writing(
    write: impl Fn(ContextRequest) -> Result<WrittenContext, EmbedError> + Send + 'static,
) -> World {
    let mut world = World::new();
    let mut embedder = MockEmbedder::new();
    embedder.expect_model().return_const("mock".to_owned());
    embedder.expect_batch_size().return_const(9_usize);
    embedder.expect_embed().returning(|_, texts| {
        let vectors = vec![vec![0.5; VECTOR_SIZE]; texts.len()];
        Ok(Embedding { vectors, tokens: 5 })
    });
    world.ingestion.embedder = Arc::new(embedder);
    let mut writer = MockContextWriter::new();
    writer.expect_write().returning(write);
    world.ingestion.context_writer = Some(Arc::new(writer));
    world
}

#[expect(clippy::unnecessary_wraps, reason = "writers return it")]
fn written(text: &str) -> Result<WrittenContext, EmbedError> {
    Ok(WrittenContext { text: text.to_owned(), tokens: 10 })
}

/// Returns the contexts of the chunks, in order.
fn contexts(world: &World) -> Vec<Option<String>> {
    world.store.state().rows.chunks.iter().map(|it| it.context.clone()).collect()
}

#[tokio::test]
async fn contexts_are_written_once_and_embedded_with_their_chunks() {
    let (world, writer) = World::new().with_writer();

    assert!(world.ingest().await);

    world.assert_published();
    assert_eq!(writer.calls().len(), 5);
    let ids = world.store.list_published(None, None, 9).await.unwrap();
    let chunks = world.store.load_indexed(&ids).await.unwrap();
    assert_eq!(chunks.len(), 5);
    assert!(chunks.iter().all(|it| it.context == format!("About {}.", it.text.len())));
    let texts = world.embedder.calls().concat();
    assert!(texts.iter().all(|it| it.starts_with("Travel\n") && it.contains("\nAbout ")));
}

#[tokio::test]
async fn a_context_that_fails_loses_none_of_the_others() {
    let is_busy = std::sync::atomic::AtomicBool::new(true);
    let calls = Arc::new(std::sync::Mutex::new(Vec::new()));
    let seen_calls = Arc::clone(&calls);
    let world = writing(move |request| {
        let is_air = request.chunk.contains("Air");
        seen_calls.lock().unwrap().push(request.chunk);
        if is_air && is_busy.swap(false, std::sync::atomic::Ordering::SeqCst) {
            let reason = "it is busy".to_owned();
            return Err(EmbedError::Unavailable { reason, retry_after: None });
        }
        written("About.")
    });

    world.ingest().await;

    assert_eq!(world.row().status, DocumentStatus::Pending);
    assert_eq!(world.delay(), OUTAGE_DELAY);
    let stored_contexts = contexts(&world);
    assert_eq!(stored_contexts.iter().filter(|it| it.is_some()).count(), 3, "{stored_contexts:?}");
    assert_eq!(stored_contexts[1], None);
    assert_eq!(world.store.state().rows.charged, 30);
    world.clock.advance(world.delay());
    world.ingest().await;

    assert_eq!(world.row().status, DocumentStatus::Ready);
    assert_eq!(calls.lock().unwrap().len(), 6, "no other is asked for again");
    assert_eq!(world.store.state().rows.charged, 55);
}

#[tokio::test]
async fn only_chunks_that_follow_each_other_are_around_a_chunk() {
    let seen_requests = Arc::new(std::sync::Mutex::new(Vec::new()));
    let requests = Arc::clone(&seen_requests);
    let world = writing(move |request| {
        requests.lock().unwrap().push((request.before.clone(), request.after.clone()));
        written("About.")
    });
    world.ingest().await;
    let first = std::mem::take(&mut *seen_requests.lock().unwrap());
    assert!(first[0].0.is_empty() && first[0].1.contains("Air"), "{first:?}");
    assert!(first[1].0.contains("Rail") && first[1].1.contains("Hotels"), "{first:?}");

    let changed_text = TRAVEL.replace("Second", "First").replace("ninety", "a hundred");
    world.store.replace(world.document, &changed_text);
    world.ingest().await;

    let none = (String::new(), String::new());
    assert_eq!(*seen_requests.lock().unwrap(), [none.clone(), none]);
}

#[tokio::test]
async fn documents_that_are_indexed_again_get_the_contexts_that_they_lack() {
    let mut world = World::new();
    world.ingest().await;
    let writer = Arc::<CountingWriter>::default();
    world.ingestion.context_writer = Some(Arc::clone(&writer) as _);

    world.store.reindex(world.row().base, "counting");
    world.ingest().await;

    assert_eq!(world.row().status, DocumentStatus::Ready);
    assert!(contexts(&world).iter().all(Option::is_some));
    assert_eq!(writer.calls().len(), 5);
    assert_eq!(world.embedder.calls().concat().len(), 10);
    // Again, nothing is missing.
    world.store.reindex(world.row().base, "counting");
    world.ingest().await;
    assert_eq!(writer.calls().len(), 5);
    assert_eq!(world.embedder.calls().concat().len(), 10);
}

#[tokio::test]
async fn contexts_outlive_a_change_of_the_model_and_the_loss_of_their_writer() {
    let (mut world, writer) = World::new().with_writer();
    world.ingest().await;
    let before = contexts(&world);

    world.store.reindex(world.row().base, "other");
    world.ingest().await;

    assert_eq!(contexts(&world), before);
    assert_eq!(writer.calls().len(), 5);
    let texts = world.embedder.calls().concat();
    assert_eq!(texts[..5], texts[5..], "all are embedded again, with their contexts");
    world.ingestion.context_writer = None;
    world.store.reindex(world.row().base, "other");
    world.ingest().await;
    assert_eq!(contexts(&world), before);
    assert_eq!(world.embedder.calls().concat().len(), 10);
}

#[tokio::test]
async fn a_chunk_without_a_context_does_not_delay_its_document() {
    let world = writing(|request| match request.chunk {
        it if it.contains("Air") => written(" \n"),
        it if it.contains("Hotels") => Err(EmbedError::Rejected("it is too long".to_owned())),
        _ => written("About."),
    });

    world.ingest().await;

    assert_eq!(world.row().status, DocumentStatus::Ready);
    let about = Some("About.".to_owned());
    let none = Some(String::new());
    assert_eq!(contexts(&world), [&about, &none, &none, &about, &about].map(Clone::clone));
    // The empty answer is paid for, the rejection is not.
    assert_eq!(world.store.state().rows.charged, 45);
}
