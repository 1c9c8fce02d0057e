//! Contract tests of the queue of ingestion.

use std::collections::HashSet;
use std::time::Duration;

use futures_util::future::join_all;
use pia_kernel::SideEffects;
use pia_knowledge::{
    ChunkContext, ChunkStore, DocumentStatus, DocumentStore, IngestClaim, IngestJob, IngestQueue,
    IngestionProgress, NewChunk, NewChunks, ReservationOutcome,
};
use pia_storage::Database;
use pia_storage_knowledge::{SqlChunks, SqlDocuments, SqlIngestQueue};

use crate::fixture::{
    DEFAULT, LEASE, MODEL, NOW, chunk, claim, create_base, create_document, create_group, ingest,
    new_chunks, of, put, server, vector_of,
};

pia_testkit::contract! {
    concurrent_workers_claim_each_document_once,
    bases_are_served_in_turn,
    a_claim_is_held_until_it_expires,
    a_claim_that_expired_is_lost,
    a_chunk_with_a_vector_is_not_pending,
    publishing_ends_a_claim,
    all_claims_are_released,
    new_content_ends_a_claim,
    deleting_a_document_ends_a_claim,
    chunks_that_did_not_change_keep_their_vectors,
    the_beginning_joins_the_first_chunks,
    storing_contexts_ends_a_series_of_failures,
    contexts_are_stored_and_charged,
    chunks_that_did_not_change_keep_their_contexts,
    points_of_chunks_that_are_gone_are_discarded,
    contexts_outlive_a_change_of_the_model,
    published_chunks_without_a_context_get_one,
    published_chunks_keep_their_vectors_if_no_contexts_are_needed,
    concurrent_reservations_do_not_exceed_the_quota,
    charged_tokens_count_instead_of_reserved_ones,
    a_month_has_its_own_tokens,
    a_document_is_tried_again_when_it_is_due,
    an_outage_is_not_a_failure_of_the_document,
}

/// Maximum number of chunks that is requested: more than any document has.
const LIMIT: usize = 9;
/// Monthly tokens of a group.
const QUOTA: i64 = 100;
/// Tokens of a reservation: two of them fit in the quota, three do not.
const RESERVED: i64 = 40;
/// Tokens that are charged instead of a reservation.
const CHARGED: i64 = 20;

/// Claims the document that is due, and stores its new chunks.
async fn claim_with_chunks(db: &Database, chunks: &[NewChunk]) -> IngestJob {
    let job = claim(db, NOW).await.unwrap();
    let new_content = new_chunks(MODEL, chunks.to_vec());
    assert!(SqlIngestQueue::new(db.clone()).put_chunks(job.claim, new_content).await.unwrap());
    job
}

/// Ingests and publishes the document that is due, with these chunks and contexts.
async fn publish(db: &Database, chunks: &[NewChunk], contexts: Vec<ChunkContext>) {
    let queue = SqlIngestQueue::new(db.clone());
    let job = claim_with_chunks(db, chunks).await;
    let vectors = chunks.iter().map(|it| vector_of(it.id, 1)).collect();
    assert!(queue.put_contexts(job.claim, contexts, NOW).await.unwrap());
    assert!(queue.put_vectors(job.claim, vectors, NOW).await.unwrap());
    assert!(queue.publish(job.claim).await.unwrap());
}

fn context(chunk: &NewChunk, text: &str) -> ChunkContext {
    ChunkContext { chunk: chunk.id, text: text.to_owned(), tokens: 1 }
}

/// Claims three documents of one base.
async fn claim_three(db: &Database) -> [IngestClaim; 3] {
    let travel = create_base(db, "Travel", DEFAULT).await;
    let mut claims = Vec::new();
    for text in ["one", "two", "three"] {
        create_document(db, travel, text).await;
        claims.push(claim(db, NOW).await.unwrap().claim);
    }
    claims.try_into().unwrap()
}

/// Returns a claim without a reservation, of a group that has reserved [`RESERVED`]
/// tokens for one document and was [`CHARGED`] for another one.
async fn waiting_claim(db: &Database) -> IngestClaim {
    let queue = SqlIngestQueue::new(db.clone());
    let [reserving, charged, waiting] = claim_three(db).await;
    for holder in [reserving, charged] {
        let outcome = queue.reserve(holder, RESERVED, QUOTA, NOW).await.unwrap();
        assert_eq!(outcome, ReservationOutcome::Done);
    }

    let new_chunk = chunk(0, "x");
    let vectors = vec![vector_of(new_chunk.id, CHARGED)];
    assert!(queue.put_chunks(charged, new_chunks(MODEL, vec![new_chunk])).await.unwrap());
    assert!(queue.put_vectors(charged, vectors, NOW).await.unwrap());
    waiting
}

async fn concurrent_workers_claim_each_document_once(db: Database) {
    let workers = 12;
    let travel = create_base(&db, "Travel", DEFAULT).await;
    let mut ids = HashSet::new();
    for text in ["one", "two", "three"] {
        ids.insert(create_document(&db, travel, text).await);
    }
    let jobs = join_all((0..workers).map(|_| claim(&db, NOW))).await;
    let claimed: Vec<_> = jobs.into_iter().flatten().map(|it| it.claim.document).collect();

    assert_eq!(claimed.len(), ids.len());
    assert_eq!(HashSet::from_iter(claimed), ids);
}

async fn bases_are_served_in_turn(db: Database) {
    let sales = create_group(&db, "Sales").await;
    let minute = Duration::from_mins(1);
    let large = create_base(&db, "Large", DEFAULT).await;
    let small_base = create_base(&db, "Small", sales).await;
    for text in ["one", "two", "three"] {
        create_document(&db, large, text).await;
    }
    create_document(&db, small_base, "four").await;
    let mut served = Vec::new();
    for at in 1..4 {
        served.push(claim(&db, NOW + minute * at).await.unwrap().base);
    }

    assert_eq!(served.iter().filter(|it| **it == small_base).count(), 1, "{served:?}");
    assert_ne!(served[2], small_base);
}

async fn a_claim_is_held_until_it_expires(db: Database) {
    let queue = SqlIngestQueue::new(db.clone());
    let travel = create_base(&db, "Travel", DEFAULT).await;
    create_document(&db, travel, "one").await;
    let job = claim(&db, NOW).await.unwrap();
    assert!(claim(&db, NOW + LEASE / 2).await.is_none());

    assert!(queue.extend(job.claim, NOW + LEASE * 2).await.unwrap());

    assert!(claim(&db, NOW + LEASE).await.is_none());
    assert!(claim(&db, NOW + LEASE * 2).await.is_some());
}

async fn a_claim_that_expired_is_lost(db: Database) {
    let queue = SqlIngestQueue::new(db.clone());
    let travel = create_base(&db, "Travel", DEFAULT).await;
    create_document(&db, travel, "one").await;
    let new_chunk = chunk(0, "one");
    let lost_claim = claim_with_chunks(&db, std::slice::from_ref(&new_chunk)).await.claim;

    let job = claim(&db, NOW + LEASE).await.unwrap();

    assert_eq!(job.split_for.as_deref(), Some(MODEL));
    assert!(job.claim.fence > lost_claim.fence);
    // The worker may have died of the document.
    assert_eq!(job.failures, 1);

    let vectors = vec![vector_of(new_chunk.id, 1)];
    assert!(!queue.extend(lost_claim, NOW).await.unwrap());
    assert!(!queue.put_chunks(lost_claim, new_chunks(MODEL, Vec::new())).await.unwrap());
    assert!(!queue.put_vectors(lost_claim, vectors.clone(), NOW).await.unwrap());
    assert_eq!(queue.reserve(lost_claim, 1, QUOTA, NOW).await.unwrap(), ReservationOutcome::Lost);
    assert!(!queue.publish(lost_claim).await.unwrap());
    assert!(!queue.fail(lost_claim, "x", None).await.unwrap());
    assert!(queue.put_vectors(job.claim, vectors, NOW).await.unwrap());
}

async fn a_chunk_with_a_vector_is_not_pending(db: Database) {
    let queue = SqlIngestQueue::new(db.clone());
    let travel = create_base(&db, "Travel", DEFAULT).await;
    create_document(&db, travel, "one").await;
    let job = claim_with_chunks(&db, &[chunk(0, "one")]).await;
    let pending_chunks = queue.pending(job.claim, LIMIT).await.unwrap();

    let vectors = vec![vector_of(pending_chunks[0].id, 1)];
    assert!(queue.put_vectors(job.claim, vectors, NOW).await.unwrap());

    assert!(queue.pending(job.claim, LIMIT).await.unwrap().is_empty());
    assert_eq!(queue.load_embedded(job.claim, 0, LIMIT).await.unwrap().len(), 1);
    assert!(queue.load_embedded(job.claim, 1, LIMIT).await.unwrap().is_empty());
}

async fn publishing_ends_a_claim(db: Database) {
    let queue = SqlIngestQueue::new(db.clone());
    let travel = create_base(&db, "Travel", DEFAULT).await;
    create_document(&db, travel, "one").await;
    let new_chunk = chunk(0, "one");
    let job = claim_with_chunks(&db, std::slice::from_ref(&new_chunk)).await;
    let vectors = vec![vector_of(new_chunk.id, 1)];
    assert!(queue.put_vectors(job.claim, vectors, NOW).await.unwrap());

    assert!(queue.publish(job.claim).await.unwrap());

    assert!(!queue.publish(job.claim).await.unwrap());
    let contexts = vec![context(&new_chunk, "About one.")];
    assert!(!queue.put_contexts(job.claim, contexts, NOW).await.unwrap());
}

async fn all_claims_are_released(db: Database) {
    let queue = SqlIngestQueue::new(db.clone());
    let travel = create_base(&db, "Travel", DEFAULT).await;
    create_document(&db, travel, "one").await;
    let first_job = claim(&db, NOW).await.unwrap();
    queue.release_all(NOW).await.unwrap();
    assert!(!queue.extend(first_job.claim, NOW).await.unwrap());
    let second_job = claim(&db, NOW).await.unwrap();
    assert_eq!(second_job.claim.document, first_job.claim.document);
    assert_eq!(second_job.failures, 1);
}

async fn new_content_ends_a_claim(db: Database) {
    let queue = SqlIngestQueue::new(db.clone());
    let travel = create_base(&db, "Travel", DEFAULT).await;
    put(&db, travel, Some("a"), "one").await;
    let old_chunk = chunk(0, "one");
    let first_job = claim_with_chunks(&db, std::slice::from_ref(&old_chunk)).await;

    put(&db, travel, Some("a"), "two").await;

    assert!(!queue.publish(first_job.claim).await.unwrap());
    // The worker may have stored its point.
    assert_eq!(SqlChunks::new(db.clone()).list_removed(LIMIT).await.unwrap(), [old_chunk.id]);
    let second_job = claim(&db, NOW).await.unwrap();
    assert_eq!(second_job.content, b"two");
    assert_eq!(second_job.split_for, None);
}

async fn deleting_a_document_ends_a_claim(db: Database) {
    let queue = SqlIngestQueue::new(db.clone());
    let documents = SqlDocuments::new(db.clone());
    let travel = create_base(&db, "Travel", DEFAULT).await;
    let id = create_document(&db, travel, "one").await;
    let job = claim(&db, NOW).await.unwrap();

    assert!(documents.delete(of(travel, id), SideEffects::default()).await.unwrap());

    let chunks = new_chunks(MODEL, vec![chunk(0, "one")]);
    assert!(!queue.put_chunks(job.claim, chunks).await.unwrap());
}

async fn chunks_that_did_not_change_keep_their_vectors(db: Database) {
    let queue = SqlIngestQueue::new(db.clone());
    let travel = create_base(&db, "Travel", DEFAULT).await;
    put(&db, travel, Some("a"), "one two").await;
    ingest(&db).await;
    put(&db, travel, Some("a"), "one three").await;

    let chunks = [chunk(0, "one"), chunk(1, "three")];
    let job = claim_with_chunks(&db, &chunks).await;

    let pending_chunks = queue.pending(job.claim, LIMIT).await.unwrap();
    assert_eq!(pending_chunks.iter().map(|it| it.id).collect::<Vec<_>>(), [chunks[1].id]);
    let document = SqlDocuments::new(db.clone()).find(of(travel, job.claim.document)).await;
    let progress = document.unwrap().unwrap().progress;
    assert_eq!(progress, Some(IngestionProgress { embedded: 1, total: 2 }));
}

async fn the_beginning_joins_the_first_chunks(db: Database) {
    let queue = SqlIngestQueue::new(db.clone());
    let travel = create_base(&db, "Travel", DEFAULT).await;
    create_document(&db, travel, "one").await;

    let job = claim_with_chunks(&db, &[chunk(0, "one"), chunk(1, "two")]).await;

    assert_eq!(queue.beginning(job.claim).await.unwrap(), "one\ntwo");
}

async fn storing_contexts_ends_a_series_of_failures(db: Database) {
    let queue = SqlIngestQueue::new(db.clone());
    let travel = create_base(&db, "Travel", DEFAULT).await;
    create_document(&db, travel, "one").await;
    claim(&db, NOW).await.unwrap();
    let job = claim(&db, NOW + LEASE).await.unwrap();
    assert_eq!(job.failures, 1);
    let new_chunk = chunk(0, "one");
    let contexts = vec![context(&new_chunk, "About one.")];
    assert!(queue.put_chunks(job.claim, new_chunks(MODEL, vec![new_chunk])).await.unwrap());

    assert!(queue.put_contexts(job.claim, contexts, NOW).await.unwrap());

    assert!(queue.postpone(job.claim, "outage", NOW).await.unwrap());
    let retried_job = claim(&db, NOW).await.unwrap();
    assert_eq!(retried_job.failures, 0);
    let pending_chunks = queue.pending(retried_job.claim, LIMIT).await.unwrap();
    assert_eq!(pending_chunks[0].context.as_deref(), Some("About one."));
}

async fn contexts_are_stored_and_charged(db: Database) {
    let queue = SqlIngestQueue::new(db.clone());
    let travel = create_base(&db, "Travel", DEFAULT).await;
    create_document(&db, travel, "one").await;
    let chunks = [chunk(0, "one"), chunk(1, "two")];
    let job = claim_with_chunks(&db, &chunks).await;

    let contexts = vec![ChunkContext { tokens: CHARGED, ..context(&chunks[0], "About one.") }];
    assert!(queue.put_contexts(job.claim, contexts, NOW).await.unwrap());

    let pending_chunks = queue.pending(job.claim, LIMIT).await.unwrap();
    assert_eq!(pending_chunks[0].context.as_deref(), Some("About one."));
    assert_eq!(pending_chunks[1].context, None);

    let too_many_tokens = QUOTA - CHARGED + 1;
    let outcome = queue.reserve(job.claim, too_many_tokens, QUOTA, NOW).await.unwrap();
    assert_eq!(outcome, ReservationOutcome::QuotaExceeded);

    let vectors = pending_chunks.iter().map(|it| vector_of(it.id, 1)).collect();
    assert!(queue.put_vectors(job.claim, vectors, NOW).await.unwrap());
    let embedded = queue.load_embedded(job.claim, 0, LIMIT).await.unwrap();
    assert_eq!(embedded[0].context, "About one.");
}

async fn chunks_that_did_not_change_keep_their_contexts(db: Database) {
    let queue = SqlIngestQueue::new(db.clone());
    let travel = create_base(&db, "Travel", DEFAULT).await;
    put(&db, travel, Some("a"), "one two").await;
    let chunks = [chunk(0, "one"), chunk(1, "two")];
    publish(&db, &chunks, vec![context(&chunks[0], "About one.")]).await;
    put(&db, travel, Some("a"), "one").await;

    let job = claim_with_chunks(&db, &[chunk(0, "one")]).await;

    assert!(queue.pending(job.claim, LIMIT).await.unwrap().is_empty());
    let embedded = queue.load_embedded(job.claim, 0, LIMIT).await.unwrap();
    assert_eq!(embedded[0].context, "About one.");
}

async fn points_of_chunks_that_are_gone_are_discarded(db: Database) {
    let queue = SqlIngestQueue::new(db.clone());
    let travel = create_base(&db, "Travel", DEFAULT).await;
    create_document(&db, travel, "one").await;
    let published = ingest(&db).await;
    create_document(&db, travel, "two").await;
    let new_chunk = chunk(0, "two");
    let missing_chunk = chunk(1, "three").id;
    claim_with_chunks(&db, std::slice::from_ref(&new_chunk)).await;

    queue.discard(&[published[0], new_chunk.id, missing_chunk]).await.unwrap();
    queue.discard(&[missing_chunk]).await.unwrap();

    assert_eq!(SqlChunks::new(db).list_removed(LIMIT).await.unwrap(), [missing_chunk]);
}

async fn contexts_outlive_a_change_of_the_model(db: Database) {
    let queue = SqlIngestQueue::new(db.clone());
    let documents = SqlDocuments::new(db.clone());
    let travel = create_base(&db, "Travel", DEFAULT).await;
    put(&db, travel, Some("a"), "one two").await;
    let chunks = [chunk(0, "one"), chunk(1, "two")];
    let contexts = vec![context(&chunks[0], "About one."), context(&chunks[1], "")];
    publish(&db, &chunks, contexts).await;
    documents.reindex(server(travel), "m2", NOW, SideEffects::default()).await.unwrap();

    let job = claim(&db, NOW).await.unwrap();
    let chunks = vec![chunk(0, "one"), chunk(1, "two"), chunk(2, "three")];
    let new_content = NewChunks { needs_contexts: true, ..new_chunks("m2", chunks) };
    assert!(queue.put_chunks(job.claim, new_content).await.unwrap());

    let pending_chunks = queue.pending(job.claim, LIMIT).await.unwrap();
    let contexts: Vec<_> = pending_chunks.iter().map(|it| it.context.as_deref()).collect();
    assert_eq!(contexts, [Some("About one."), Some(""), None]);
}

/// Publishes a document of two chunks, the first of them with a context, and
/// claims it again for its new index.
async fn claim_reindexed(db: &Database) -> IngestJob {
    let documents = SqlDocuments::new(db.clone());
    let travel = create_base(db, "Travel", DEFAULT).await;
    put(db, travel, Some("a"), "one two").await;
    let chunks = [chunk(0, "one"), chunk(1, "two")];
    publish(db, &chunks, vec![context(&chunks[0], "About one.")]).await;
    documents.reindex(server(travel), MODEL, NOW, SideEffects::default()).await.unwrap();
    claim(db, NOW).await.unwrap()
}

async fn published_chunks_without_a_context_get_one(db: Database) {
    let queue = SqlIngestQueue::new(db.clone());
    let job = claim_reindexed(&db).await;

    let chunks = vec![chunk(0, "one"), chunk(1, "two")];
    let new_content = NewChunks { needs_contexts: true, ..new_chunks(MODEL, chunks) };
    assert!(queue.put_chunks(job.claim, new_content).await.unwrap());

    let pending_chunks = queue.pending(job.claim, LIMIT).await.unwrap();
    assert_eq!(pending_chunks.iter().map(|it| it.text.as_str()).collect::<Vec<_>>(), ["two"]);
}

async fn published_chunks_keep_their_vectors_if_no_contexts_are_needed(db: Database) {
    let queue = SqlIngestQueue::new(db.clone());
    let job = claim_reindexed(&db).await;

    let chunks = vec![chunk(0, "one"), chunk(1, "two")];
    assert!(queue.put_chunks(job.claim, new_chunks(MODEL, chunks)).await.unwrap());

    assert!(queue.pending(job.claim, LIMIT).await.unwrap().is_empty());
    let embedded = queue.load_embedded(job.claim, 0, LIMIT).await.unwrap();
    let contexts: Vec<_> = embedded.iter().map(|it| it.context.as_str()).collect();
    assert_eq!(contexts, ["About one.", ""]);
}

async fn concurrent_reservations_do_not_exceed_the_quota(db: Database) {
    let queue = SqlIngestQueue::new(db.clone());
    let claims = claim_three(&db).await;

    let reservations = claims.iter().map(|it| queue.reserve(*it, RESERVED, QUOTA, NOW));
    let outcomes: Vec<ReservationOutcome> =
        join_all(reservations).await.into_iter().map(Result::unwrap).collect();

    let reserved_count = outcomes.iter().filter(|it| **it == ReservationOutcome::Done).count();
    assert_eq!(reserved_count, 2);
}

async fn charged_tokens_count_instead_of_reserved_ones(db: Database) {
    let queue = SqlIngestQueue::new(db.clone());
    let waiting = waiting_claim(&db).await;
    let free_tokens = QUOTA - RESERVED - CHARGED;

    let too_many_outcome = queue.reserve(waiting, free_tokens + 1, QUOTA, NOW).await.unwrap();
    let exact_outcome = queue.reserve(waiting, free_tokens, QUOTA, NOW).await.unwrap();

    assert_eq!(too_many_outcome, ReservationOutcome::QuotaExceeded);
    assert_eq!(exact_outcome, ReservationOutcome::Done);
}

async fn a_month_has_its_own_tokens(db: Database) {
    let queue = SqlIngestQueue::new(db.clone());
    let waiting = waiting_claim(&db).await;
    let next_month = NOW + Duration::from_hours(24 * 40);

    // The open reservation of the other document counts in any month.
    let free_tokens = QUOTA - RESERVED;
    let outcome = queue.reserve(waiting, free_tokens, QUOTA, next_month).await.unwrap();

    assert_eq!(outcome, ReservationOutcome::Done);
}

async fn a_document_is_tried_again_when_it_is_due(db: Database) {
    let queue = SqlIngestQueue::new(db.clone());
    let travel = create_base(&db, "Travel", DEFAULT).await;
    let id = create_document(&db, travel, "one").await;
    let job = claim(&db, NOW).await.unwrap();
    let retry_at = NOW + Duration::from_mins(1);

    assert!(queue.fail(job.claim, "unavailable", Some(retry_at)).await.unwrap());

    let pending_document =
        SqlDocuments::new(db.clone()).find(of(travel, id)).await.unwrap().unwrap();
    assert_eq!(pending_document.status, DocumentStatus::Pending);
    assert_eq!(pending_document.error.as_deref(), Some("unavailable"));
    assert!(claim(&db, NOW).await.is_none());
    assert_eq!(claim(&db, retry_at).await.unwrap().failures, 1);
}

async fn an_outage_is_not_a_failure_of_the_document(db: Database) {
    let queue = SqlIngestQueue::new(db.clone());
    let travel = create_base(&db, "Travel", DEFAULT).await;
    create_document(&db, travel, "one").await;
    let first_job = claim(&db, NOW).await.unwrap();
    assert!(queue.fail(first_job.claim, "unavailable", Some(NOW)).await.unwrap());
    let second_job = claim(&db, NOW).await.unwrap();

    assert!(queue.postpone(second_job.claim, "outage", NOW).await.unwrap());

    assert!(!queue.postpone(second_job.claim, "outage", NOW).await.unwrap());
    assert_eq!(claim(&db, NOW).await.unwrap().failures, 1);
}
