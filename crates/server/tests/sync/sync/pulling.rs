//! Tests of pulls: complete, and without repetition.

use std::collections::BTreeSet;
use std::io::Read as _;

use flate2::read::GzDecoder;
use pia_server_testkit::client::{Client, TestResponse};
use pia_server_testkit::harness::TestConfig;
use pia_server_testkit::on_both_databases;
use pia_testkit::databases::TestDatabase;
use serde_json::{Value, json};

use super::{NOTHING, changed_ids, cursor, id, pull, pull_with, push, todo, todos};

on_both_databases!(
    a_new_account_receives_the_catalogue_alone,
    pushed_items_are_pulled_once_by_another_device,
    an_unchanged_answer_is_304_in_one_statement,
    pages_of_any_size_have_every_item_once,
    a_long_answer_is_complete_with_its_length_and_compressed,
    a_cursor_from_the_future_is_answered_with_the_watermark,
    the_catalogue_is_omitted_if_the_device_has_it,
    pushed_items_are_invisible_to_other_users,
    times_and_unknown_keys_are_preserved,
);

async fn conditional(client: &Client, since: &str, tag: &str) -> TestResponse {
    let path = format!("/api/sync/pull?since={since}&limit=500");
    client.send("GET", &path, &[("if-none-match", tag)], b"").await
}

async fn a_new_account_receives_the_catalogue_alone(database: TestDatabase) {
    let app = TestConfig::on(database).start().await;

    let pulled = pull(&app.signed_in().await, NOTHING).await;

    assert_eq!(changed_ids(&pulled), (vec![], vec![]));
    assert_eq!(pulled["hasMore"], false);
    assert_eq!(pulled["managedPersonas"], json!({ "personas": [], "recentlyRemoved": [] }));
    assert_eq!(pulled["clientPolicy"], json!({ "document": "{}" }));

    let plugins = pulled["plugins"]["upserted"].as_array().expect("plugins");
    assert_eq!(plugins.len(), 3);
    assert_eq!(plugins[0]["id"], "10000000-0000-0000-0000-000000000001");
    assert!(pulled["catalogVersion"].as_i64().is_some());
    assert!(pulled.get("settings").is_none());
    assert!(pulled.get("pendingDevices").is_none());
    assert!(cursor(&pulled).ends_with('Z'));
}

async fn pushed_items_are_pulled_once_by_another_device(database: TestDatabase) {
    let app = TestConfig::on(database).start().await;
    let (desk, laptop) = app.two_devices().await;
    let previous_pull = pull(&laptop, NOTHING).await;

    let pushed = push(&desk, &todos(&[todo(1, 1, "one"), todo(2, 2, "two")])).await;
    let first_pull = pull(&laptop, cursor(&previous_pull)).await;
    let second_pull = pull(&laptop, cursor(&first_pull)).await;

    assert_eq!(pushed["conflicts"], json!([]));
    assert_eq!(changed_ids(&first_pull).0, [id(1), id(2)]);
    assert_eq!(first_pull["todos"]["upserted"][0]["title"], "one");
    assert_eq!(cursor(&first_pull), pushed["serverTimestamp"]);
    assert_eq!(changed_ids(&second_pull), (vec![], vec![]));
    assert_eq!(cursor(&second_pull), cursor(&first_pull));
}

async fn an_unchanged_answer_is_304_in_one_statement(database: TestDatabase) {
    let app = TestConfig::on(database).start().await;
    let ada = app.signed_in().await;
    push(&ada, &todos(&[todo(1, 1, "one")])).await;
    let since = cursor(&pull(&ada, NOTHING).await).to_owned();
    let full_response = pull_with(&ada, &since, "&limit=500").await;
    let tag = full_response.header("etag").expect("a tag").to_owned();
    let strong_tag = tag.trim_start_matches("W/").to_owned();

    for known_tag in [tag.clone(), strong_tag, format!("\"other\", {tag}")] {
        let answer = conditional(&ada, &since, &known_tag).await;

        assert_eq!(answer.status, 304, "{known_tag}");
        assert_eq!(answer.bytes.len(), 0, "{known_tag}");
        assert_eq!(answer.header("etag"), Some(tag.as_str()));
    }

    // A replay and a deletion of a missing item change nothing.
    push(&ada, &todos(&[todo(1, 1, "one")])).await;
    push(&ada, &json!({ "todos": { "deleted": [id(9)] } })).await;
    assert_eq!(conditional(&ada, &since, &tag).await.status, 304);

    push(&ada, &todos(&[todo(2, 1, "two")])).await;
    assert_eq!(conditional(&ada, &since, &tag).await.status, 200);
    assert_eq!(conditional(&ada, NOTHING, &tag).await.status, 200);

    app.reload(&json!({ "Sync": { "DisableFastPath304": true } }));
    let fresh_response = pull_with(&ada, &since, "&limit=500").await;
    let tag = fresh_response.header("etag").expect("a tag").to_owned();
    assert_eq!(conditional(&ada, &since, &tag).await.status, 200);
}

async fn pages_of_any_size_have_every_item_once(database: TestDatabase) {
    let app = TestConfig::on(database).start().await;
    let ada = app.signed_in().await;
    let session = |it: u128| json!({ "id": id(1000 + it), "createdAt": "2026-03-01T10:00:00Z" });
    let body = json!({
        "todos": { "upserted": (0..20).map(|it| todo(it, 1, "x")).collect::<Vec<_>>() },
        "sessions": { "added": (0..20).map(session).collect::<Vec<_>>() },
        "settings": { "theme": 1, "modifiedAt": "2026-03-01T10:00:00Z" },
    });
    push(&ada, &body).await;

    let mut since = NOTHING.to_owned();
    let mut pulled_ids = Vec::new();
    let mut page_count = 0;
    let mut settings_count = 0;
    loop {
        let page = pull_with(&ada, &since, "&limit=7").await.body;
        page_count += 1;
        pulled_ids.extend(changed_ids(&page).0);
        settings_count += usize::from(page.get("settings").is_some());
        assert!(cursor(&page) > since.as_str());
        cursor(&page).clone_into(&mut since);
        if page["hasMore"] == false {
            break;
        }
    }

    assert_eq!(pulled_ids.len(), 40);
    assert_eq!(pulled_ids.iter().collect::<BTreeSet<_>>().len(), 40);
    assert_eq!(settings_count, 1);
    assert_eq!(page_count, 6, "41 items, 7 a page");
}

async fn a_long_answer_is_complete_with_its_length_and_compressed(database: TestDatabase) {
    let app = TestConfig::on(database).start().await;
    let ada = app.signed_in().await;
    let title = "x".repeat(1_000);
    let items: Vec<_> = (0..500).map(|it| todo(it, 1, &title)).collect();
    push(&ada, &todos(&items)).await;
    push(&ada, &json!({ "todos": { "deleted": [id(7)] }, "settings": { "theme": 1 } })).await;

    let full_response = pull_with(&ada, NOTHING, "").await;
    let path = format!("/api/sync/pull?since={NOTHING}");
    let compressed_response = ada.send("GET", &path, &[("accept-encoding", "gzip")], b"").await;

    let (added, deleted) = changed_ids(&full_response.body);
    assert_eq!(added.len(), 499);
    assert_eq!(deleted, [id(7)]);
    assert_eq!(full_response.body["settings"]["theme"], 1);
    assert_eq!(full_response.body["hasMore"], false);

    let length = full_response.header("content-length").map(str::parse);
    assert_eq!(length, Some(Ok(full_response.bytes.len())));
    assert_eq!(full_response.header("content-type"), Some("application/json"));

    let tag = full_response.header("etag").expect("a tag");
    assert_eq!(compressed_response.header("content-encoding"), Some("gzip"));
    assert_eq!(compressed_response.header("etag"), Some(tag));

    let mut decompressed = Vec::new();
    let mut decoder = GzDecoder::new(compressed_response.bytes.as_slice());
    decoder.read_to_end(&mut decompressed).expect("a complete answer");
    assert_eq!(decompressed, full_response.bytes);
}

async fn a_cursor_from_the_future_is_answered_with_the_watermark(database: TestDatabase) {
    let app = TestConfig::on(database).start().await;
    let ada = app.signed_in().await;
    let pushed = push(&ada, &todos(&[todo(1, 1, "one")])).await;

    let pulled = pull(&ada, "2099-01-01T00:00:00Z").await;

    assert_eq!(cursor(&pulled), pushed["serverTimestamp"]);
    assert_eq!(changed_ids(&pulled), (vec![], vec![]));
    assert_eq!(pulled["hasMore"], false);
}

async fn the_catalogue_is_omitted_if_the_device_has_it(database: TestDatabase) {
    let app = TestConfig::on(database).start().await;
    let ada = app.signed_in().await;
    let eve = app.signed_in().await;
    let version = pull(&ada, NOTHING).await["catalogVersion"].clone();
    let more = format!("&catalogVersion={version}");

    let unchanged_body = pull_with(&ada, NOTHING, &more).await.body;
    let memory = "10000000-0000-0000-0000-000000000001";
    let preferences = json!([
        { "pluginId": memory, "isEnabled": false },
        { "pluginId": id(5), "isEnabled": true },
    ]);
    push(&ada, &json!({ "pluginPreferences": preferences })).await;
    let changed_body = pull_with(&ada, NOTHING, &more).await.body;

    assert_eq!(unchanged_body["plugins"], json!({ "upserted": [], "deleted": [] }));
    assert!(unchanged_body.get("managedPersonas").is_none());
    assert!(unchanged_body.get("clientPolicy").is_none());
    assert_ne!(changed_body["catalogVersion"], version);

    let enabled = |of: &Value| -> Vec<Value> {
        of["plugins"]["upserted"]
            .as_array()
            .expect("plugins")
            .iter()
            .map(|it| it.get("userEnabled").cloned().unwrap_or_default())
            .collect()
    };
    assert_eq!(enabled(&changed_body), [json!(false), Value::Null, Value::Null]);
    assert_eq!(enabled(&pull(&eve, NOTHING).await), [Value::Null, Value::Null, Value::Null]);
}

async fn pushed_items_are_invisible_to_other_users(database: TestDatabase) {
    let app = TestConfig::on(database).start().await;
    let ada = app.signed_in().await;
    let eve = app.signed_in().await;
    push(&ada, &todos(&[todo(1, 1, "hers")])).await;

    push(&eve, &todos(&[todo(1, 2, "his")])).await;
    push(&eve, &json!({ "todos": { "deleted": [id(1)] } })).await;

    let pulled = pull(&ada, NOTHING).await;
    assert_eq!(pulled["todos"]["upserted"][0]["title"], "hers");
    assert_eq!(changed_ids(&pull(&eve, NOTHING).await), (vec![], vec![id(1)]));
}

async fn times_and_unknown_keys_are_preserved(database: TestDatabase) {
    let app = TestConfig::on(database).start().await;
    let ada = app.signed_in().await;
    let persona = json!({
        "id": id(1), "name": "Ada", "systemPrompt": "Count.", "toolScope": 77,
        "createdAt": "0001-01-01T00:00:00", "updatedAt": "9999-12-31T23:59:59.9999999Z",
        "brandNew": { "deep": [1, 2.5, "x"] },
    });

    push(&ada, &json!({ "personas": { "upserted": [persona] } })).await;

    let stored_persona = pull(&ada, NOTHING).await["personas"]["upserted"][0].clone();
    assert_eq!(stored_persona["createdAt"], "0001-01-01T00:00:00Z");
    assert_eq!(stored_persona["updatedAt"], "9999-12-31T23:59:59.999999Z");
    assert_eq!(stored_persona["toolScope"], 77);
    assert_eq!(stored_persona["brandNew"], json!({ "deep": [1, 2.5, "x"] }));
}
