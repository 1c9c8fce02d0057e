//! Tests of chats under the hosted instance's names.

use pia_server_testkit::harness::TestConfig;
use pia_server_testkit::on_both_databases;
use pia_testkit::databases::TestDatabase;

use super::*;

on_both_databases!(
    conversations_are_an_alias_of_chats,
    conversations_of_a_batch_are_stored_independently,
);

const CONVERSATIONS: &str = "/api/conversations";
const SYNC: &str = "/api/conversations/sync";
const AT: &str = "2026-08-01T09:14:02Z";

async fn conversations_are_an_alias_of_chats(database: TestDatabase) {
    let app = TestConfig::on(database).start().await;
    let ada = app.signed_in().await;
    let id = new_id();
    let missing_chat = create_chat(&ada).await;
    let mut document = encrypted(&id, AT);
    document["lastAccessedAt"] = Value::Null;
    put(&ada, &document).await;
    delete(&ada, &missing_chat).await;

    let list = ada.get(&format!("{CONVERSATIONS}?includeDeleted=true")).await;
    let tag = list.header("etag").expect("a tag");
    let response = ada
        .send(
            "GET",
            &format!("{CONVERSATIONS}?includeDeleted=true"),
            &[("if-none-match", tag)],
            b"",
        )
        .await;

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
            "deleted": [missing_chat],
            "hasMore": false,
        })
    );
    assert_eq!(response.status, 304);
}

async fn conversations_of_a_batch_are_stored_independently(database: TestDatabase) {
    let app = TestConfig::on(database).start().await;
    let ada = app.signed_in().await;
    let newer_id = new_id();
    let missing_chat = create_chat(&ada).await;
    let new = new_id();
    let last_chat = create_chat(&ada).await;
    let wrong_id = new_id();
    put(&ada, &encrypted(&newer_id, "2026-09-01T00:00:00Z")).await;
    delete(&ada, &missing_chat).await;
    encrypt(&app).await;

    let answer = ada
        .post(
            SYNC,
            &json!({
                "conversations": [
                    encrypted(&new, AT), encrypted(&newer_id, AT), encrypted(&missing_chat, AT),
                    chat(&new, AT), { "id": wrong_id, "updatedAt": 5 }, "text",
                ],
                "deleted": [last_chat],
            }),
        )
        .await;

    assert_eq!(answer.status, 200, "{}", answer.text());
    let results = answer.body["results"].as_array().expect("results");
    let actual: Vec<_> = results.iter().map(|it| (&it["status"], &it["id"])).collect();
    let expected = [
        (json!("stored"), json!(new)),
        (json!("conflict"), json!(newer_id)),
        (json!("deleted"), json!(missing_chat)),
        (json!("refused"), json!(new)),
        (json!("refused"), json!(wrong_id)),
        (json!("refused"), Value::Null),
        (json!("deleted"), json!(last_chat)),
    ];
    assert_eq!(actual, expected.iter().map(|(a, b)| (a, b)).collect::<Vec<_>>());
    assert_eq!(results[1]["updatedAt"], "2026-09-01T00:00:00Z");
    assert_eq!(results[3]["error"], "e2ee_required");
    assert_eq!(results[4]["error"], "validation_failed");
    assert_eq!(results[4]["field"], "updatedAt");
    assert!(answer.body["serverTimestamp"].is_string());
    assert_eq!(get(&ada, &new).await.status, 200);
    assert_eq!(get(&ada, &last_chat).await.status, 404);
}

#[tokio::test(flavor = "multi_thread")]
async fn too_many_conversations_or_invalid_ids_are_refused() {
    let app = TestApp::spawn().await;
    let ada = app.signed_in().await;
    let many: Vec<String> = (0..501).map(|_| new_id()).collect();

    let nothing = ada.post(SYNC, &json!({})).await;
    let many = ada.post(SYNC, &json!({ "deleted": many })).await;
    let mixed = ada.post(SYNC, &json!({ "deleted": [new_id(), "5", 5] })).await;
    let wrong_response = ada.post(SYNC, &json!({ "conversations": {} })).await;

    assert_eq!(nothing.status, 200);
    assert_eq!(nothing.body["results"], json!([]));
    assert_eq!(many.refusal(), (400, "validation_failed"));
    assert_eq!(fields(&many), ["conversations"]);

    let results = mixed.body["results"].as_array().expect("results");
    let statuses: Vec<_> = results.iter().map(|it| &it["status"]).collect();
    assert_eq!(statuses, ["deleted", "refused", "refused"]);
    assert_eq!(results[1]["field"], "id");
    assert_eq!(results[1].get("id"), None);
    assert_eq!(wrong_response.refusal(), (400, "validation_failed"));
    assert_eq!(fields(&wrong_response), ["conversations"]);
}
