//! Tests of end-to-end encrypted accounts.

use pia_server_testkit::harness::TestConfig;
use pia_server_testkit::machine::encrypt;
use pia_server_testkit::on_both_databases;
use pia_testkit::databases::TestDatabase;
use serde_json::{Value, json};

use super::{NOTHING, changed_ids, id, pull, push, todo, todos};

on_both_databases!(
    an_encrypted_item_replaces_all_of_the_plain_one,
    undecryptable_items_alone_are_refused,
    encrypted_items_after_a_reset_are_refused,
    no_pushed_plaintext_is_in_the_database,
);

/// Ciphertext of the minimum length.
const PAYLOAD: &str = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";
const WRAPPED: &str =
    "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";

fn encrypted(items: &[Value]) -> Value {
    let mut body = todos(items);
    body["isE2EEEncrypted"] = json!(true);
    body
}

fn blobs(number: u128, payload: &str, wrapped: &str) -> Value {
    let mut item = todo(number, 1, "left over");
    item["encryptedPayload"] = json!(payload);
    item["wrappedDek"] = json!(wrapped);
    item
}

async fn an_encrypted_item_replaces_all_of_the_plain_one(database: TestDatabase) {
    let app = TestConfig::on(database).start().await;
    let ada = app.signed_in().await;
    push(&ada, &todos(&[todo(1, 1, "plain")])).await;
    encrypt(&ada).await;

    let pushed = push(&ada, &encrypted(&[blobs(1, PAYLOAD, WRAPPED)])).await;

    assert_eq!(pushed["conflicts"], json!([]));
    let stored_todo = pull(&ada, NOTHING).await["todos"]["upserted"][0].clone();
    assert_eq!(stored_todo["encryptedPayload"], json!(PAYLOAD));
    assert_eq!(stored_todo["sortOrder"], 1);
    assert!(stored_todo.get("title").is_none(), "{stored_todo}");
}

async fn undecryptable_items_alone_are_refused(database: TestDatabase) {
    let app = TestConfig::on(database).start().await;
    let ada = app.signed_in().await;
    encrypt(&ada).await;
    let items = [
        blobs(1, PAYLOAD, WRAPPED),
        blobs(2, "no base64", WRAPPED),
        blobs(3, PAYLOAD, PAYLOAD),
        blobs(4, "AAAA", WRAPPED),
        todo(5, 1, "plain"),
    ];

    let pushed = push(&ada, &encrypted(&items)).await;

    let reasons: Vec<_> = pushed["conflicts"]
        .as_array()
        .expect("conflicts")
        .iter()
        .map(|it| it["reason"].as_str().expect("a reason"))
        .collect();
    assert_eq!(reasons, ["invalid_blobs", "invalid_blobs", "invalid_blobs", "missing_blobs"]);
    assert_eq!(changed_ids(&pull(&ada, NOTHING).await).0, [id(1)]);
}

async fn encrypted_items_after_a_reset_are_refused(database: TestDatabase) {
    let app = TestConfig::on(database).start().await;
    let (ada, unaware_device) = app.two_devices().await;
    encrypt(&ada).await;
    push(&ada, &encrypted(&[blobs(1, PAYLOAD, WRAPPED)])).await;
    ada.send("DELETE", "/api/sync/reset", &[], b"").await;
    push(&ada, &todos(&[todo(2, 1, "plain")])).await;

    let pushed = push(&unaware_device, &encrypted(&[blobs(1, PAYLOAD, WRAPPED)])).await;

    let conflict = &pushed["conflicts"][0];
    assert_eq!(conflict["reason"], "account_not_encrypted");
    assert_eq!(conflict["id"], json!(id(1)));
    assert_eq!(conflict["resolution"], "server_wins");
    assert_eq!(changed_ids(&pull(&ada, NOTHING).await).0, [id(2)]);
}

async fn no_pushed_plaintext_is_in_the_database(database: TestDatabase) {
    let app = TestConfig::on(database).start().await;
    let ada = app.signed_in().await;
    let provider =
        json!({ "id": id(1), "apiKey": "sk-canary-of-a-key", "endpoint": "https://canary" });

    push(&ada, &json!({ "providers": [provider] })).await;

    assert_eq!(
        pull(&ada, NOTHING).await["providers"]["upserted"][0]["apiKey"],
        "sk-canary-of-a-key"
    );
    for file in app.database_files() {
        let bytes = std::fs::read(&file).expect("a file");
        let position = memchr::memmem::find(&bytes, b"canary");
        assert_eq!(position, None, "{}", file.display());
    }
}
