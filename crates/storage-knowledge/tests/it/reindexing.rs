//! Contract tests of bases that are indexed again.

use futures_util::future::join_all;
use pia_kernel::{DocumentId, KnowledgeBaseId, SideEffects};
use pia_knowledge::{
    BaseStore, ChunkId, ChunkStore, Document, DocumentStatus, DocumentStore, IngestQueue,
};
use pia_storage::Database;
use pia_storage_knowledge::{SqlChunks, SqlDocuments, SqlIngestQueue, SqlKnowledgeBases};

use crate::fixture::{
    DEFAULT, MODEL, NOW, claim, create_base, create_document, embed, ingest, of, put, server,
};

/// Model with which bases are indexed again.
const OTHER: &str = "m2";

pia_testkit::contract! {
    all_documents_are_published_at_the_end,
    concurrent_workers_publish_all_documents_once,
    an_index_by_another_model_drops_documents_that_fail,
    an_index_by_the_same_model_keeps_documents_that_fail,
    a_deleted_document_is_not_waited_for,
    a_second_start_queues_only_failed_documents,
    another_model_starts_over,
    documents_that_are_added_meanwhile_are_published_with_the_others,
    a_replacement_by_the_same_model_is_not_held,
    the_first_document_determines_the_model,
    an_empty_base_has_no_model,
}

/// Base with ingested documents.
struct World {
    db: Database,
    base: KnowledgeBaseId,
    documents: Vec<DocumentId>,
    chunks: Vec<ChunkId>,
}

/// Models of a base.
#[derive(Debug, Default, PartialEq, Eq)]
struct Models {
    /// Model that embedded the published content.
    current: Option<String>,
    /// Model with which the base is indexed again.
    next: Option<String>,
}

impl World {
    async fn new(db: Database, texts: &[&str]) -> Self {
        let base = create_base(&db, "Travel", DEFAULT).await;
        let mut documents = Vec::new();
        let mut chunks = Vec::new();
        for text in texts {
            documents.push(create_document(&db, base, text).await);
            chunks.extend(ingest(&db).await);
        }
        Self { db, base, documents, chunks }
    }

    async fn reindex(&self, model: &str) -> Option<u64> {
        let documents = SqlDocuments::new(self.db.clone());
        documents.reindex(server(self.base), model, NOW, SideEffects::default()).await.unwrap()
    }

    async fn document(&self, id: DocumentId) -> Document {
        let documents = SqlDocuments::new(self.db.clone());
        documents.find(of(self.base, id)).await.unwrap().unwrap()
    }

    async fn models(&self) -> Models {
        let bases = SqlKnowledgeBases::new(self.db.clone());
        let entry = bases.find(server(self.base)).await.unwrap().unwrap();
        Models { current: entry.model, next: entry.reindex_model }
    }

    /// Returns the number of these chunks that searches find.
    async fn count_found(&self, chunks: &[ChunkId]) -> usize {
        SqlChunks::new(self.db.clone()).passages(chunks).await.unwrap().len()
    }

    /// Returns the chunks whose points are to be removed, in order.
    async fn list_removed(&self) -> Vec<ChunkId> {
        SqlChunks::new(self.db.clone()).list_removed(99).await.unwrap()
    }

    fn queue(&self) -> SqlIngestQueue {
        SqlIngestQueue::new(self.db.clone())
    }
}

fn models(current: &str, next: Option<&str>) -> Models {
    Models { current: Some(current.to_owned()), next: next.map(str::to_owned) }
}

async fn all_documents_are_published_at_the_end(db: Database) {
    let world = World::new(db.clone(), &["one two", "three"]).await;
    assert_eq!(world.models().await, models(MODEL, None));

    assert_eq!(world.reindex(OTHER).await, Some(2));
    let (first_claim, first_chunks) = embed(&db, OTHER).await;
    assert!(world.queue().publish(first_claim).await.unwrap());

    // Searches find the previous content of all documents.
    assert_eq!(world.count_found(&world.chunks).await, 3);
    assert_eq!(world.count_found(&first_chunks).await, 0);
    assert_eq!(world.models().await, models(MODEL, Some(OTHER)));
    let held_document = world.document(first_claim.document).await;
    assert_eq!(held_document.status, DocumentStatus::Processing);
    assert!(!world.queue().publish(first_claim).await.unwrap());
    world.queue().release_all(NOW).await.unwrap();

    let (last_claim, last_chunks) = embed(&db, OTHER).await;
    assert_ne!(last_claim.document, first_claim.document);
    assert!(world.queue().publish(last_claim).await.unwrap());

    assert!(claim(&db, NOW).await.is_none());
    assert_eq!(world.count_found(&world.chunks).await, 0);
    assert_eq!(world.count_found(&[first_chunks, last_chunks].concat()).await, 3);
    assert_eq!(world.list_removed().await.len(), 3);
    assert_eq!(world.models().await, models(OTHER, None));
    for id in &world.documents {
        let document = world.document(*id).await;
        assert_eq!(document.status, DocumentStatus::Ready);
        assert_eq!(document.tokens, 2 * document.chunk_count);
    }

    let unknown = server(KnowledgeBaseId::generate());
    let documents = SqlDocuments::new(db);
    let unknown = documents.reindex(unknown, OTHER, NOW, SideEffects::default()).await;
    assert_eq!(unknown.unwrap(), None);
}

async fn concurrent_workers_publish_all_documents_once(db: Database) {
    let world = World::new(db.clone(), &["one", "two", "three"]).await;
    assert_eq!(world.reindex(OTHER).await, Some(3));
    let mut claims = Vec::new();
    let mut chunks = Vec::new();
    for _ in 0..3 {
        let (claim, new_chunks) = embed(&db, OTHER).await;
        claims.push(claim);
        chunks.extend(new_chunks);
    }

    let queue = world.queue();
    let outcomes = join_all(claims.iter().map(|it| queue.publish(*it))).await;

    assert!(outcomes.into_iter().all(Result::unwrap));
    assert_eq!(world.models().await, models(OTHER, None));
    assert_eq!(world.count_found(&world.chunks).await, 0);
    assert_eq!(world.count_found(&chunks).await, 3);
    let mut old_chunks = world.chunks.clone();
    old_chunks.sort();
    assert_eq!(world.list_removed().await, old_chunks);
}

async fn an_index_by_another_model_drops_documents_that_fail(db: Database) {
    let world = World::new(db.clone(), &["one", "two"]).await;
    world.reindex(OTHER).await;
    let (first_claim, new_chunks) = embed(&db, OTHER).await;
    assert!(world.queue().publish(first_claim).await.unwrap());
    let last_claim = claim(&db, NOW).await.unwrap().claim;
    let id = last_claim.document;

    assert!(world.queue().fail(last_claim, "damaged", None).await.unwrap());

    assert_eq!(world.models().await, models(OTHER, None));
    assert_eq!(world.count_found(&world.chunks).await, 0);
    assert_eq!(world.count_found(&new_chunks).await, 1);

    let failed_document = world.document(id).await;
    assert_eq!(failed_document.status, DocumentStatus::Failed);
    assert_eq!(failed_document.chunk_count, 0);
    assert_eq!(failed_document.error.as_deref(), Some("damaged"));

    // It is published at once if it succeeds later.
    let documents = SqlDocuments::new(db.clone());
    assert!(documents.retry(of(world.base, id), NOW, SideEffects::default()).await.unwrap());

    let (retried_claim, retried_chunks) = embed(&db, OTHER).await;
    assert!(world.queue().publish(retried_claim).await.unwrap());
    assert_eq!(world.count_found(&retried_chunks).await, 1);
}

async fn an_index_by_the_same_model_keeps_documents_that_fail(db: Database) {
    let world = World::new(db.clone(), &["one", "two"]).await;
    world.reindex(MODEL).await;
    let failed = claim(&db, NOW).await.unwrap().claim;
    assert!(world.queue().fail(failed, "damaged", None).await.unwrap());
    assert_eq!(world.models().await, models(MODEL, Some(MODEL)));

    let (last_claim, new_chunks) = embed(&db, MODEL).await;
    assert!(world.queue().publish(last_claim).await.unwrap());

    assert_eq!(world.models().await, models(MODEL, None));
    assert_eq!(world.count_found(&world.chunks).await, 1);
    assert_eq!(world.count_found(&new_chunks).await, 1);
    let failed = world.document(failed.document).await;
    assert_eq!(failed.status, DocumentStatus::Failed);
    assert_eq!(failed.chunk_count, 1);
}

async fn a_deleted_document_is_not_waited_for(db: Database) {
    let world = World::new(db.clone(), &["one", "two"]).await;
    world.reindex(OTHER).await;
    let (first_claim, new_chunks) = embed(&db, OTHER).await;
    assert!(world.queue().publish(first_claim).await.unwrap());
    let waiting = world.documents.iter().find(|it| **it != first_claim.document).unwrap();

    let documents = SqlDocuments::new(db);
    let waiting = of(world.base, *waiting);
    assert!(documents.delete(waiting, SideEffects::default()).await.unwrap());

    assert_eq!(world.models().await, models(OTHER, None));
    assert_eq!(world.count_found(&world.chunks).await, 0);
    assert_eq!(world.count_found(&new_chunks).await, 1);
}

async fn a_second_start_queues_only_failed_documents(db: Database) {
    let world = World::new(db.clone(), &["one", "two", "three"]).await;
    world.reindex(OTHER).await;
    let (held_claim, _) = embed(&db, OTHER).await;
    assert!(world.queue().publish(held_claim).await.unwrap());
    let failed_claim = claim(&db, NOW).await.unwrap().claim;
    assert!(world.queue().fail(failed_claim, "damaged", None).await.unwrap());
    let working_claim = claim(&db, NOW).await.unwrap().claim;

    assert_eq!(world.reindex(OTHER).await, Some(1));

    assert!(world.queue().extend(working_claim, NOW).await.unwrap());
    assert_eq!(world.document(held_claim.document).await.status, DocumentStatus::Processing);
    assert_eq!(world.document(failed_claim.document).await.status, DocumentStatus::Pending);
}

async fn another_model_starts_over(db: Database) {
    let world = World::new(db.clone(), &["one", "two"]).await;
    world.reindex(OTHER).await;
    let (held_claim, new_chunks) = embed(&db, OTHER).await;
    assert!(world.queue().publish(held_claim).await.unwrap());
    let working_claim = claim(&db, NOW).await.unwrap().claim;

    assert_eq!(world.reindex("m3").await, Some(2));

    assert!(!world.queue().extend(working_claim, NOW).await.unwrap());
    assert_eq!(world.list_removed().await, new_chunks);
    for _ in 0..2 {
        let (claim, _) = embed(&db, "m3").await;
        assert!(world.queue().publish(claim).await.unwrap());
    }
    assert_eq!(world.models().await, models("m3", None));
}

async fn documents_that_are_added_meanwhile_are_published_with_the_others(db: Database) {
    let world = World::new(db.clone(), &["one"]).await;
    world.reindex(OTHER).await;
    let (reindexed_claim, _) = embed(&db, OTHER).await;
    create_document(&db, world.base, "two").await;
    let (added_claim, added_chunks) = embed(&db, OTHER).await;

    assert!(world.queue().publish(added_claim).await.unwrap());
    assert_eq!(world.count_found(&added_chunks).await, 0);
    assert!(world.queue().publish(reindexed_claim).await.unwrap());

    assert_eq!(world.count_found(&world.chunks).await, 0);
    assert_eq!(world.count_found(&added_chunks).await, 1);
}

async fn a_replacement_by_the_same_model_is_not_held(db: Database) {
    let base = create_base(&db, "Travel", DEFAULT).await;
    put(&db, base, Some("a"), "one").await;
    let old_chunks = ingest(&db).await;
    let world = World { db: db.clone(), base, documents: Vec::new(), chunks: old_chunks };
    assert_eq!(world.reindex(MODEL).await, Some(1));

    put(&db, base, Some("a"), "two").await;
    let (claim, new_chunks) = embed(&db, MODEL).await;
    assert!(world.queue().publish(claim).await.unwrap());

    assert_eq!(world.count_found(&world.chunks).await, 0);
    assert_eq!(world.count_found(&new_chunks).await, 1);
    assert_eq!(world.models().await, models(MODEL, None));
}

async fn the_first_document_determines_the_model(db: Database) {
    let world = World::new(db.clone(), &[]).await;
    create_document(&db, world.base, "one").await;
    create_document(&db, world.base, "two").await;
    let (first_claim, _) = embed(&db, MODEL).await;
    let (second_claim, _) = embed(&db, OTHER).await;

    assert!(world.queue().publish(first_claim).await.unwrap());
    assert!(!world.queue().publish(second_claim).await.unwrap());

    let repeated_job = claim(&db, NOW).await.unwrap();
    assert_eq!(repeated_job.failures, 0);
    assert_eq!(repeated_job.model.as_deref(), Some(MODEL));
    assert_eq!(repeated_job.split_for.as_deref(), Some(OTHER));
}

async fn an_empty_base_has_no_model(db: Database) {
    let world = World::new(db.clone(), &["one"]).await;
    let documents = SqlDocuments::new(db);
    let only_document = of(world.base, world.documents[0]);

    assert!(documents.delete(only_document, SideEffects::default()).await.unwrap());

    assert_eq!(world.models().await, Models::default());
    assert_eq!(world.reindex(OTHER).await, Some(0));
    assert_eq!(world.models().await, Models::default());
}
