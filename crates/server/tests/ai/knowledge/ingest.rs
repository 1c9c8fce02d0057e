//! `/api/kb`, as other systems use it, and ingestion by the real binary.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use pia_server_testkit::client::TestResponse;
use pia_server_testkit::harness::TestConfig;
use pia_server_testkit::on_both_databases;
use pia_server_testkit::polling::until;
use pia_server_testkit::program::{Invocation, ServerProcess};
use pia_testkit::databases::TestDatabase;
use serde_json::{Value, json};

use super::{JSON, KEY, create_base, documents, ingest, knowing, service, wait_for_ingestion};

on_both_databases!(
    a_document_is_replaced_by_its_source,
    a_document_is_removed_with_its_content,
    two_instances_ingest_each_document_once,
);

/// PDF with the text `Travel rules`, made by hand.
const PDF: &str = "%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n\
    2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj\n\
    3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 300 200]/Contents 4 0 R\
    /Resources<</Font<</F1 5 0 R>>>>>>endobj\n\
    4 0 obj<</Length 52>>stream\nBT /F1 24 Tf 20 100 Td (Travel rules of Ada) Tj ET  \nendstream endobj\n\
    5 0 obj<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>endobj\n\
    trailer<</Root 1 0 R>>\n";

/// Returns the id of an accepted document.
fn document_id(response: &TestResponse) -> String {
    response.body["documentId"].as_str().expect("an id").to_owned()
}

async fn a_document_is_replaced_by_its_source(database: TestDatabase) {
    let app = knowing(database).start().await;
    let travel = create_base(&app, "Travel", "default").await;
    let path = documents(&travel);
    let draft = |content: &str| json!({ "title": "Rules", "sourceUri": "https://x.example/rules", "content": content });
    let creation = service(&app, "POST", &path, &draft("Second class.")).await;
    assert_eq!(creation.status, 202, "{}", creation.text());
    let id = document_id(&creation);
    assert_eq!(wait_for_ingestion(&app, &travel, &id).await["status"], "Ready");

    let repetition = service(&app, "POST", &path, &draft("Second class.")).await;
    let replacement = service(&app, "POST", &path, &draft("First class.")).await;
    let document = wait_for_ingestion(&app, &travel, &id).await;
    let list = service(&app, "GET", &path, &json!(null)).await.body;

    assert_eq!(repetition.status, 200);
    assert_eq!(document_id(&repetition), id);
    assert_eq!(replacement.status, 202);
    assert_eq!(document_id(&replacement), id);
    assert_eq!(document["status"], "Ready");
    assert_eq!(document["sizeBytes"], "First class.".len());
    assert_eq!(list.as_array().map(Vec::len), Some(1));
}

async fn a_document_is_removed_with_its_content(database: TestDatabase) {
    let app = knowing(database).start().await;
    let travel = create_base(&app, "Travel", "default").await;
    let id = ingest(&app, &travel, "Rules", "Second class.").await;
    let path = format!("{}/{id}", documents(&travel));

    let removal = service(&app, "DELETE", &path, &json!(null)).await;
    let missing = service(&app, "GET", &path, &json!(null)).await;

    assert_eq!(removal.status, 204);
    assert_eq!(missing.refusal(), (404, "not_found"));
    for table in ["knowledge_documents", "knowledge_files", "knowledge_chunks"] {
        assert_eq!(app.count(table).await, 0, "{table}");
    }
    until(async || (app.count("knowledge_removed_chunks").await == 0).then_some(())).await;
}

async fn two_instances_ingest_each_document_once(database: TestDatabase) {
    const DOCUMENTS: usize = 20;
    let first_server = knowing(database).start().await;
    let second_server = TestConfig::beside(&first_server)
        .with("Knowledge__ConnectionString", "embedded:vectors")
        .with("Knowledge__IngestApiKey", KEY)
        .start()
        .await;
    let travel = create_base(&first_server, "Travel", "default").await;

    let mut ids = Vec::new();
    for (number, server) in (0..DOCUMENTS).zip([&first_server, &second_server].into_iter().cycle())
    {
        let title = format!("Rule {number}");
        let draft = json!({ "title": title, "content": format!("Rule number {number}.") });
        let response = service(server, "POST", &documents(&travel), &draft).await;
        ids.push(document_id(&response));
    }
    for id in &ids {
        assert_eq!(wait_for_ingestion(&second_server, &travel, id).await["status"], "Ready");
    }

    // Each was charged once: as many tokens as their chunks have.
    let equal_tokens = "(SELECT SUM(tokens) AS it FROM knowledge_usage) AS a, \
                        (SELECT SUM(tokens) AS it FROM knowledge_chunks) AS b WHERE a.it = b.it";
    assert_eq!(first_server.count(equal_tokens).await, 1);
    assert_eq!(first_server.count("knowledge_chunks").await, 20);
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_key_the_routes_do_not_exist() {
    let app = knowing(TestDatabase::sqlite()).with("Knowledge__IngestApiKey", "").start().await;
    let travel = create_base(&app, "Travel", "default").await;

    let response = service(&app, "GET", &documents(&travel), &json!(null)).await;
    let unknown_response = app.anonymous().get("/api/nowhere").await;

    assert_eq!(response.status, 404);
    assert_eq!(response.body["error"], unknown_response.body["error"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_or_misplaced_key_is_refused() {
    let app = knowing(TestDatabase::sqlite()).start().await;
    let travel = create_base(&app, "Travel", "default").await;

    for (name, value) in [("x-service-key", "wrong"), ("authorization", KEY)] {
        let headers = [JSON, (name, value)];
        let response = app.anonymous().send("GET", &documents(&travel), &headers, b"").await;

        assert_eq!(response.refusal(), (401, "unauthorized"), "{name}");
    }
}

/// Creates a base beside a running process and returns its id.
fn base_of(call: &Invocation) -> String {
    let output = ["admin", "kb", "create", "Travel", "default"]
        .iter()
        .fold(call.beside(), |it, word| it.argument(word))
        .run();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    printed.trim().rsplit(' ').next().expect("an id").to_owned()
}

async fn document_of(program: &ServerProcess, path: &str) -> Value {
    until(async || {
        let answer = program.anonymous().send("GET", path, &[("x-service-key", KEY)], b"").await;
        let status = answer.body["status"].as_str().map(str::to_owned);
        matches!(status.as_deref(), Some("Ready" | "Failed")).then_some(answer.body)
    })
    .await
}

fn process() -> Invocation {
    Invocation::new()
        .licensed()
        .with("Knowledge__ConnectionString", "embedded:vectors")
        .with("Knowledge__IngestApiKey", KEY)
        .with("RateLimits__Global", "1000000")
}

/// Stores a document beside a running process and returns its path.
async fn store_document(program: &ServerProcess, base: &str, draft: &Value) -> String {
    let path = documents(base);
    let headers = [JSON, ("x-service-key", KEY)];
    let body = draft.to_string();
    let response = program.anonymous().send("POST", &path, &headers, body.as_bytes()).await;
    assert_eq!(response.status, 202, "{}", response.text());
    format!("{path}/{}", document_id(&response))
}

#[tokio::test(flavor = "multi_thread")]
async fn files_are_extracted_by_a_child_process() {
    let call = process();
    let program = call.start().await;
    let travel = base_of(&call);
    let scan = PDF.replace("(Travel rules of Ada)", "(                   )");

    for (content_type, content, status) in [
        ("application/pdf", PDF.as_bytes(), "Ready"),
        ("application/pdf", scan.as_bytes(), "Failed"),
        ("application/pdf", b"%PDF-1.4 nothing".as_slice(), "Failed"),
        ("text/html", b"<h1>Rules</h1><p>Second class.</p>".as_slice(), "Ready"),
    ] {
        let encoded = STANDARD.encode(content);
        let draft =
            json!({ "title": "Rules", "contentType": content_type, "contentBase64": encoded });

        let path = store_document(&program, &travel, &draft).await;
        let document = document_of(&program, &path).await;

        assert_eq!(document["status"], status, "{document}");
        assert_eq!(document["error"].is_string(), status == "Failed", "{document}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn documents_survive_a_crash_during_ingestion() {
    let call = process().with("Knowledge__Workers", "1");
    let mut program = call.start().await;
    let travel = base_of(&call);

    let mut paths = Vec::new();
    for number in 0..8 {
        let content = format!("Rule {number} of the house. ").repeat(3_000);
        let draft = json!({ "title": format!("Rule {number}"), "content": content });
        paths.push(store_document(&program, &travel, &draft).await);
        // After every second document.
        if number % 2 == 1 {
            program.signal("KILL");
            assert!(!program.end().await.success());
            program = call.start().await;
        }
    }

    for path in &paths {
        let document = document_of(&program, path).await;
        assert_eq!(document["status"], "Ready", "{document}");
    }
}
