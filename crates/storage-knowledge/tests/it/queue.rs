//! Contract tests of the queue of ingestion.

use std::collections::HashSet;
use std::time::Duration;

use futures_util::future::join_all;
use pia_kernel::SideEffects;
use pia_knowledge::{
    ChunkStore, DocumentStatus, DocumentStore, IngestQueue, IngestionProgress, NewChunks,
    ReservationOutcome,
};
use pia_storage::Database;
use pia_storage_knowledge::{SqlChunks, SqlDocuments, SqlIngestQueue};

use crate::fixture::{
    DEFAULT, LEASE, MODEL, NOW, base, chunk, claim, document, group, ingest, new_chunks, of, put,
    server, vector,
};

pia_testkit::contract! {
    concurrent_workers_claim_each_document_once,
    bases_are_served_in_turn,
    a_claim_that_expired_is_lost,
    all_claims_are_released,
    new_content_ends_a_claim,
    chunks_that_did_not_change_keep_their_vectors,
    contexts_are_stored_and_charged,
    points_of_chunks_that_are_gone_are_discarded,
    contexts_outlive_a_change_of_the_model,
    chunks_without_a_context_get_one,
    concurrent_reservations_do_not_exceed_the_quota,
    a_document_is_tried_again_when_it_is_due,
}

async fn concurrent_workers_claim_each_document_once(db: Database) {
    let travel = base(&db, "Travel", DEFAULT).await;
    let mut ids = HashSet::new();
    for text in ["one", "two", "three"] {
        ids.insert(document(&db, travel, text).await);
    }
    let jobs = join_all((0..12).map(|_| claim(&db, NOW))).await;
    let claimed: Vec<_> = jobs.into_iter().flatten().map(|it| it.claim.document).collect();
    assert_eq!(claimed.len(), 3);
    assert_eq!(HashSet::from_iter(claimed), ids);
}

async fn bases_are_served_in_turn(db: Database) {
    let sales = group(&db, "Sales").await;
    let minute = Duration::from_mins(1);
    let large = base(&db, "Large", DEFAULT).await;
    let small = base(&db, "Small", sales).await;
    for text in ["one", "two", "three"] {
        document(&db, large, text).await;
    }
    document(&db, small, "four").await;
    let mut served = Vec::new();
    for at in 1..4 {
        served.push(claim(&db, NOW + minute * at).await.unwrap().base);
    }
    assert_eq!(served.iter().filter(|it| **it == small).count(), 1, "{served:?}");
    assert_ne!(served[2], small);
}

async fn a_claim_that_expired_is_lost(db: Database) {
    let queue = SqlIngestQueue::new(db.clone());
    let travel = base(&db, "Travel", DEFAULT).await;
    document(&db, travel, "one").await;
    let first = claim(&db, NOW).await.unwrap();
    assert!(claim(&db, NOW + LEASE / 2).await.is_none());
    assert!(queue.put_chunks(first.claim, new_chunks(MODEL, vec![chunk(0, "one")])).await.unwrap());
    assert!(queue.extend(first.claim, NOW + LEASE * 2).await.unwrap());
    assert!(claim(&db, NOW + LEASE).await.is_none());

    let second = claim(&db, NOW + LEASE * 2).await.unwrap();
    assert!(second.split_for.as_deref() == Some(MODEL) && second.claim.fence > first.claim.fence);
    // The worker may have died of the document.
    assert_eq!(second.failures, 1);
    let lost = first.claim;
    let pending = queue.pending(second.claim, 9).await.unwrap();
    let vectors = vec![(pending[0].id, vector(1.0), 1)];
    assert!(!queue.extend(lost, NOW).await.unwrap());
    assert!(!queue.put_chunks(lost, new_chunks(MODEL, Vec::new())).await.unwrap());
    assert!(!queue.put_vectors(lost, vectors.clone(), NOW).await.unwrap());
    assert_eq!(queue.reserve(lost, 1, 100, NOW).await.unwrap(), ReservationOutcome::Lost);
    assert!(!queue.publish(lost).await.unwrap());
    assert!(!queue.fail(lost, "x", None).await.unwrap());

    assert!(queue.put_vectors(second.claim, vectors, NOW).await.unwrap());
    assert!(queue.pending(second.claim, 9).await.unwrap().is_empty());
    let embedded = queue.embedded(second.claim, 0, 9).await.unwrap();
    assert_eq!(embedded.len(), 1);
    assert!(queue.embedded(second.claim, 1, 9).await.unwrap().is_empty());
    assert!(queue.publish(second.claim).await.unwrap());
    assert!(!queue.publish(second.claim).await.unwrap());
}

async fn all_claims_are_released(db: Database) {
    let queue = SqlIngestQueue::new(db.clone());
    let travel = base(&db, "Travel", DEFAULT).await;
    document(&db, travel, "one").await;
    let first = claim(&db, NOW).await.unwrap();
    queue.release_all(NOW).await.unwrap();
    assert!(!queue.extend(first.claim, NOW).await.unwrap());
    let second = claim(&db, NOW).await.unwrap();
    assert_eq!(second.claim.document, first.claim.document);
    assert_eq!(second.failures, 1);
}

async fn new_content_ends_a_claim(db: Database) {
    let queue = SqlIngestQueue::new(db.clone());
    let travel = base(&db, "Travel", DEFAULT).await;
    put(&db, travel, Some("a"), "one").await;
    let first = claim(&db, NOW).await.unwrap();
    let old = chunk(0, "one");
    assert!(queue.put_chunks(first.claim, new_chunks(MODEL, vec![old.clone()])).await.unwrap());
    put(&db, travel, Some("a"), "two").await;

    assert!(!queue.publish(first.claim).await.unwrap());
    // The worker may have stored its point.
    assert_eq!(SqlChunks::new(db.clone()).removed(9).await.unwrap(), [old.id]);
    let second = claim(&db, NOW).await.unwrap();
    assert_eq!(second.content, b"two");
    assert_eq!(second.split_for, None);

    let documents = SqlDocuments::new(db.clone());
    let id = second.claim.document;
    assert!(documents.delete(of(travel, id), SideEffects::default()).await.unwrap());
    assert!(
        !queue.put_chunks(second.claim, new_chunks(MODEL, vec![chunk(0, "two")])).await.unwrap()
    );
}

async fn chunks_that_did_not_change_keep_their_vectors(db: Database) {
    let queue = SqlIngestQueue::new(db.clone());
    let travel = base(&db, "Travel", DEFAULT).await;
    put(&db, travel, Some("a"), "one two").await;
    ingest(&db).await;
    put(&db, travel, Some("a"), "one three").await;

    let job = claim(&db, NOW).await.unwrap();
    let chunks = vec![chunk(0, "one"), chunk(1, "three")];
    assert!(queue.put_chunks(job.claim, new_chunks(MODEL, chunks.clone())).await.unwrap());
    let pending = queue.pending(job.claim, 9).await.unwrap();
    assert_eq!(pending.iter().map(|it| it.id).collect::<Vec<_>>(), [chunks[1].id]);
    let document = SqlDocuments::new(db.clone()).find(of(travel, job.claim.document)).await;
    assert_eq!(
        document.unwrap().unwrap().progress,
        Some(IngestionProgress { embedded: 1, total: 2 })
    );
}

async fn contexts_are_stored_and_charged(db: Database) {
    let queue = SqlIngestQueue::new(db.clone());
    let travel = base(&db, "Travel", DEFAULT).await;
    put(&db, travel, Some("a"), "one").await;
    claim(&db, NOW).await.unwrap();
    let job = claim(&db, NOW + LEASE).await.unwrap();
    assert_eq!(job.failures, 1);
    let new = chunk(0, "one");
    assert!(
        queue
            .put_chunks(job.claim, new_chunks(MODEL, vec![new.clone(), chunk(1, "two")]))
            .await
            .unwrap()
    );
    assert_eq!(queue.beginning(job.claim).await.unwrap(), "one\ntwo");
    let contexts = vec![(new.id, "About one.".to_owned(), 30)];
    assert!(queue.put_contexts(job.claim, contexts.clone(), NOW).await.unwrap());
    // The document makes progress.
    assert!(queue.postpone(job.claim, "outage", NOW).await.unwrap());
    let job = claim(&db, NOW).await.unwrap();
    assert_eq!(job.failures, 0);

    let pending = queue.pending(job.claim, 9).await.unwrap();
    assert_eq!(pending[0].context.as_deref(), Some("About one."));
    assert_eq!(pending[1].context, None);
    // 30 of 100 tokens are used.
    assert_eq!(
        queue.reserve(job.claim, 71, 100, NOW).await.unwrap(),
        ReservationOutcome::QuotaExceeded
    );
    let vectors = pending.iter().map(|it| (it.id, vector(1.0), 1)).collect();
    assert!(queue.put_vectors(job.claim, vectors, NOW).await.unwrap());
    let embedded = queue.embedded(job.claim, 0, 9).await.unwrap();
    assert_eq!(embedded[0].context, "About one.");
    assert!(queue.publish(job.claim).await.unwrap());
    assert!(!queue.put_contexts(job.claim, contexts, NOW).await.unwrap());

    // A chunk that did not change keeps its context.
    put(&db, travel, Some("a"), "three").await;
    let job = claim(&db, NOW).await.unwrap();
    assert!(queue.put_chunks(job.claim, new_chunks(MODEL, vec![chunk(0, "one")])).await.unwrap());
    assert!(queue.pending(job.claim, 9).await.unwrap().is_empty());
    assert_eq!(queue.embedded(job.claim, 0, 9).await.unwrap()[0].context, "About one.");
}

async fn points_of_chunks_that_are_gone_are_discarded(db: Database) {
    let queue = SqlIngestQueue::new(db.clone());
    let travel = base(&db, "Travel", DEFAULT).await;
    document(&db, travel, "one").await;
    let published = ingest(&db).await;
    document(&db, travel, "two").await;
    let job = claim(&db, NOW).await.unwrap();
    let new = chunk(0, "two");
    let gone = chunk(1, "three").id;
    assert!(queue.put_chunks(job.claim, new_chunks(MODEL, vec![new.clone()])).await.unwrap());

    queue.discard(&[published[0], new.id, gone]).await.unwrap();
    queue.discard(&[gone]).await.unwrap();

    assert_eq!(SqlChunks::new(db).removed(9).await.unwrap(), [gone]);
}

async fn contexts_outlive_a_change_of_the_model(db: Database) {
    let queue = SqlIngestQueue::new(db.clone());
    let travel = base(&db, "Travel", DEFAULT).await;
    put(&db, travel, Some("a"), "one two").await;
    let job = claim(&db, NOW).await.unwrap();
    let chunks = vec![chunk(0, "one"), chunk(1, "two")];
    let contexts =
        vec![(chunks[0].id, "About one.".to_owned(), 1), (chunks[1].id, String::new(), 1)];
    let vectors = chunks.iter().map(|it| (it.id, vector(1.0), 1)).collect();
    assert!(queue.put_chunks(job.claim, new_chunks(MODEL, chunks)).await.unwrap());
    assert!(queue.put_contexts(job.claim, contexts, NOW).await.unwrap());
    assert!(queue.put_vectors(job.claim, vectors, NOW).await.unwrap());
    assert!(queue.publish(job.claim).await.unwrap());
    let documents = SqlDocuments::new(db.clone());
    documents.reindex(server(travel), "m2", NOW, SideEffects::default()).await.unwrap();

    let job = claim(&db, NOW).await.unwrap();
    let chunks = vec![chunk(0, "one"), chunk(1, "two"), chunk(2, "three")];
    let new = NewChunks { needs_contexts: true, ..new_chunks("m2", chunks) };
    assert!(queue.put_chunks(job.claim, new).await.unwrap());

    let pending = queue.pending(job.claim, 9).await.unwrap();
    let contexts: Vec<_> = pending.iter().map(|it| it.context.as_deref()).collect();
    assert_eq!(contexts, [Some("About one."), Some(""), None]);
}

async fn chunks_without_a_context_get_one(db: Database) {
    let queue = SqlIngestQueue::new(db.clone());
    let travel = base(&db, "Travel", DEFAULT).await;
    put(&db, travel, Some("a"), "one two").await;
    let job = claim(&db, NOW).await.unwrap();
    let chunks = vec![chunk(0, "one"), chunk(1, "two")];
    let contexts = vec![(chunks[0].id, "About one.".to_owned(), 1)];
    let vectors = chunks.iter().map(|it| (it.id, vector(1.0), 1)).collect();
    assert!(queue.put_chunks(job.claim, new_chunks(MODEL, chunks)).await.unwrap());
    assert!(queue.put_contexts(job.claim, contexts, NOW).await.unwrap());
    assert!(queue.put_vectors(job.claim, vectors, NOW).await.unwrap());
    assert!(queue.publish(job.claim).await.unwrap());
    let documents = SqlDocuments::new(db.clone());
    documents.reindex(server(travel), MODEL, NOW, SideEffects::default()).await.unwrap();

    let job = claim(&db, NOW).await.unwrap();
    let chunks = || vec![chunk(0, "one"), chunk(1, "two")];
    let new = NewChunks { needs_contexts: true, ..new_chunks(MODEL, chunks()) };
    assert!(queue.put_chunks(job.claim, new).await.unwrap());
    let pending = queue.pending(job.claim, 9).await.unwrap();
    assert_eq!(pending.iter().map(|it| it.text.as_str()).collect::<Vec<_>>(), ["two"]);

    // Where nothing writes contexts, nothing is embedded again.
    assert!(queue.put_chunks(job.claim, new_chunks(MODEL, chunks())).await.unwrap());
    assert!(queue.pending(job.claim, 9).await.unwrap().is_empty());
    let embedded = queue.embedded(job.claim, 0, 9).await.unwrap();
    let contexts: Vec<_> = embedded.iter().map(|it| it.context.as_str()).collect();
    assert_eq!(contexts, ["About one.", ""]);
}

async fn concurrent_reservations_do_not_exceed_the_quota(db: Database) {
    let queue = SqlIngestQueue::new(db.clone());
    let travel = base(&db, "Travel", DEFAULT).await;
    let mut claims = Vec::new();
    for text in ["one", "two", "three"] {
        document(&db, travel, text).await;
        claims.push(claim(&db, NOW).await.unwrap().claim);
    }
    let reservations = claims.iter().map(|it| queue.reserve(*it, 40, 100, NOW));
    let outcomes: Vec<ReservationOutcome> =
        join_all(reservations).await.into_iter().map(Result::unwrap).collect();
    let is_reserved = |it: &ReservationOutcome| *it == ReservationOutcome::Done;
    assert_eq!(outcomes.iter().filter(|it| is_reserved(it)).count(), 2);

    // What was charged counts instead of what was reserved.
    let holder = claims[outcomes.iter().position(is_reserved).unwrap()];
    let waiting = claims[outcomes.iter().position(|it| !is_reserved(it)).unwrap()];
    let new = chunk(0, "x");
    assert!(queue.put_chunks(holder, new_chunks(MODEL, vec![new.clone()])).await.unwrap());
    assert!(queue.put_vectors(holder, vec![(new.id, vector(1.0), 20)], NOW).await.unwrap());
    assert_eq!(
        queue.reserve(waiting, 41, 100, NOW).await.unwrap(),
        ReservationOutcome::QuotaExceeded
    );
    assert_eq!(queue.reserve(waiting, 40, 100, NOW).await.unwrap(), ReservationOutcome::Done);
    // The next month has its own tokens.
    let next = NOW + Duration::from_hours(24 * 40);
    assert_eq!(queue.reserve(waiting, 60, 100, next).await.unwrap(), ReservationOutcome::Done);
}

async fn a_document_is_tried_again_when_it_is_due(db: Database) {
    let queue = SqlIngestQueue::new(db.clone());
    let travel = base(&db, "Travel", DEFAULT).await;
    let id = document(&db, travel, "one").await;
    let job = claim(&db, NOW).await.unwrap();
    let later = NOW + Duration::from_mins(1);
    assert!(queue.fail(job.claim, "unavailable", Some(later)).await.unwrap());
    let waiting = SqlDocuments::new(db.clone()).find(of(travel, id)).await.unwrap().unwrap();
    assert_eq!(waiting.status, DocumentStatus::Pending);
    assert_eq!(waiting.error.as_deref(), Some("unavailable"));
    assert!(claim(&db, NOW).await.is_none());
    let again = claim(&db, later).await.unwrap();
    assert_eq!(again.failures, 1);
    // An outage is not the fault of the document.
    assert!(queue.postpone(again.claim, "outage", later).await.unwrap());
    assert!(!queue.postpone(again.claim, "outage", later).await.unwrap());
    assert_eq!(claim(&db, later).await.unwrap().failures, 1);
}
