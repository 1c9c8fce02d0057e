//! Tests of documents.

use mockall::predicate::{always, eq};
use pia_kernel::{GroupId, KnowledgeBaseId, Timestamp};
use pia_testkit::FixedClock;

use super::*;
use crate::base::KnowledgeBase;
use crate::draft::MAX_CONTENT_BYTES;
use crate::ports::base_store::MockBaseStore;
use crate::ports::document_store::{KnowledgeQuota, MockDocumentStore};

const DEFAULTS: GroupQuotas = GroupQuotas { bases: 1, documents: 2, bytes: 3, monthly_tokens: 4 };

fn base_ref() -> BaseRef {
    let access = BaseAccess::Group(GroupId::generate());
    BaseRef { access, id: KnowledgeBaseId::generate() }
}

fn document_ref() -> DocumentRef {
    DocumentRef { base: base_ref(), document: DocumentId::generate() }
}

fn documents(store: MockDocumentStore) -> Documents {
    let mut bases = MockBaseStore::new();
    bases.expect_find().returning(|it| {
        let owner = GroupId::generate();
        let name = "Handbook".to_owned();
        let created_at = Timestamp::UNIX_EPOCH;
        let base = KnowledgeBase { id: it.id, owner, name, prompt: None, created_at };
        Ok(Some(KnowledgeBaseEntry {
            base,
            document_count: 0,
            shared_with: Vec::new(),
            model: None,
            reindex_model: None,
        }))
    });
    with_bases(bases, store)
}

fn with_bases(bases: MockBaseStore, store: MockDocumentStore) -> Documents {
    let clock = Arc::new(FixedClock(Timestamp::UNIX_EPOCH));
    Documents::new(Arc::new(bases), Arc::new(store), DEFAULTS, clock)
}

fn draft(content: &str) -> DocumentDraft {
    let title = Some(" Travel ".to_owned());
    let content = Some(content.as_bytes().to_vec());
    DocumentDraft { title, content, ..DocumentDraft::default() }
}

fn stored_document(document: DocumentRef, content_type: ContentType) -> Document {
    Document {
        id: document.document,
        title: "Travel".to_owned(),
        source_uri: None,
        content_type,
        status: DocumentStatus::Ready,
        size_bytes: 1,
        error: None,
        chunk_count: 1,
        progress: None,
        tokens: 1,
        retrieval_count: 0,
        last_retrieved_at: None,
        created_at: Timestamp::UNIX_EPOCH,
        updated_at: Timestamp::UNIX_EPOCH,
    }
}

#[tokio::test]
async fn a_document_is_stored_as_plain_text_with_the_hash_of_its_file() {
    let mut store = MockDocumentStore::new();
    let is_expected = |content: &NewContent| {
        content.title.as_deref() == Some("Travel")
            && content.content_type == Some(ContentType::Text)
            && content.source_uri.as_deref() == Some("wiki/1")
            && content.hash.starts_with(&[0xba, 0x78, 0x16, 0xbf])
    };
    store
        .expect_put()
        .withf(move |_, content, defaults, _| is_expected(content) && *defaults == DEFAULTS)
        .once()
        .returning(|_, content, _, _| Ok(DocumentStoreOutcome::Created(content.id)));
    let draft = DocumentDraft { source_uri: Some(" wiki/1 ".to_owned()), ..draft("abc") };

    let submission = documents(store).submit(None, base_ref(), draft).await.unwrap();

    assert_eq!(submission.status, DocumentStatus::Pending);
    assert!(submission.changed);
}

#[tokio::test]
async fn only_managers_of_a_base_learn_what_is_wrong_with_a_document() {
    let mut bases = MockBaseStore::new();
    bases.expect_find().returning(|_| Ok(None));
    let use_case = with_bases(bases, MockDocumentStore::new());

    let outcome = use_case.submit(None, base_ref(), DocumentDraft::default()).await;

    assert!(matches!(outcome, Err(KnowledgeError::NotFound)));
}

#[tokio::test]
async fn an_invalid_document_is_rejected_with_the_reason() {
    let use_case = documents(MockDocumentStore::new());
    let typed = |it: &str| DocumentDraft { content_type: Some(it.to_owned()), ..draft("a") };

    for (draft, expected) in [
        (DocumentDraft { title: Some(" ".to_owned()), ..draft("a") }, DraftError::TitleRequired),
        (DocumentDraft { title: Some("x".repeat(501)), ..draft("a") }, DraftError::TitleTooLong),
        (
            DocumentDraft { source_uri: Some("x".repeat(2_001)), ..draft("a") },
            DraftError::SourceTooLong,
        ),
        (typed("image/png"), DraftError::UnsupportedType),
        (draft(" \n"), DraftError::ContentRequired),
        (DocumentDraft { content: None, ..draft("a") }, DraftError::ContentRequired),
        (draft(&"x".repeat(MAX_CONTENT_BYTES + 1)), DraftError::TooLarge),
        (DocumentDraft { content: Some(vec![0xff]), ..draft("a") }, DraftError::NotText),
    ] {
        let outcome = use_case.submit(None, base_ref(), draft).await;
        assert!(
            matches!(outcome, Err(KnowledgeError::Draft(err)) if err == expected),
            "{expected}"
        );
    }
}

#[tokio::test]
async fn each_outcome_of_the_store_has_a_result() {
    let id = DocumentId::generate();
    let quota = KnowledgeQuota { resource: "bytes", limit: 1, current: 2 };
    let submit = |outcome| async move {
        let mut store = MockDocumentStore::new();
        store.expect_put().return_once(move |_, _, _, _| Ok(outcome));
        documents(store).submit(None, base_ref(), draft("abc")).await
    };

    let unchanged =
        submit(DocumentStoreOutcome::Unchanged(id, DocumentStatus::Ready)).await.unwrap();
    assert_eq!(unchanged.status, DocumentStatus::Ready);
    assert!(!unchanged.changed);
    assert!(submit(DocumentStoreOutcome::Replaced(id)).await.unwrap().changed);
    let duplicate = submit(DocumentStoreOutcome::Duplicate(id)).await;
    assert!(matches!(duplicate, Err(KnowledgeError::Duplicate(it)) if it == id));
    let outcome = submit(DocumentStoreOutcome::Unknown).await;
    assert!(matches!(outcome, Err(KnowledgeError::NotFound)));
    let exceeded = submit(DocumentStoreOutcome::QuotaExceeded(quota)).await;
    assert!(matches!(exceeded, Err(KnowledgeError::QuotaExceeded(it)) if it == quota));
}

#[tokio::test]
async fn new_content_keeps_the_stored_type_which_it_must_have() {
    let document = document_ref();
    let mut store = MockDocumentStore::new();
    store
        .expect_find()
        .returning(move |_| Ok(Some(stored_document(document, ContentType::Markdown))));
    store
        .expect_replace()
        .withf(move |_, content, _, _| {
            (content.id, &content.title, content.content_type) == (document.document, &None, None)
        })
        .once()
        .returning(|it, _, _, _| Ok(DocumentStoreOutcome::Replaced(it.document)));
    let use_case = documents(store);
    let draft =
        |content: &[u8]| ContentDraft { content: Some(content.to_vec()), ..Default::default() };

    let submission = use_case.replace(None, document, draft(b"# New")).await.unwrap();
    let binary = use_case.replace(None, document, draft(&[0xff])).await;

    assert_eq!(submission.document, document.document);
    assert!(matches!(binary, Err(KnowledgeError::Draft(DraftError::NotText))));
}

#[tokio::test]
async fn only_a_document_that_failed_is_queued_again() {
    let document = document_ref();
    for (exists, is_queued) in [(true, true), (true, false), (false, false)] {
        let mut store = MockDocumentStore::new();
        let existing_document = exists.then(|| stored_document(document, ContentType::Text));
        store.expect_find().return_once(move |_| Ok(existing_document));
        let at = Timestamp::UNIX_EPOCH;
        store
            .expect_retry()
            .with(eq(document), eq(at), always())
            .returning(move |_, _, _| Ok(is_queued));

        let outcome = documents(store).retry(None, document).await;

        match outcome {
            Ok(()) => assert!(is_queued),
            Err(KnowledgeError::NotFailed) => assert!(exists && !is_queued),
            Err(err) => assert!(matches!(err, KnowledgeError::NotFound) && !exists),
        }
    }
}

#[tokio::test]
async fn what_does_not_exist_is_not_found() {
    let document = document_ref();
    let mut store = MockDocumentStore::new();
    store.expect_delete().returning(|_, _| Ok(false));
    store.expect_content().returning(|_| Ok(None));
    store.expect_list().returning(|_| Ok(None));
    let use_case = documents(store);

    assert!(matches!(use_case.delete(None, document).await, Err(KnowledgeError::NotFound)));
    assert!(matches!(use_case.content(document).await, Err(KnowledgeError::NotFound)));
    assert!(matches!(use_case.list(document.base).await, Err(KnowledgeError::NotFound)));
}

#[tokio::test]
async fn an_empty_prompt_clears_the_stored_one() {
    for (prompt, expected) in [(" \n", None), ("Search it.", Some("Search it.".to_owned()))] {
        let mut bases = MockBaseStore::new();
        bases
            .expect_set_prompt()
            .with(always(), eq(expected), always())
            .once()
            .returning(|_, _, _| Ok(true));
        let use_case = with_bases(bases, MockDocumentStore::new());

        use_case.set_prompt(None, base_ref(), Some(prompt.to_owned())).await.unwrap();
    }
    let use_case = documents(MockDocumentStore::new());
    let missing_outcome = use_case.set_prompt(None, base_ref(), None).await;
    assert!(matches!(missing_outcome, Err(KnowledgeError::PromptRequired)));
    let long_outcome = use_case.set_prompt(None, base_ref(), Some("x".repeat(8_001))).await;
    assert!(matches!(long_outcome, Err(KnowledgeError::PromptTooLong)));
}

#[tokio::test]
async fn the_next_page_begins_after_the_last_document_of_this_page() {
    let stored: Vec<_> =
        (0..3).map(|_| stored_document(document_ref(), ContentType::Text)).collect();
    let expected = stored.clone();
    let mut store = MockDocumentStore::new();
    store
        .expect_page()
        .returning(move |_, _, page| Ok(stored.iter().take(page.limit.into()).cloned().collect()));
    let documents = documents(store);
    let page = async |limit| {
        let request = PageRequest { after: None, limit };
        documents.page(base_ref(), DocumentFilter::default(), request).await.unwrap()
    };

    let next = Some(SortCursor::at_text(&expected[1].title, expected[1].id.0));
    assert_eq!(page(2).await, Page { items: expected[..2].to_vec(), next });
    assert_eq!(page(3).await, Page { items: expected, next: None });
}
