//! Tests of workers that crash, lose their claims or share a queue.

use std::sync::Mutex;

use super::*;
use crate::fakes::{AFTER_LEASE, Fault, Step};
use crate::ports::vector_store::MockVectorStore;

#[tokio::test]
async fn a_lost_claim_changes_nothing() {
    let mut losses = 0;
    for step in Step::OF_CLAIM {
        for after in 0..5 {
            let (world, _) = World::new().with_writer();
            world.store.set_fault(step, after, Fault::LosesClaim);

            assert!(world.ingest().await);

            let state = world.store.state();
            if let Some(rows) = &state.rows_at_loss {
                assert_eq!(&state.rows, rows, "{step:?} after {after}");
                losses += 1;
            }
        }
    }
    assert!(losses > 20, "{losses}");
}

#[tokio::test]
async fn a_crash_before_or_after_any_step_charges_and_stores_everything_once() {
    let (undisturbed, _) = World::new().with_writer();
    undisturbed.ingest().await;
    let expected = undisturbed.store.state().rows.charged;
    let mut crashes = 0;

    for step in [Step::Claim].into_iter().chain(Step::OF_CLAIM) {
        for (after, fault) in
            (0..5).flat_map(|it| [(it, Fault::CrashesBefore), (it, Fault::CrashesAfter)])
        {
            let (world, writer) = World::new().with_writer();
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
            let texts = world.embedder.calls().concat();
            // Only what was made but not yet stored is made again.
            let repeated = |it| if (step, fault) == (it, Fault::CrashesBefore) { 2 } else { 0 };
            let limits = (5 + repeated(Step::PutVectors), 5 + repeated(Step::PutContexts));
            let made = (texts.len(), writer.calls().len());
            assert!(made.0 <= limits.0 && made.1 <= limits.1, "{step:?} after {after}: {made:?}");
            crashes += 1;
        }
    }
    assert!(crashes > 40, "{crashes}");
}

#[tokio::test]
async fn a_store_that_refuses_any_step_once_delays_a_document() {
    for step in Step::OF_CLAIM {
        let (world, _) = World::new().with_writer();
        world.store.set_fault(step, 0, Fault::Refuses);

        world.ingest().await;

        assert_eq!(world.row().status, DocumentStatus::Pending, "{step:?}");
        world.clock.advance(OUTAGE_DELAY);
        world.ingest().await;
        world.assert_published();
    }
}

#[tokio::test]
async fn points_of_a_document_that_was_deleted_meanwhile_are_removed() {
    let mut world = World::new();
    let store = Arc::clone(&world.store);
    let document = world.document;
    let mut slow = MockVectorStore::new();
    slow.expect_put().returning(move |points| {
        store.delete(document);
        let mut state = store.state();
        // Its points are removed before the last of them are stored.
        assert_eq!(std::mem::take(&mut state.rows.removed).len(), 5);
        state.points.extend(points.into_iter().map(|it| (it.chunk, it)));
        Ok(())
    });
    slow.expect_existing().returning(|ids| Ok(ids.to_vec()));
    world.ingestion.vectors = Arc::new(slow);

    world.ingest().await;

    let store = &world.store;
    let stored_points: Vec<ChunkId> = store.state().points.keys().copied().collect();
    assert_eq!(stored_points.len(), 5);
    assert_eq!(store.state().rows.removed, stored_points);
}

#[tokio::test]
async fn workers_share_a_queue() {
    let world = World::new();
    let base = world.row().base;
    let documents: Vec<DocumentId> =
        (0..6).map(|it| world.store.add(base, &format!("Document {it}"), TRAVEL)).collect();
    let ingested_count = Mutex::new(0);

    let work = || async {
        while world.ingest().await {
            *ingested_count.lock().unwrap() += 1;
        }
    };
    tokio::join!(work(), work(), work());

    assert_eq!(*ingested_count.lock().unwrap(), 7);
    assert!(documents.iter().all(|it| world.store.document(*it).status == DocumentStatus::Ready));
    world.assert_published();
}
