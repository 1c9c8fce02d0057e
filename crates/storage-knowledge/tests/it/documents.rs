//! Contract tests of documents.

use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use futures_util::future::join_all;
use pia_kernel::{DocumentId, KnowledgeBaseId, PageRequest, SideEffects, SortCursor};
use pia_knowledge::{
    BaseAccess, BaseRef, BaseStore, ChunkStore, DocumentColumn, DocumentFilter, DocumentRef,
    DocumentStatus, DocumentStore, DocumentStoreOutcome, GroupQuotas, IngestQueue, NewContent,
};
use pia_storage::schema::knowledge_documents;
use pia_storage::{Database, DbError, DbUid, on_conn};
use pia_storage_knowledge::{SqlChunks, SqlDocuments, SqlIngestQueue, SqlKnowledgeBases};

use crate::fixture::{
    DEFAULT, MODEL, NOW, QUOTAS, change, chunk, claim, content, create_base, create_document,
    create_group, create_persona, exactly, ingest, new_chunks, of, put, server,
};

pia_testkit::contract! {
    a_document_is_stored_listed_read_and_deleted,
    documents_are_paged_in_each_order,
    a_page_after_a_deleted_document_begins_at_its_position,
    a_page_after_a_changed_document_begins_at_its_previous_position,
    documents_are_selected_by_text_and_state,
    a_document_of_the_same_source_is_replaced,
    the_same_content_is_stored_once,
    one_of_concurrent_documents_of_one_source_is_created,
    concurrent_documents_do_not_exceed_the_quotas_of_the_owner,
    a_replacement_counts_its_growth_alone,
    a_failed_document_is_queued_again,
    a_manager_of_another_group_finds_nothing,
    members_read_documents_of_the_bases_that_they_search,
}

async fn a_document_is_stored_listed_read_and_deleted(db: Database) {
    let documents = SqlDocuments::new(db.clone());
    let travel = create_base(&db, "Travel", DEFAULT).await;
    let id = create_document(&db, travel, "one two").await;

    let listed_documents = documents.list(server(travel)).await.unwrap().unwrap();
    assert_eq!(listed_documents.len(), 1);
    let pending_document = documents.find(of(travel, id)).await.unwrap().unwrap();
    assert_eq!(listed_documents[0], pending_document);
    assert_eq!(pending_document.status, DocumentStatus::Pending);
    assert_eq!(pending_document.size_bytes, 7);
    let file = documents.content(of(travel, id)).await.unwrap().unwrap();
    assert_eq!(file.bytes, b"one two");

    let chunks = ingest(&db).await;
    let ready_document = documents.find(of(travel, id)).await.unwrap().unwrap();
    assert_eq!(ready_document.status, DocumentStatus::Ready);
    assert_eq!(ready_document.chunk_count, 2);
    assert_eq!(ready_document.tokens, 4);

    assert!(documents.delete(of(travel, id), SideEffects::default()).await.unwrap());
    assert!(!documents.delete(of(travel, id), SideEffects::default()).await.unwrap());
    assert_eq!(documents.content(of(travel, id)).await.unwrap(), None);
    let store = SqlChunks::new(db.clone());
    assert!(store.passages(&chunks).await.unwrap().is_empty());
    assert_eq!(store.list_removed(10).await.unwrap(), chunks);

    let unknown_base = server(KnowledgeBaseId::generate());
    assert_eq!(documents.list(unknown_base).await.unwrap(), None);
}

/// Base with the documents "Alpha", "beta" and "Gamma".
struct TravelBase {
    id: KnowledgeBaseId,
    alpha: DocumentId,
    beta: DocumentId,
}

/// Creates three documents whose orders by title, by size and by time differ.
async fn create_travel_base(db: &Database) -> TravelBase {
    let id = create_base(db, "Travel", DEFAULT).await;
    let beta = create_titled(db, id, "beta", content(Some("file:b"), "1")).await;
    let alpha = create_titled(db, id, "Alpha", content(Some("file:a"), "333")).await;
    create_titled(db, id, "Gamma", content(Some("https://c"), "22")).await;
    TravelBase { id, alpha, beta }
}

async fn create_titled(
    db: &Database,
    base: KnowledgeBaseId,
    title: &str,
    new: NewContent,
) -> DocumentId {
    let titled = NewContent { title: Some(title.to_owned()), ..new };
    let documents = SqlDocuments::new(db.clone());
    match documents.put(server(base), titled, QUOTAS, change()).await.unwrap() {
        DocumentStoreOutcome::Created(id) => id,
        outcome => panic!("not created: {outcome:?}"),
    }
}

fn sorted_by(sort: DocumentColumn) -> DocumentFilter {
    DocumentFilter { sort, ..DocumentFilter::default() }
}

/// Returns the titles of the selected documents, which are loaded one by one.
async fn titles(db: &Database, base: BaseRef, filter: DocumentFilter) -> Vec<String> {
    let documents = SqlDocuments::new(db.clone());
    let mut titles = Vec::new();
    let mut after = None;
    loop {
        let request = PageRequest { after, limit: 1 };
        let page = documents.page(base, filter.clone(), request).await.unwrap();
        let Some(document) = page.into_iter().next() else { return titles };
        after = Some(filter.sort.cursor(&document));
        titles.push(document.title);
    }
}

async fn documents_are_paged_in_each_order(db: Database) {
    let travel = create_travel_base(&db).await;
    let sales = create_group(&db, "Sales").await;
    let law = create_base(&db, "Law", sales).await;
    create_document(&db, law, "of another base").await;

    // Documents of equal value are in the order in which they were added.
    for (sort, expected_titles) in [
        (DocumentColumn::Title, ["Alpha", "beta", "Gamma"]),
        (DocumentColumn::Size, ["beta", "Gamma", "Alpha"]),
        (DocumentColumn::Status, ["beta", "Alpha", "Gamma"]),
        (DocumentColumn::Retrievals, ["beta", "Alpha", "Gamma"]),
        (DocumentColumn::Updated, ["beta", "Alpha", "Gamma"]),
    ] {
        let ascending = sorted_by(sort);
        let descending = DocumentFilter { is_descending: true, ..sorted_by(sort) };

        let ascending_titles = titles(&db, server(travel.id), ascending).await;
        let mut descending_titles = titles(&db, server(travel.id), descending).await;
        descending_titles.reverse();

        assert_eq!(ascending_titles, expected_titles, "{sort:?}");
        assert_eq!(descending_titles, expected_titles, "{sort:?} in descending order");
    }
}

/// Returns the position after the first two documents of a base.
async fn position_after_two(db: &Database, base: BaseRef, filter: &DocumentFilter) -> SortCursor {
    let request = PageRequest { after: None, limit: 2 };
    let page = SqlDocuments::new(db.clone()).page(base, filter.clone(), request).await.unwrap();
    filter.sort.cursor(&page[1])
}

/// Returns the titles of the documents after a position.
async fn titles_after(
    db: &Database,
    base: BaseRef,
    filter: &DocumentFilter,
    position: SortCursor,
) -> Vec<String> {
    let request = PageRequest { after: Some(position), limit: 10 };
    let page = SqlDocuments::new(db.clone()).page(base, filter.clone(), request).await.unwrap();
    page.into_iter().map(|it| it.title).collect()
}

async fn a_page_after_a_deleted_document_begins_at_its_position(db: Database) {
    let travel = create_travel_base(&db).await;
    let base = server(travel.id);
    let documents = SqlDocuments::new(db.clone());
    let by_title = sorted_by(DocumentColumn::Title);
    let by_size = sorted_by(DocumentColumn::Size);
    let by_time = sorted_by(DocumentColumn::Updated);

    // `documents_are_paged_in_each_order` states the orders; each has a different second document.
    let after_beta = position_after_two(&db, base, &by_title).await;
    let after_gamma = position_after_two(&db, base, &by_size).await;
    let after_alpha = position_after_two(&db, base, &by_time).await;

    let beta = of(travel.id, travel.beta);
    assert!(documents.delete(beta, SideEffects::default()).await.unwrap());
    assert_eq!(titles_after(&db, base, &by_title, after_beta).await, ["Gamma"]);
    assert_eq!(titles_after(&db, base, &by_size, after_gamma).await, ["Alpha"]);

    let alpha = of(travel.id, travel.alpha);
    assert!(documents.delete(alpha, SideEffects::default()).await.unwrap());
    assert_eq!(titles_after(&db, base, &by_time, after_alpha).await, ["Gamma"]);
}

async fn a_page_after_a_changed_document_begins_at_its_previous_position(db: Database) {
    let travel = create_travel_base(&db).await;
    let base = server(travel.id);
    let by_retrievals =
        DocumentFilter { is_descending: true, ..sorted_by(DocumentColumn::Retrievals) };
    set_retrievals(&db, travel.alpha, 5).await;
    set_retrievals(&db, travel.beta, 3).await;
    let after_beta = position_after_two(&db, base, &by_retrievals).await;

    set_retrievals(&db, travel.beta, 9).await;
    let titles_after_increase = titles_after(&db, base, &by_retrievals, after_beta.clone()).await;
    set_retrievals(&db, travel.beta, 0).await;
    let titles_after_decrease = titles_after(&db, base, &by_retrievals, after_beta).await;

    assert_eq!(titles_after_increase, ["Gamma"]);
    assert_eq!(titles_after_decrease, ["Gamma", "beta"]);
}

async fn set_retrievals(db: &Database, document: DocumentId, count: i64) {
    let row = knowledge_documents::table.find(DbUid(document.0));
    let update = diesel::update(row).set(knowledge_documents::retrieval_count.eq(count));
    let result: Result<usize, DbError> = on_conn!(db.writer(), |conn| update.execute(conn).await?);
    assert_eq!(result.unwrap(), 1);
}

async fn documents_are_selected_by_text_and_state(db: Database) {
    let travel = create_travel_base(&db).await;

    for (filter, expected_titles) in [
        (containing("ALPHA"), &["Alpha"][..]),
        (containing("file:"), &["Alpha", "beta"]),
        (containing("%"), &[]),
        (in_state(DocumentStatus::Pending), &["Alpha", "beta", "Gamma"]),
        (in_state(DocumentStatus::Failed), &[]),
    ] {
        let selected_titles = titles(&db, server(travel.id), filter.clone()).await;
        assert_eq!(selected_titles, expected_titles, "{filter:?}");
    }
    let unknown_base = server(KnowledgeBaseId::generate());
    assert!(titles(&db, unknown_base, DocumentFilter::default()).await.is_empty());

    // Greek has two lower-case forms of Σ.
    let builders = create_group(&db, "Builders").await;
    let roads = create_base(&db, "Roads", builders).await;
    create_titled(&db, roads, "οδοστρωμα", content(None, "4")).await;
    for text in ["ΟΔΟΣ", "οδος", "οδοσ"] {
        assert_eq!(titles(&db, server(roads), containing(text)).await, ["οδοστρωμα"], "{text}");
    }
}

fn containing(text: &str) -> DocumentFilter {
    DocumentFilter { search: text.to_owned(), ..DocumentFilter::default() }
}

fn in_state(status: DocumentStatus) -> DocumentFilter {
    DocumentFilter { status: Some(status), ..DocumentFilter::default() }
}

async fn a_document_of_the_same_source_is_replaced(db: Database) {
    let documents = SqlDocuments::new(db.clone());
    let travel = create_base(&db, "Travel", DEFAULT).await;
    let DocumentStoreOutcome::Created(id) = put(&db, travel, Some("file:a"), "one").await else {
        panic!("not created");
    };
    let previous_chunks = ingest(&db).await;

    let repeated_outcome = put(&db, travel, Some("file:a"), "one").await;
    assert_eq!(repeated_outcome, DocumentStoreOutcome::Unchanged(id, DocumentStatus::Ready));
    assert_eq!(put(&db, travel, Some("file:a"), "two").await, DocumentStoreOutcome::Replaced(id));

    // Searches find the previous content until the new one is published.
    let store = SqlChunks::new(db.clone());
    assert_eq!(store.passages(&previous_chunks).await.unwrap()[0].text, "one");

    let later_chunks = ingest(&db).await;
    assert!(store.passages(&previous_chunks).await.unwrap().is_empty());
    assert_eq!(store.passages(&later_chunks).await.unwrap()[0].text, "two");
    assert_eq!(store.list_removed(10).await.unwrap(), previous_chunks);
    assert_eq!(documents.list(server(travel)).await.unwrap().unwrap().len(), 1);
}

async fn the_same_content_is_stored_once(db: Database) {
    let travel = create_base(&db, "Travel", DEFAULT).await;
    let id = create_document(&db, travel, "one").await;
    assert_eq!(put(&db, travel, Some("b"), "one").await, DocumentStoreOutcome::Duplicate(id));

    let outcomes = join_all((0..8).map(|_| put(&db, travel, None, "two"))).await;
    assert_eq!(count_created(&outcomes), 1);

    // Another base may have a document of this content.
    let law = create_base(&db, "Law", DEFAULT).await;
    create_document(&db, law, "one").await;
}

fn count_created(outcomes: &[DocumentStoreOutcome]) -> usize {
    outcomes.iter().filter(|it| matches!(it, DocumentStoreOutcome::Created(_))).count()
}

async fn one_of_concurrent_documents_of_one_source_is_created(db: Database) {
    let travel = create_base(&db, "Travel", DEFAULT).await;
    let texts: Vec<String> = (0..8).map(|it| format!("text {it}")).collect();

    let outcomes = join_all(texts.iter().map(|it| put(&db, travel, Some("file:a"), it))).await;

    let replaced_count =
        outcomes.iter().filter(|it| matches!(it, DocumentStoreOutcome::Replaced(_))).count();
    assert_eq!(count_created(&outcomes), 1);
    assert_eq!(replaced_count, 7);
}

async fn concurrent_documents_do_not_exceed_the_quotas_of_the_owner(db: Database) {
    let bases = [create_base(&db, "A", DEFAULT).await, create_base(&db, "B", DEFAULT).await];
    let texts: Vec<String> = (0..8).map(|it| format!("text {it}")).collect();

    let alternating_bases = bases.iter().cycle();
    let puts = texts.iter().zip(alternating_bases).map(|(text, base)| put(&db, *base, None, text));
    let outcomes = join_all(puts).await;

    // `QUOTAS` allows three documents.
    assert_eq!(count_created(&outcomes), 3);
    let exceeded_quota = outcomes.into_iter().find_map(|it| match it {
        DocumentStoreOutcome::QuotaExceeded(quota) => Some(quota),
        _ => None,
    });
    let quota = exceeded_quota.unwrap();
    assert_eq!(quota.resource, "KnowledgeDocuments");
    assert_eq!(quota.limit, 3);
    assert_eq!(quota.current, 4);
}

async fn a_replacement_counts_its_growth_alone(db: Database) {
    let travel = create_base(&db, "Travel", DEFAULT).await;
    put(&db, travel, Some("a"), &"x".repeat(900)).await;

    // `QUOTAS` allows 1,000 bytes, which the replacement may use alone.
    let replacement_outcome = put(&db, travel, Some("a"), &"y".repeat(1_000)).await;
    assert!(
        matches!(replacement_outcome, DocumentStoreOutcome::Replaced(_)),
        "{replacement_outcome:?}"
    );
    let larger_outcome = put(&db, travel, Some("a"), &"z".repeat(1_001)).await;
    let DocumentStoreOutcome::QuotaExceeded(byte_quota) = larger_outcome else {
        panic!("{larger_outcome:?}")
    };
    assert_eq!(byte_quota.resource, "KnowledgeStorageBytes");
    assert_eq!(byte_quota.current, 1_001);

    let without_tokens = GroupQuotas { monthly_tokens: 0, bytes: 2_000, ..QUOTAS };
    let documents = SqlDocuments::new(db.clone());
    let new = content(None, "new");
    let outcome = documents.put(server(travel), new, without_tokens, change()).await.unwrap();
    let DocumentStoreOutcome::QuotaExceeded(token_quota) = outcome else { panic!("{outcome:?}") };
    assert_eq!(token_quota.resource, "MonthlyEmbeddingTokens");
    assert_eq!(token_quota.limit, 0);
}

async fn a_failed_document_is_queued_again(db: Database) {
    let documents = SqlDocuments::new(db.clone());
    let queue = SqlIngestQueue::new(db.clone());
    let travel = create_base(&db, "Travel", DEFAULT).await;
    let id = create_document(&db, travel, "one").await;
    assert!(!documents.retry(of(travel, id), NOW, SideEffects::default()).await.unwrap());

    let first_job = claim(&db, NOW).await.unwrap();
    assert!(queue.fail(first_job.claim, "damaged", None).await.unwrap());
    let failed_document = documents.find(of(travel, id)).await.unwrap().unwrap();
    assert_eq!(failed_document.status, DocumentStatus::Failed);
    assert_eq!(failed_document.error.as_deref(), Some("damaged"));
    assert!(claim(&db, NOW).await.is_none());

    assert!(documents.retry(of(travel, id), NOW, SideEffects::default()).await.unwrap());
    let second_job = claim(&db, NOW).await.unwrap();
    let chunks = new_chunks(MODEL, vec![chunk(0, "one")]);
    assert!(queue.put_chunks(second_job.claim, chunks).await.unwrap());
    assert!(queue.fail(second_job.claim, "damaged", None).await.unwrap());

    // The same content is queued again if it failed.
    let outcome = documents.replace(of(travel, id), content(None, "one"), QUOTAS, change()).await;
    assert_eq!(outcome.unwrap(), DocumentStoreOutcome::Replaced(id));

    // The third job continues with the chunks of the second.
    let third_job = claim(&db, NOW).await.unwrap();
    assert_eq!(third_job.split_for.as_deref(), Some(MODEL));
    assert_eq!(third_job.failures, 0);
    assert_eq!(queue.pending(third_job.claim, 9).await.unwrap().len(), 1);
}

async fn a_manager_of_another_group_finds_nothing(db: Database) {
    let documents = SqlDocuments::new(db.clone());
    let sales = create_group(&db, "Sales").await;
    let travel = create_base(&db, "Travel", DEFAULT).await;
    let id = create_document(&db, travel, "one").await;
    let base = BaseRef { access: BaseAccess::Group(sales), id: travel };
    let foreign_document = DocumentRef { base, document: id };

    assert_eq!(documents.list(base).await.unwrap(), None);
    assert_eq!(titles(&db, base, DocumentFilter::default()).await, [""; 0]);
    assert_eq!(documents.find(foreign_document).await.unwrap(), None);
    assert_eq!(documents.content(foreign_document).await.unwrap(), None);
    assert!(!documents.delete(foreign_document, SideEffects::default()).await.unwrap());
    assert!(!documents.retry(foreign_document, NOW, SideEffects::default()).await.unwrap());

    let new = content(None, "two");
    let outcome = documents.put(base, new.clone(), QUOTAS, change()).await.unwrap();
    assert_eq!(outcome, DocumentStoreOutcome::Unknown);
    let outcome = documents.replace(foreign_document, new, QUOTAS, change()).await.unwrap();
    assert_eq!(outcome, DocumentStoreOutcome::Unknown);

    // Nor is a document found in another base.
    let law = create_base(&db, "Law", DEFAULT).await;
    assert_eq!(documents.find(of(law, id)).await.unwrap(), None);
    assert_eq!(documents.find(of(travel, DocumentId::generate())).await.unwrap(), None);
}

async fn members_read_documents_of_the_bases_that_they_search(db: Database) {
    let documents = SqlDocuments::new(db.clone());
    let bases = SqlKnowledgeBases::new(db.clone());
    let sales = create_group(&db, "Sales").await;
    let other_group = create_group(&db, "Other").await;
    let shared_base = create_base(&db, "Shared", DEFAULT).await;
    let bound_base = create_base(&db, "Bound", DEFAULT).await;
    let shared_document = create_document(&db, shared_base, "one").await;
    let bound_document = create_document(&db, bound_base, "two").await;
    let read = async |group, id| documents.read(group, id).await.unwrap().map(|it| it.file.bytes);

    assert_eq!(read(DEFAULT, shared_document).await, Some(b"one".to_vec()));
    assert_eq!(read(sales, shared_document).await, None);
    assert_eq!(read(sales, bound_document).await, None);

    bases.share(shared_base, exactly(&[sales]), QUOTAS, SideEffects::default()).await.unwrap();
    let ada = create_persona(&db, &[sales]).await;
    bases.bind(ada, &[bound_base], QUOTAS, SideEffects::default()).await.unwrap();

    assert_eq!(read(sales, shared_document).await, Some(b"one".to_vec()));
    assert_eq!(read(sales, bound_document).await, Some(b"two".to_vec()));
    assert_eq!(read(other_group, shared_document).await, None);
    assert_eq!(read(other_group, bound_document).await, None);
}
