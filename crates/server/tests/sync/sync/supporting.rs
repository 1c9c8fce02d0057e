//! Tests of support requests, and of a reset.

use pia_server_testkit::client::Client;
use pia_server_testkit::harness::{TestApp, TestConfig};
use pia_server_testkit::{chats, on_both_databases};
use pia_testkit::databases::TestDatabase;
use serde_json::{Value, json};

use super::{NOTHING, changed_ids, cursor, id, pull, push, todo, todos};

on_both_databases!(
    the_status_counts_items_and_deletions,
    the_quota_counts_items_of_the_user_alone,
    the_debug_state_lists_items_and_chats_without_their_contents,
    storage_is_limited_by_the_quota,
    events_are_paged,
    a_reset_deletes_everything_and_preserves_the_highest_stamp,
);

const MEMORY_PLUGIN: &str = "10000000-0000-0000-0000-000000000001";

/// Returns the counts of to-do items in a list of channels.
fn todos_of(list: &Value) -> Value {
    list.as_array()
        .expect("channels")
        .iter()
        .find(|it| it["entity"] == "todos")
        .expect("todos")
        .clone()
}

/// Starts a server on which a user has one to-do item and a preference, and has deleted another
/// item. Another user has an item too.
async fn start_with_items(database: TestDatabase) -> (TestApp, Client) {
    let app = TestConfig::on(database).start().await;
    let ada = app.signed_in().await;
    let eve = app.signed_in().await;
    push(&ada, &todos(&[todo(1, 1, "secret"), todo(2, 1, "secret")])).await;
    push(&ada, &json!({ "todos": { "deleted": [id(2)] } })).await;
    push(&eve, &todos(&[todo(9, 1, "secret")])).await;
    let preference = json!({ "pluginId": MEMORY_PLUGIN, "isEnabled": true });
    push(&ada, &json!({ "pluginPreferences": [preference], "deviceId": "laptop" })).await;
    (app, ada)
}

async fn the_status_counts_items_and_deletions(database: TestDatabase) {
    let (_app, ada) = start_with_items(database).await;

    let status = ada.get("/api/sync/status").await.body;

    assert_eq!(status["watermark"], pull(&ada, NOTHING).await["serverTimestamp"]);
    assert_eq!(status["lastEvent"]["deviceId"], "laptop");
    let expected_counts = json!({ "entity": "todos", "count": 1, "deleted": 1 });
    assert_eq!(todos_of(&status["channels"]), expected_counts);
}

async fn the_quota_counts_items_of_the_user_alone(database: TestDatabase) {
    let (_app, ada) = start_with_items(database).await;

    let quota = ada.get("/api/sync/quota").await.body;

    let expected_quota = json!({ "entity": "todos", "current": 1, "limit": 500 });
    assert_eq!(todos_of(&quota["quotas"]), expected_quota);
}

async fn the_debug_state_lists_items_and_chats_without_their_contents(database: TestDatabase) {
    let (_app, ada) = start_with_items(database).await;
    let chat_id = chats::create_chat(&ada).await;

    let debug_state = ada.get("/api/sync/debug-state").await;

    let items = debug_state.body["items"].as_array().expect("items");
    assert_eq!(items.len(), 3);
    // The to-do item and the chat; a preference has no encrypted form.
    assert_eq!(debug_state.body["plain"], 2);

    let chats = debug_state.body["chats"].as_array().expect("chats");
    assert_eq!(chats.len(), 1);
    assert_eq!(chats[0]["id"], json!(chat_id));
    assert_eq!(chats[0]["encrypted"], false);
    assert_eq!(chats[0]["updatedAt"], "2026-08-01T09:14:02Z");
    assert!(!debug_state.text().contains("secret"), "{}", debug_state.text());
}

async fn storage_is_limited_by_the_quota(database: TestDatabase) {
    const LIMIT: u64 = 32 << 20;
    let app = TestConfig::on(database).with("Sync__MaxStorage", "32MiB").start().await;
    let ada = app.signed_in().await;
    let long_chat = |number| {
        let mut chat = chats::chat(&id(number), "2026-08-01T09:14:02Z");
        chat["messages"][0]["content"] = json!("x".repeat(15 << 20));
        chat
    };
    let storage = async || ada.get("/auth/account").await.body["storage"].clone();
    assert_eq!(storage().await, json!({ "current": 0, "limit": LIMIT }));

    for number in 1..=2 {
        assert_eq!(chats::put(&ada, &long_chat(number)).await.status, 201);
    }
    let chat_response = chats::put(&ada, &long_chat(3)).await;
    let long_memories = [1, 2].map(|it| json!({ "id": id(it), "label": "x".repeat(5 << 18) }));
    let push_response = ada.post("/api/sync/push", &json!({ "memories": long_memories })).await;

    for response in [&chat_response, &push_response] {
        assert_eq!(response.refusal(), (409, "quota_exceeded"));
        assert_eq!(response.body["resource"], "storage");
        assert_eq!(response.body["limit"], LIMIT);
    }

    let current = storage().await["current"].clone();
    assert_eq!(chat_response.body["current"], current);
    assert!(current.as_u64().is_some_and(|it| it > 30 << 20 && it < LIMIT), "{current}");

    let quota = ada.get("/api/sync/quota").await.body;
    let last_quota = quota["quotas"].as_array().expect("quotas").last().cloned();
    let expected_quota = json!({ "entity": "storage", "current": current, "limit": LIMIT });
    assert_eq!(last_quota, Some(expected_quota));

    assert_eq!(chats::delete(&ada, &id(2)).await.status, 204);
    assert_eq!(chats::put(&ada, &long_chat(3)).await.status, 201);
}

async fn events_are_paged(database: TestDatabase) {
    let app = TestConfig::on(database).start().await;
    let ada = app.signed_in().await;
    for number in 0..5 {
        push(&ada, &todos(&[todo(number, 1, "x")])).await;
    }

    let first_page = ada.get("/api/sync/events?limit=3").await.body;
    let next_cursor = first_page["nextCursor"].as_str().expect("a cursor").to_owned();
    let second_page = ada.get(&format!("/api/sync/events?limit=3&cursor={next_cursor}")).await.body;

    let item_count = |page: &Value| page["items"].as_array().expect("items").len();
    assert_eq!(item_count(&first_page), 3);
    assert_eq!(item_count(&second_page), 2);
    assert!(second_page.get("nextCursor").is_none());
    assert_eq!(first_page["items"][0]["kind"], "push");
    assert_eq!(first_page["items"][0]["stored"], 1);
    assert_eq!(ada.get("/api/sync/events?limit=0").await.refusal().0, 400);
}

async fn a_reset_deletes_everything_and_preserves_the_highest_stamp(database: TestDatabase) {
    let app = TestConfig::on(database).start().await;
    let ada = app.signed_in().await;
    let eve = app.signed_in().await;
    push(&ada, &todos(&[todo(1, 1, "x")])).await;
    push(&eve, &todos(&[todo(1, 1, "x")])).await;
    let previous_pull = pull(&ada, NOTHING).await;
    let path = format!("/api/sync/pull?since={}&limit=500", cursor(&previous_pull));
    let tag = ada.get(&path).await.header("etag").expect("a tag").to_owned();

    let reset_response = ada.send("DELETE", "/api/sync/reset", &[], b"").await;

    assert_eq!(reset_response.status, 200);
    assert_eq!(reset_response.body, json!({ "success": true }));
    let later_pull = pull(&ada, NOTHING).await;
    assert_eq!(changed_ids(&later_pull), (vec![], vec![]));
    assert!(cursor(&later_pull) > cursor(&previous_pull));
    assert_eq!(ada.send("GET", &path, &[("if-none-match", &tag)], b"").await.status, 200);
    assert_eq!(ada.get("/api/sync/events").await.body["items"][0]["kind"], "reset");
    assert_eq!(changed_ids(&pull(&eve, NOTHING).await).0, [id(1)]);

    let later_push = push(&ada, &todos(&[todo(1, 1, "x")])).await;
    assert!(cursor(&later_push) > cursor(&later_pull));
}
