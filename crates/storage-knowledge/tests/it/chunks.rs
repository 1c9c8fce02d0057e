//! Contract tests of published chunks.

use pia_kernel::{DocumentId, PersonaId, SideEffects};
use pia_knowledge::{BaseStore, ChunkId, ChunkStore, DocumentStore};
use pia_policy::{PersonaDraft, PersonaStore, PersonaUpdate};
use pia_storage::Database;
use pia_storage_knowledge::{SqlChunks, SqlDocuments, SqlKnowledgeBases};
use pia_storage_policy::SqlManagedPersonas;

use crate::fixture::{
    DEFAULT, NOW, QUOTAS, create_base, create_document, create_group, create_persona, exactly,
    ingest, of, server,
};

pia_testkit::contract! {
    a_member_searches_own_shared_and_bound_bases,
    passages_have_their_neighbours,
    the_texts_of_a_document_are_its_published_chunks_in_order,
    retrievals_are_counted,
    misses_are_counted_for_each_base,
    removed_points_are_queued_until_they_are_forgotten,
    published_chunks_are_listed_by_id,
}

async fn a_member_searches_own_shared_and_bound_bases(db: Database) {
    let store = SqlChunks::new(db.clone());
    let bases = SqlKnowledgeBases::new(db.clone());
    let sales = create_group(&db, "Sales").await;
    let other_group = create_group(&db, "Other").await;
    let nothing = SideEffects::default;
    let own_base = create_base(&db, "Own", sales).await;
    let shared_base = create_base(&db, "Shared", DEFAULT).await;
    let bound_base = create_base(&db, "Bound", DEFAULT).await;
    let foreign_base = create_base(&db, "Foreign", other_group).await;
    create_base(&db, "Empty", sales).await;
    for (at, base) in [own_base, shared_base, bound_base, foreign_base].into_iter().enumerate() {
        create_document(&db, base, &format!("text{at}")).await;
        ingest(&db).await;
    }
    bases.share(shared_base, exactly(&[sales]), QUOTAS, nothing()).await.unwrap();
    let ada = create_persona(&db, &[sales]).await;
    let eve = create_persona(&db, &[other_group]).await;
    bases.bind(ada, &[bound_base], QUOTAS, nothing()).await.unwrap();
    bases.bind(eve, &[foreign_base], QUOTAS, nothing()).await.unwrap();

    let searched = async |persona: Option<PersonaId>| {
        let bases = store.searched_bases(sales, persona).await.unwrap();
        bases.into_iter().map(|it| it.id).collect::<Vec<_>>()
    };
    assert_eq!(searched(None).await, [own_base, shared_base]);
    assert_eq!(searched(Some(ada)).await, [bound_base, own_base, shared_base]);
    assert_eq!(searched(Some(eve)).await, [own_base, shared_base]);
    assert_eq!(searched(Some(PersonaId::generate())).await, [own_base, shared_base]);

    let draft = PersonaDraft {
        name: Some("Ada".to_owned()),
        system_prompt: Some("x".to_owned()),
        ..PersonaDraft::default()
    };
    let content = draft.validate().unwrap();
    let update = PersonaUpdate { content, is_active: Some(false), at: NOW, expected: None };
    SqlManagedPersonas::new(db.clone()).replace(ada, update, nothing()).await.unwrap();

    assert_eq!(searched(Some(ada)).await, [own_base, shared_base]);
}

async fn passages_have_their_neighbours(db: Database) {
    let store = SqlChunks::new(db.clone());
    let travel = create_base(&db, "Travel", DEFAULT).await;
    let id = create_document(&db, travel, "one two three").await;
    let chunks = ingest(&db).await;

    let passages = store.passages(&[chunks[1], ChunkId::generate()]).await.unwrap();
    assert_eq!(passages.len(), 1);
    let passage = &passages[0];
    assert_eq!(passage.base, travel);
    assert_eq!(passage.document, id);
    assert_eq!(passage.text, "two");
    assert_eq!(passage.before.as_deref(), Some("one"));
    assert_eq!(passage.after.as_deref(), Some("three"));

    let first_passages = store.passages(&chunks[..1]).await.unwrap();
    assert_eq!(first_passages[0].before, None);
    assert!((first_passages[0].dense[0] - 1.0).abs() < f32::EPSILON);
}

async fn the_texts_of_a_document_are_its_published_chunks_in_order(db: Database) {
    let store = SqlChunks::new(db.clone());
    let travel = create_base(&db, "Travel", DEFAULT).await;
    create_document(&db, travel, "another").await;
    ingest(&db).await;
    let id = create_document(&db, travel, "one two three").await;
    assert!(store.texts(id).await.unwrap().is_empty());
    ingest(&db).await;

    assert_eq!(store.texts(id).await.unwrap(), ["one", "two", "three"]);
    assert!(store.texts(DocumentId::generate()).await.unwrap().is_empty());
}

async fn retrievals_are_counted(db: Database) {
    let store = SqlChunks::new(db.clone());
    let travel = create_base(&db, "Travel", DEFAULT).await;
    let id = create_document(&db, travel, "one").await;
    store.count_retrievals(&[id], NOW).await.unwrap();
    store.count_retrievals(&[id], NOW).await.unwrap();
    let document = SqlDocuments::new(db.clone()).find(of(travel, id)).await.unwrap().unwrap();

    assert_eq!(document.retrieval_count, 2);
    assert_eq!(document.last_retrieved_at, Some(NOW));
}

async fn misses_are_counted_for_each_base(db: Database) {
    let store = SqlChunks::new(db.clone());
    let travel = create_base(&db, "Travel", DEFAULT).await;
    let law = create_base(&db, "Law", DEFAULT).await;
    let other_base = create_base(&db, "Other", DEFAULT).await;
    let later_time = NOW + std::time::Duration::from_mins(1);
    store.count_miss(&[travel, law], NOW).await.unwrap();
    store.count_miss(&[travel], later_time).await.unwrap();

    let bases = SqlKnowledgeBases::new(db.clone());
    for (base, expected) in
        [(travel, (2, Some(later_time))), (law, (1, Some(NOW))), (other_base, (0, None))]
    {
        let stats = bases.stats(server(base), NOW, QUOTAS).await.unwrap().unwrap();
        assert_eq!((stats.miss_count, stats.last_missed_at), expected);
    }
}

async fn removed_points_are_queued_until_they_are_forgotten(db: Database) {
    let store = SqlChunks::new(db.clone());
    let travel = create_base(&db, "Travel", DEFAULT).await;
    create_document(&db, travel, "one two").await;
    let chunks = ingest(&db).await;
    let bases = SqlKnowledgeBases::new(db.clone());
    assert!(bases.delete(travel, SideEffects::default()).await.unwrap());

    assert_eq!(store.list_removed(1).await.unwrap(), chunks[..1]);
    assert_eq!(store.list_removed(9).await.unwrap(), chunks);
    store.forget_removed(&chunks[..1]).await.unwrap();
    assert_eq!(store.list_removed(9).await.unwrap(), chunks[1..]);
    assert!(store.existing(&chunks).await.unwrap().is_empty());
}

async fn published_chunks_are_listed_by_id(db: Database) {
    let store = SqlChunks::new(db.clone());
    let travel = create_base(&db, "Travel", DEFAULT).await;
    create_document(&db, travel, "one two three").await;
    let chunks = ingest(&db).await;
    let law = create_base(&db, "Law", DEFAULT).await;
    create_document(&db, law, "four").await;
    let other_chunks = ingest(&db).await;
    assert_eq!(store.list_published(None, None, 2).await.unwrap(), chunks[..2]);

    let following = store.list_published(None, Some(chunks[1]), 9).await.unwrap();
    assert_eq!(following, [chunks[2], other_chunks[0]]);
    assert_eq!(store.list_published(Some(travel), None, 9).await.unwrap(), chunks);
    assert_eq!(store.list_published(Some(travel), Some(chunks[1]), 9).await.unwrap(), chunks[2..]);
    assert_eq!(store.list_published(Some(law), None, 9).await.unwrap(), other_chunks);

    let indexed = store.load_indexed(&[chunks[2], ChunkId::generate()]).await.unwrap();
    assert_eq!(indexed.len(), 1);
    assert_eq!(indexed[0].id, chunks[2]);
    assert_eq!(indexed[0].base, travel);
    assert_eq!(store.existing(&chunks).await.unwrap().len(), 3);
}
