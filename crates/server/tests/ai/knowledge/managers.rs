//! `/api/kb-manager`, as the desktop client uses it.

use pia_server_testkit::client::{Client, TestResponse};
use pia_server_testkit::console::{Console, administrator};
use pia_server_testkit::harness::{PASSWORD, TestConfig};
use pia_server_testkit::on_both_databases;
use pia_testkit::databases::TestDatabase;
use serde_json::{Value, json};

use super::{
    JSON, create_base, documents, ingest, knowing, service, sign_up_manager, wait_for_ingestion,
};

on_both_databases!(
    a_manager_lists_stores_replaces_and_deletes_documents,
    a_manager_is_refused_for_the_reasons_of_the_contract,
    others_are_no_managers,
    a_manager_tries_the_search_in_bases_of_the_group,
    documents_are_paged_sorted_and_searched_in_the_console,
);

const BASES: &str = "/api/kb-manager/knowledge-bases";

async fn send(client: &Client, method: &str, path: &str, body: &Value) -> TestResponse {
    let body = if body.is_null() { String::new() } else { body.to_string() };
    client.send(method, path, &[JSON], body.as_bytes()).await
}

async fn a_manager_lists_stores_replaces_and_deletes_documents(database: TestDatabase) {
    let app = knowing(database).start().await;
    let ada = sign_up_manager(&app, "ada@example.org").await;
    assert_eq!(ada.get(BASES).await.body, json!([]));
    let travel = create_base(&app, "Travel", "default").await;
    let bases = ada.get(BASES).await.body;
    let expected = json!([{ "id": travel, "name": "Travel", "documentCount": 0, "shared": false,
        "hasPrompt": false }]);
    assert_eq!(bases, expected);

    let path = format!("{BASES}/{travel}/documents");
    let draft = json!({ "title": "Rules", "sourceUri": null, "contentType": "text/markdown",
        "content": "# Rail\n\nSecond class, für Gäste." });
    let response = send(&ada, "POST", &path, &draft).await;
    assert_eq!(response.status, 202);
    assert_eq!(response.body["status"], "Pending");

    let id = response.body["documentId"].as_str().expect("an id").to_owned();
    wait_for_ingestion(&app, &travel, &id).await;
    let list = ada.get(&path).await.body;
    let document = &list[0];
    assert_eq!(document["id"], json!(id));
    assert_eq!(document["status"], "Ready");
    assert_eq!(document["chunkCount"], 1);
    assert_eq!(document["sizeBytes"], 34);
    assert!(document["tokens"].as_i64().is_some_and(|it| it > 0));
    assert!(document["createdAt"].is_string() && document["updatedAt"].is_string());

    let content = format!("{path}/{id}/content");
    let answer = ada.get(&content).await;
    assert_eq!(answer.header("content-type"), Some("text/markdown; charset=utf-8"));
    assert!(answer.text().ends_with("für Gäste."));

    let repeated_body = json!({ "content": draft["content"], "contentType": null, "title": null });
    let response = send(&ada, "PUT", &content, &repeated_body).await;
    assert_eq!(response.status, 200);
    assert_eq!(response.body["status"], "Ready");

    let new_body = json!({ "content": "First class.", "contentType": null, "title": "New" });
    assert_eq!(send(&ada, "PUT", &content, &new_body).await.status, 202);
    let ready = wait_for_ingestion(&app, &travel, &id).await;
    assert_eq!(ready["title"], "New");
    assert_eq!(ready["contentType"], "text/markdown");

    let stats = ada.get(&format!("{BASES}/{travel}/stats")).await.body;
    assert_eq!(stats["readyCount"], 1);
    assert_eq!(stats["documentCount"], 1);
    assert_eq!(stats["byteLimit"], 52_428_800);
    assert_eq!(stats["documentLimit"], 100);
    assert!(stats["embeddingTokensThisMonth"].as_i64().is_some_and(|it| it > 0));

    let prompt = format!("{BASES}/{travel}/prompt");
    assert!(ada.get(&prompt).await.body.get("prompt").is_none_or(Value::is_null));
    assert!(send(&ada, "PUT", &prompt, &json!({ "prompt": "Rules" })).await.status < 300);
    assert_eq!(ada.get(&prompt).await.body["prompt"], "Rules");
    assert!(send(&ada, "PUT", &prompt, &json!({ "prompt": "" })).await.status < 300);
    assert_eq!(ada.get(BASES).await.body[0]["hasPrompt"], false);

    assert_eq!(send(&ada, "DELETE", &format!("{path}/{id}"), &json!(null)).await.status, 204);
    assert_eq!(ada.get(&path).await.body, json!([]));
}

async fn a_manager_tries_the_search_in_bases_of_the_group(database: TestDatabase) {
    let app = knowing(database).with("Admin:RequireSecondFactor", false).start().await;
    sign_up_manager(&app, "ada@example.org").await;
    app.sign_up("bob@example.org").await;
    let admin = Console::open(&app, "bob@example.org").await;
    let credentials = json!({ "email": "ada@example.org", "password": PASSWORD });
    let entered = app.anonymous().post("/admin/login", &credentials).await;
    let ada = Console::from_answer(&app, &entered);
    app.admin("group create Sales").await.expect("a group");
    let travel = create_base(&app, "Travel", "default").await;
    let foreign = create_base(&app, "Prices", "Sales").await;
    let text = "Book second class for a railway journey.";
    let document = ingest(&app, &travel, "Rules", text).await;
    let search = async |console: &Console, base: &str, question: &str| {
        let path = format!("/api/admin/knowledge-bases/{base}/search");
        console.write("POST", &path, json!({ "question": question })).await
    };

    let question = "Which class may I book for a railway journey?";
    let search_response = search(&ada, &travel, question).await;
    let irrelevant = search(&ada, &travel, "Who juggles xylophones at zoo@moon.example?").await;

    assert_eq!(search_response.status, 200, "{}", search_response.text());
    assert_eq!(search_response.body[0]["documentId"], json!(document));
    assert!(search_response.body[0]["text"].as_str().is_some_and(|it| it.contains(text)));
    assert!(search_response.body[0]["similarity"].as_f64().is_some_and(|it| it > 0.0));
    assert_eq!(irrelevant.body, json!([]));
    assert_eq!(search(&ada, &foreign, question).await.refusal(), (404, "not_found"));
    assert_eq!(search(&admin, &foreign, question).await.body, json!([]));
    assert_eq!(search(&admin, &travel, question).await.body, search_response.body);
}

async fn a_manager_is_refused_for_the_reasons_of_the_contract(database: TestDatabase) {
    let app = knowing(database).start().await;
    let ada = sign_up_manager(&app, "ada@example.org").await;
    let travel = create_base(&app, "Travel", "default").await;
    let path = format!("{BASES}/{travel}/documents");
    let id = ingest(&app, &travel, "Rules", "Second class.").await;
    let draft = |title: Value, kind: Value, content: Value| json!({ "title": title, "sourceUri": null, "contentType": kind, "content": content });
    let text = json!("text/plain");
    for (body, expected) in [
        (draft(json!(null), text.clone(), json!("x")), (400, "title_required")),
        (draft(json!("x".repeat(501)), text.clone(), json!("x")), (400, "title_too_long")),
        (draft(json!("t"), json!("image/png"), json!("x")), (400, "unsupported_content_type")),
        (draft(json!("t"), text.clone(), json!(" ")), (400, "content_required")),
        (
            draft(json!("t"), text.clone(), json!("x".repeat(10_485_761))),
            (413, "document_too_large"),
        ),
    ] {
        assert_eq!(send(&ada, "POST", &path, &body).await.refusal(), expected);
    }

    let markdown = draft(json!("t"), json!("text/markdown"), json!("Second class."));
    let duplicate = send(&ada, "POST", &path, &markdown).await;
    assert_eq!(duplicate.refusal(), (409, "duplicate_content"));
    assert_eq!(duplicate.body["documentId"], json!(id));

    let prompt = json!({ "prompt": "x".repeat(8001) });
    let response = send(&ada, "PUT", &format!("{BASES}/{travel}/prompt"), &prompt).await;
    assert_eq!(response.refusal(), (400, "prompt_too_long"));

    app.admin("group set default quota.KnowledgeDocuments=1").await.expect("a quota");
    let full_response =
        send(&ada, "POST", &path, &draft(json!("t"), text.clone(), json!("New"))).await;
    assert_eq!(full_response.refusal(), (409, "quota_exceeded"));
    assert_eq!(full_response.body["resource"], "KnowledgeDocuments");
    assert_eq!(full_response.body["limit"], 1);
    assert_eq!(full_response.body["current"], 2);

    app.admin("group set default quota.KnowledgeDocuments= quota.MonthlyEmbeddingTokens=1")
        .await
        .expect("a quota");
    let full_response = send(&ada, "POST", &path, &draft(json!("t"), text, json!("New"))).await;
    assert_eq!(full_response.refusal(), (409, "quota_exceeded"));
    assert_eq!(full_response.body["resource"], "MonthlyEmbeddingTokens");
}

async fn others_are_no_managers(database: TestDatabase) {
    let app = knowing(database).start().await;
    let ada = sign_up_manager(&app, "ada@example.org").await;
    let eve = app.sign_up("eve@example.org").await;
    let bob = app.sign_up("bob@example.org").await;
    assert_eq!(eve.get(BASES).await.refusal(), (403, "not_a_kb_manager"));
    app.admin("grant eve@example.org --role org_manager").await.expect("a role");
    assert_eq!(eve.get(BASES).await.refusal(), (403, "not_a_kb_manager"));

    // A manager of another group sees nothing, also of a base that is shared.
    app.admin("group create Sales").await.expect("a group");
    app.admin("group add bob@example.org Sales").await.expect("a member");
    app.admin("grant bob@example.org --role kb_manager").await.expect("a role");
    let travel = create_base(&app, "Travel", "default").await;
    let id = ingest(&app, &travel, "Rules", "Second class.").await;
    app.admin("kb share Travel Sales").await.expect("a share");
    assert_eq!(ada.get(BASES).await.body[0]["shared"], true);
    assert_eq!(bob.get(BASES).await.body, json!([]));

    let root = format!("{BASES}/{travel}");
    for path in [
        format!("{root}/stats"),
        format!("{root}/documents"),
        format!("{root}/prompt"),
        format!("{root}/documents/{id}/content"),
    ] {
        assert_eq!(bob.get(&path).await.refusal(), (404, "not_found"), "{path}");
    }

    let removal_response =
        send(&bob, "DELETE", &format!("{root}/documents/{id}"), &json!(null)).await;
    assert_eq!(removal_response.refusal(), (404, "not_found"));
    let response =
        service(&app, "GET", &format!("{}/{id}", documents(&travel)), &json!(null)).await;
    assert_eq!(response.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn knowledge_that_is_off_is_reported() {
    let setting =
        TestConfig::on(TestDatabase::sqlite()).with("Knowledge__IngestApiKey", super::KEY);
    let app = setting.start().await;
    let ada = sign_up_manager(&app, "ada@example.org").await;
    assert_eq!(ada.get(BASES).await.refusal(), (503, "knowledge_disabled"));
    let travel = create_base(&app, "Travel", "default").await;
    let listed_response = service(&app, "GET", &documents(&travel), &json!(null)).await;
    assert_eq!(listed_response.refusal(), (503, "knowledge_disabled"));
}

async fn documents_are_paged_sorted_and_searched_in_the_console(database: TestDatabase) {
    let (app, _client, console) = administrator(knowing(database)).await;
    let travel = create_base(&app, "Travel", "default").await;
    for number in 0..51 {
        let title = format!("Rule {number:02}");
        let draft = json!({ "title": title, "contentType": "text/markdown", "content": title });
        let response = service(&app, "POST", &documents(&travel), &draft).await;
        assert_eq!(response.status, 202, "{}", response.text());
    }
    let open =
        async |query: &str| console.get(&format!("/admin/knowledge/{travel}?{query}")).await.text();

    let first = open("sort=-title").await;
    let (before, _) = first.split_once("\" rel=\"next\"").expect("a link to the next page");
    let (_, cursor) = before.rsplit_once("cursor=").expect("a cursor");
    let last = open(&format!("sort=-title&cursor={cursor}")).await;
    let of_other_column =
        console.get(&format!("/admin/knowledge/{travel}?sort=size&cursor={cursor}")).await;
    let found_page = open("search=RULE+07").await;
    let unknown_state = open("status=Lost").await;

    assert!(first.contains("Rule 50") && first.contains("Rule 01"), "{first}");
    assert!(!first.contains("Rule 00"), "{first}");
    assert!(last.contains("Rule 00") && !last.contains("Rule 01"), "{last}");
    assert!(last.contains("First page") && !last.contains("rel=\"next\""), "{last}");
    assert_eq!(of_other_column.status, 400);
    assert!(found_page.contains("Rule 07") && !found_page.contains("Rule 08"), "{found_page}");
    assert!(found_page.contains("Clear filters"), "{found_page}");
    assert!(unknown_state.contains("Rule 07"), "{unknown_state}");
    assert!(!unknown_state.contains("Clear filters"), "{unknown_state}");
}
