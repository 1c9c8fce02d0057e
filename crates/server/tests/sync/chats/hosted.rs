//! Tests of `GET /api/conversations` and `POST /api/conversations/sync`, the
//! routes of the hosted instance to stored chats.

use pia_server_testkit::harness::TestConfig;
use pia_server_testkit::on_both_databases;
use pia_testkit::databases::TestDatabase;

use super::*;

on_both_databases!(
    conversations_are_listed_with_their_documents,
    an_unchanged_list_of_conversations_is_not_sent_again,
    conversations_of_a_batch_are_stored_independently,
    results_have_the_reason_of_a_conflict_or_refusal,
    a_batch_stores_and_deletes_conversations,
);

const CONVERSATIONS: &str = "/api/conversations";
const SYNC: &str = "/api/conversations/sync";
const AT: &str = "2026-08-01T09:14:02Z";
const LATER: &str = "2026-09-01T00:00:00Z";

/// Returns the results of a batch, in the order of its entries.
fn results_of(response: &TestResponse) -> &[Value] {
    assert_eq!(response.status, 200, "{}", response.text());
    response.body["results"].as_array().expect("results")
}

async fn conversations_are_listed_with_their_documents(database: TestDatabase) {
    let app = TestConfig::on(database).start().await;
    let ada = app.signed_in().await;
    let id = new_id();
    let deleted_id = create_chat(&ada).await;
    let mut document = encrypted(&id, AT);
    document["lastAccessedAt"] = Value::Null;
    put(&ada, &document).await;
    delete(&ada, &deleted_id).await;

    let list = ada.get(&format!("{CONVERSATIONS}?includeDeleted=true")).await;

    assert_eq!(
        list.body,
        json!({
            "conversations": [{
                "id": id,
                "createdAt": "2026-01-01T00:00:00Z",
                "updatedAt": AT,
                "lastAccessedAt": AT,
                "encrypted": true,
                "document": get(&ada, &id).await.body,
            }],
            "deleted": [deleted_id],
            "hasMore": false,
        })
    );
}

async fn an_unchanged_list_of_conversations_is_not_sent_again(database: TestDatabase) {
    let app = TestConfig::on(database).start().await;
    let ada = app.signed_in().await;
    create_chat(&ada).await;
    let list = ada.get(CONVERSATIONS).await;
    let tag = list.header("etag").expect("a tag");

    let response = ada.send("GET", CONVERSATIONS, &[("if-none-match", tag)], b"").await;

    assert_eq!(response.status, 304);
}

async fn conversations_of_a_batch_are_stored_independently(database: TestDatabase) {
    let app = TestConfig::on(database).start().await;
    let ada = app.signed_in().await;
    let stored_id = new_id();
    let newer_on_server = new_id();
    let deleted_id = create_chat(&ada).await;
    let invalid_id = new_id();
    put(&ada, &encrypted(&newer_on_server, LATER)).await;
    delete(&ada, &deleted_id).await;
    encrypt(&app).await;
    let cases = [
        (encrypted(&stored_id, AT), "stored", json!(stored_id)),
        (encrypted(&newer_on_server, AT), "conflict", json!(newer_on_server)),
        (encrypted(&deleted_id, AT), "deleted", json!(deleted_id)),
        (chat(&stored_id, AT), "refused", json!(stored_id)),
        (json!({ "id": invalid_id, "updatedAt": 5 }), "refused", json!(invalid_id)),
        (json!("text"), "refused", Value::Null),
    ];
    let entries: Vec<&Value> = cases.iter().map(|(entry, ..)| entry).collect();

    let response = ada.post(SYNC, &json!({ "conversations": entries })).await;

    let results = results_of(&response);
    assert_eq!(results.len(), cases.len());
    for (result, (entry, status, id)) in results.iter().zip(&cases) {
        assert_eq!(result["status"], *status, "{entry}");
        assert_eq!(result["id"], *id, "{entry}");
    }
    assert_eq!(get(&ada, &stored_id).await.status, 200);
}

async fn results_have_the_reason_of_a_conflict_or_refusal(database: TestDatabase) {
    let app = TestConfig::on(database).start().await;
    let ada = app.signed_in().await;
    let newer_on_server = new_id();
    put(&ada, &encrypted(&newer_on_server, LATER)).await;
    encrypt(&app).await;

    let conflicting = encrypted(&newer_on_server, AT);
    let plain = chat(&new_id(), AT);
    let invalid = json!({ "id": new_id(), "updatedAt": 5 });
    let request = json!({ "conversations": [conflicting, plain, invalid] });
    let response = ada.post(SYNC, &request).await;

    let results = results_of(&response);
    assert_eq!(results[0]["updatedAt"], LATER);
    assert_eq!(results[1]["error"], "e2ee_required");
    assert_eq!(results[2]["error"], "validation_failed");
    assert_eq!(results[2]["field"], "updatedAt");
}

async fn a_batch_stores_and_deletes_conversations(database: TestDatabase) {
    let app = TestConfig::on(database).start().await;
    let ada = app.signed_in().await;
    let stored_id = new_id();
    let chat_to_delete = create_chat(&ada).await;

    let request = json!({ "conversations": [chat(&stored_id, AT)], "deleted": [chat_to_delete] });
    let response = ada.post(SYNC, &request).await;

    let results = results_of(&response);
    assert_eq!(results.len(), 2);
    assert_eq!(results[0]["status"], "stored");
    assert_eq!(results[0]["id"], stored_id);
    assert_eq!(results[1]["status"], "deleted");
    assert_eq!(results[1]["id"], chat_to_delete);
    assert!(response.body["serverTimestamp"].is_string());
    assert_eq!(get(&ada, &stored_id).await.status, 200);
    assert_eq!(get(&ada, &chat_to_delete).await.status, 404);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_empty_batch_has_no_results() {
    let app = TestApp::spawn().await;
    let ada = app.signed_in().await;

    let response = ada.post(SYNC, &json!({})).await;

    assert!(results_of(&response).is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn invalid_ids_of_a_batch_are_refused_alone() {
    let app = TestApp::spawn().await;
    let ada = app.signed_in().await;

    let response = ada.post(SYNC, &json!({ "deleted": [new_id(), "5", 5] })).await;

    let results = results_of(&response);
    let statuses: Vec<_> = results.iter().map(|it| &it["status"]).collect();
    assert_eq!(statuses, ["deleted", "refused", "refused"]);
    assert_eq!(results[1]["field"], "id");
    assert_eq!(results[1].get("id"), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_batch_is_a_list_of_at_most_500_conversations() {
    let app = TestApp::spawn().await;
    let ada = app.signed_in().await;
    let too_many_ids: Vec<String> = (0..501).map(|_| new_id()).collect();

    let too_many = ada.post(SYNC, &json!({ "deleted": too_many_ids })).await;
    let not_an_array = ada.post(SYNC, &json!({ "conversations": {} })).await;

    for response in [too_many, not_an_array] {
        assert_eq!(response.refusal(), (400, "validation_failed"));
        assert_eq!(fields(&response), ["conversations"]);
    }
}
