//! Tests of bases that are indexed again.

use super::*;
use crate::fakes::{AFTER_LEASE, Fault, Step};

const OTHER_MODEL: &str = "other";

/// Returns a world with two ingested documents.
async fn ingested_world() -> World {
    let world = World::new();
    world.store.add(world.row().base, "Canteen", "# Lunch\n\nAt noon.\n");
    world.ingest_all().await;
    world
}

/// Ingests documents until none is due or the worker crashes.
async fn ingest_until_crash(world: &World) {
    loop {
        match world.ingestion.ingest_next().await {
            Ok(IngestionOutcome::Attempted) => {}
            Ok(IngestionOutcome::NothingDue) | Err(_) => return,
        }
    }
}

/// Asserts that searches find the content of one model alone.
fn assert_model(world: &World, model: &str) {
    let state = world.store.state();
    let models = &state.rows.models[&state.rows.documents[&world.document].base];
    assert_eq!(models.model.as_deref(), Some(model));
    assert_eq!(models.reindex_model.as_deref(), None);
    assert!(state.rows.documents.values().all(|it| it.status == DocumentStatus::Ready));
    assert!(state.rows.chunks.iter().all(|it| it.is_published && it.vector.is_some()));
    assert!(state.rows.chunks.iter().all(|it| state.points.contains_key(&it.new.id)));
}

#[tokio::test]
async fn the_base_determines_the_model_of_its_documents() {
    let mut world = ingested_world().await;
    let mut embedder = MockEmbedder::new();
    embedder.expect_model().return_const("configured".to_owned());
    embedder.expect_batch_size().return_const(9_usize);
    let is_expected = |model: &str, _: &Vec<String>| model == "counting";
    let vector = || Embedding { vectors: vec![vec![0.5; VECTOR_SIZE]], tokens: 1 };
    embedder.expect_embed().withf(is_expected).once().returning(move |_, _| Ok(vector()));
    world.ingestion.embedder = Arc::new(embedder);
    world.store.add(world.row().base, "Pay", "# Pay\n\nMonthly.\n");

    assert!(world.ingest().await);

    assert_model(&world, "counting");
}

#[tokio::test]
async fn a_crash_at_any_step_of_a_reindex_continues() {
    let mut crashes = 0;
    for step in [Step::Claim].into_iter().chain(Step::OF_CLAIM) {
        for (after, fault) in
            (0..8).flat_map(|it| [(it, Fault::CrashesBefore), (it, Fault::CrashesAfter)])
        {
            let world = ingested_world().await;
            world.store.reindex(world.row().base, OTHER_MODEL);
            world.store.set_fault(step, after, fault);
            ingest_until_crash(&world).await;
            if !world.store.restart() {
                continue;
            }
            world.clock.advance(AFTER_LEASE);
            world.ingest_all().await;

            assert_model(&world, OTHER_MODEL);
            crashes += 1;
        }
    }
    assert!(crashes > 55, "{crashes}");
}

#[tokio::test]
async fn workers_finish_a_reindex_together() {
    let world = ingested_world().await;
    world.store.reindex(world.row().base, OTHER_MODEL);

    tokio::join!(world.ingest_all(), world.ingest_all(), world.ingest_all());

    assert_model(&world, OTHER_MODEL);
}
