//! `pia-server admin kb` beside a running server.

use pia_server_testkit::polling::until;
use pia_testkit::databases::TestDatabase;
use serde_json::json;

use super::{create_base, documents, ingest, knowing, service, wait_for_ingestion};

#[tokio::test(flavor = "multi_thread")]
async fn a_folder_that_is_imported_again_stores_what_has_changed() {
    let app = knowing(TestDatabase::sqlite()).start().await;
    let travel = create_base(&app, "Travel", "default").await;
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, text: &str| {
        std::fs::write(folder.path().join(name), text).expect("a file");
    };
    write("rail.md", "# Rail\n\nSecond class.\n");
    let import = format!("kb import Travel {}", folder.path().display());
    assert_eq!(app.admin(&import).await.expect("files"), "1 files stored, 0 unchanged\n");

    // As after an import that was interrupted.
    write("air.md", "# Air\n\nAsk first.\n");
    assert_eq!(app.admin(&import).await.expect("files"), "1 files stored, 1 unchanged\n");
    write("rail.md", "# Rail\n\nFirst class.\n");
    write("rail.png", "");
    let expected = "1 files stored, 1 unchanged, 1 of other types left out\n";
    assert_eq!(app.admin(&import).await.expect("files"), expected);

    let list = service(&app, "GET", &documents(&travel), &json!(null)).await.body;
    let stored_documents = list.as_array().expect("documents");
    assert_eq!(stored_documents.len(), 2);
    for document in stored_documents {
        let id = document["id"].as_str().expect("an id");
        assert_eq!(wait_for_ingestion(&app, &travel, id).await["status"], "Ready");
    }

    let verified = app.admin("kb verify Travel").await.expect("a sound base");
    assert!(verified.starts_with("All 2 documents of Travel are ready\n"), "{verified}");
    assert!(verified.contains("not compared: a server uses it"), "{verified}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_base_is_indexed_again_and_found_meanwhile() {
    let app = knowing(TestDatabase::sqlite()).start().await;
    let travel = create_base(&app, "Travel", "default").await;
    for (title, content) in [("Rail", "Second class only."), ("Air", "Ask the office first.")] {
        ingest(&app, &travel, title, content).await;
    }

    let queued = app.admin("kb reindex Travel").await.expect("documents");

    assert_eq!(queued, "2 documents of Travel queued, to be embedded by hashed n-grams\n");
    // The chunks of each document are replaced, all of them at once.
    let published = "knowledge_chunks WHERE is_published";
    until(async || {
        assert_eq!(app.count(published).await, 2);
        let output = app.admin("kb show Travel").await.expect("a base");
        (!output.contains("being indexed again")).then_some(())
    })
    .await;
    let output = app.admin("kb show Travel").await.expect("a base");
    assert!(output.contains("Travel, embedded by hashed n-grams\n"), "{output}");
    assert_eq!(output.matches(": Ready, 1 chunks").count(), 2);
    assert_eq!(app.count(published).await, 2);
}
