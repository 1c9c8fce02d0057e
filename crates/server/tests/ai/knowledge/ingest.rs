//! `/api/kb`, as other systems use it, and ingestion by the real binary.

use pia_server_testkit::harness::TestConfig;
use pia_server_testkit::on_both_databases;
use pia_server_testkit::polling::until;
use pia_server_testkit::program::{Invocation, ServerProcess};
use pia_testkit::databases::TestDatabase;
use serde_json::{Value, json};

use super::{JSON, KEY, create_base, documents, knowing, service, wait_for_ingestion};

on_both_databases!(a_document_is_replaced_by_its_source, two_instances_ingest_each_document_once,);

/// PDF with the text `Travel rules`, made by hand.
const PDF: &str = "%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n\
    2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj\n\
    3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 300 200]/Contents 4 0 R\
    /Resources<</Font<</F1 5 0 R>>>>>>endobj\n\
    4 0 obj<</Length 52>>stream\nBT /F1 24 Tf 20 100 Td (Travel rules of Ada) Tj ET  \nendstream endobj\n\
    5 0 obj<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>endobj\n\
    trailer<</Root 1 0 R>>\n";

async fn a_document_is_replaced_by_its_source(database: TestDatabase) {
    let app = knowing(database).start().await;
    let travel = create_base(&app, "Travel", "default").await;
    let path = documents(&travel);
    let draft = |content: &str| json!({ "title": "Rules", "sourceUri": "https://x.example/rules", "content": content });
    let creation_response = service(&app, "POST", &path, &draft("Second class.")).await;
    assert_eq!(creation_response.status, 202, "{}", creation_response.text());
    let id = creation_response.body["documentId"].as_str().expect("an id").to_owned();
    assert_eq!(wait_for_ingestion(&app, &travel, &id).await["status"], "Ready");

    let response = service(&app, "POST", &path, &draft("Second class.")).await;
    assert_eq!(response.status, 200);
    assert_eq!(response.body["documentId"], json!(id));

    let replacement_response = service(&app, "POST", &path, &draft("First class.")).await;
    assert_eq!(replacement_response.status, 202);
    assert_eq!(replacement_response.body["documentId"], json!(id));

    let document = wait_for_ingestion(&app, &travel, &id).await;
    assert_eq!(document["status"], "Ready");
    assert_eq!(document["sizeBytes"], 12);

    let list = service(&app, "GET", &path, &json!(null)).await.body;
    assert_eq!(list.as_array().map(Vec::len), Some(1));
    let removal_response = service(&app, "DELETE", &format!("{path}/{id}"), &json!(null)).await;
    assert_eq!(removal_response.status, 204);

    let missing_response = service(&app, "GET", &format!("{path}/{id}"), &json!(null)).await;
    assert_eq!(missing_response.refusal(), (404, "not_found"));
    for table in ["knowledge_documents", "knowledge_files", "knowledge_chunks"] {
        assert_eq!(app.count(table).await, 0, "{table}");
    }
    until(async || (app.count("knowledge_removed_chunks").await == 0).then_some(())).await;
}

async fn two_instances_ingest_each_document_once(database: TestDatabase) {
    let first = knowing(database).start().await;
    let second_server = TestConfig::beside(&first)
        .with("Knowledge__ConnectionString", "embedded:vectors")
        .with("Knowledge__IngestApiKey", KEY)
        .start()
        .await;
    let travel = create_base(&first, "Travel", "default").await;
    let mut ids = Vec::new();
    for at in 0..20 {
        let draft =
            json!({ "title": format!("Rule {at}"), "content": format!("Rule number {at}.") });
        let app = if at % 2 == 0 { &first } else { &second_server };
        let response = service(app, "POST", &documents(&travel), &draft).await;
        ids.push(response.body["documentId"].as_str().expect("an id").to_owned());
    }
    for id in &ids {
        assert_eq!(wait_for_ingestion(&second_server, &travel, id).await["status"], "Ready");
    }
    // Each was charged once: as many tokens as their chunks have.
    let tokens = "(SELECT SUM(tokens) AS it FROM knowledge_usage) AS a, \
                  (SELECT SUM(tokens) AS it FROM knowledge_chunks) AS b WHERE a.it = b.it";
    assert_eq!(first.count(tokens).await, 1);
    assert_eq!(first.count("knowledge_chunks").await, 20);
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_key_the_routes_do_not_exist() {
    let app = knowing(TestDatabase::sqlite()).with("Knowledge__IngestApiKey", "").start().await;
    let travel = create_base(&app, "Travel", "default").await;
    let unknown_response = app.anonymous().get("/api/nowhere").await;
    let answer = service(&app, "GET", &documents(&travel), &json!(null)).await;
    assert_eq!(answer.status, 404);
    assert_eq!(answer.body["error"], unknown_response.body["error"]);

    app.reload(&json!({ "Knowledge": { "IngestApiKey": "never-read-as-variable" } }));
    let app = knowing(TestDatabase::sqlite()).start().await;
    let travel = create_base(&app, "Travel", "default").await;
    for (name, value) in [("x-service-key", "wrong"), ("authorization", KEY)] {
        let headers = [JSON, (name, value)];
        let answer = app.anonymous().send("GET", &documents(&travel), &headers, b"").await;
        assert_eq!(answer.refusal(), (401, "unauthorized"), "{name}");
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

#[tokio::test(flavor = "multi_thread")]
async fn files_are_extracted_by_a_child_process() {
    let call = process();
    let program = call.start().await;
    let travel = base_of(&call);
    let scan = PDF.replace("(Travel rules of Ada)", "(                   )");
    for (kind, content, status) in [
        ("application/pdf", PDF.as_bytes(), "Ready"),
        ("application/pdf", scan.as_bytes(), "Failed"),
        ("application/pdf", b"%PDF-1.4 nothing".as_slice(), "Failed"),
        ("text/html", b"<h1>Rules</h1><p>Second class.</p>".as_slice(), "Ready"),
    ] {
        let encoded = base64::Engine::encode(&base64::engine::general_purpose::STANDARD, content);
        let draft = json!({ "title": "Rules", "contentType": kind, "contentBase64": encoded });
        let headers = [JSON, ("x-service-key", KEY)];
        let path = documents(&travel);
        let body = draft.to_string();
        let response = program.anonymous().send("POST", &path, &headers, body.as_bytes()).await;
        assert_eq!(response.status, 202, "{}", response.text());
        let id = response.body["documentId"].as_str().expect("an id");
        let document = document_of(&program, &format!("{path}/{id}")).await;
        assert_eq!(document["status"], status, "{document}");
        assert_eq!(document["error"].is_string(), status == "Failed", "{document}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn documents_survive_a_crash_during_ingestion() {
    let call = process().with("Knowledge__Workers", "1");
    let mut program = call.start().await;
    let travel = base_of(&call);
    let path = documents(&travel);
    let mut ids = Vec::new();
    for at in 0..8 {
        let content = format!("Rule {at} of the house. ").repeat(3_000);
        let body = json!({ "title": format!("Rule {at}"), "content": content }).to_string();
        let headers = [JSON, ("x-service-key", KEY)];
        let response = program.anonymous().send("POST", &path, &headers, body.as_bytes()).await;
        assert_eq!(response.status, 202, "{}", response.text());
        ids.push(response.body["documentId"].as_str().expect("an id").to_owned());
        if at % 2 == 1 {
            program.signal("KILL");
            assert!(!program.end().await.success());
            program = call.start().await;
        }
    }
    for id in &ids {
        let document = document_of(&program, &format!("{path}/{id}")).await;
        assert_eq!(document["status"], "Ready", "{document}");
    }
}
