//! Tests of ingestion.

mod claims;
mod contexts;
mod failures;
mod reindexing;
mod world;

use pia_kernel::DocumentId;

use super::*;
use crate::document::DocumentStatus;
use crate::fakes::{CountingEmbedder, CountingWriter, MarkdownFiles, Step};
use crate::ports::chunk_store::ChunkStore;
use crate::ports::embedder::{Embedding, MockEmbedder, VECTOR_SIZE};
use crate::terms::query_terms;
use world::{TRAVEL, World};

#[tokio::test]
async fn a_document_is_cut_embedded_in_batches_indexed_and_published() {
    let world = World::new();

    assert!(world.ingest().await);

    world.assert_published();
    let batches = world.embedder.calls();
    let batch_sizes: Vec<usize> = batches.iter().map(Vec::len).collect();
    assert_eq!(batch_sizes, [CountingEmbedder::BATCH_SIZE, CountingEmbedder::BATCH_SIZE, 1]);
    assert_eq!(batches[0][0], "Travel\nRail\n\n# Rail\n\nSecond class tickets only.");
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
    world.embedder.clear();

    world.store.replace(world.document, &TRAVEL.replace("ninety", "a hundred"));
    world.ingest().await;

    let texts = world.embedder.calls().concat();
    assert!(texts.len() == 1 && texts[0].contains("a hundred"), "{texts:?}");
    let state = world.store.state();
    assert_eq!(state.rows.chunks.len(), 5);
    assert_eq!(state.rows.removed.len(), 5);
}

#[tokio::test]
async fn a_long_document_is_indexed_in_several_writes() {
    let world = World::new();
    let chunk_count = 2 * POINTS_PER_WRITE + 1;
    let section = |it| format!("# Section {it}\n\nIt has the number {it}.\n\n");
    let long_text: String = (0..chunk_count).map(section).collect();
    world.store.replace(world.document, &long_text);

    world.ingest().await;

    world.assert_published();
    assert_eq!(world.store.state().points.len(), chunk_count);
    assert_eq!(world.store.calls_of(Step::PutPoints), 3);
}
