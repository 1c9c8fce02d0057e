//! Tests of stored chats: sealed, exported, and erased with the account.

use pia_server_testkit::harness::{PASSWORD, TestConfig};
use pia_server_testkit::on_both_databases;
use pia_testkit::databases::TestDatabase;

use super::*;

on_both_databases!(chats_are_part_of_the_export, chats_are_deleted_with_their_account);

async fn chats_are_part_of_the_export(database: TestDatabase) {
    let app = TestConfig::on(database).start().await;
    let ada = app.signed_in().await;
    let id = create_chat(&ada).await;
    let deleted_id = create_chat(&ada).await;
    delete(&ada, &deleted_id).await;

    let json = [("accept", "application/json")];
    let export = ada.send("GET", "/auth/account/export", &json, b"").await;

    let chats = export.body["data"]["chats"].as_array().expect("chats");
    let exported = |id: &str| chats.iter().find(|it| it["id"] == id).expect("a chat");
    assert_eq!(chats.len(), 2, "{}", export.text());
    assert_eq!(exported(&id)["body"]["messages"][0]["content"], "Hello");
    assert_eq!(exported(&id)["updatedAt"], "2026-08-01T09:14:02Z");
    assert!(exported(&deleted_id)["deletedAt"].is_string());
    assert!(exported(&deleted_id).get("body").is_none());
}

async fn chats_are_deleted_with_their_account(database: TestDatabase) {
    let app = TestConfig::on(database).start().await;
    let ada = app.signed_in().await;
    let bob = app.signed_in().await;
    create_chat(&ada).await;
    let chat_of_bob = create_chat(&bob).await;

    let deletion = json!({ "confirm": "DELETE", "password": PASSWORD });
    let response = ada.post("/auth/account/delete", &deletion).await;

    assert_eq!(response.status, 200, "{}", response.text());
    assert_eq!(ada.get(CHATS).await.status, 401);
    assert_eq!(ids(&bob.get(CHATS).await.body["chats"]), [&*chat_of_bob]);
}

#[tokio::test(flavor = "multi_thread")]
async fn no_text_of_a_chat_is_readable_in_the_database() {
    let app = TestApp::spawn().await;
    let ada = app.signed_in().await;
    let mut document = chat(&new_id(), "2026-08-01T09:14:02Z");
    document["title"] = json!("a-canary-in-a-title");
    document["messages"][0]["content"] = json!("a-canary-in-a-message");

    assert_eq!(put(&ada, &document).await.status, 201);

    for file in app.database_files() {
        let bytes = std::fs::read(&file).expect("a file");
        assert!(memchr::memmem::find(&bytes, b"a-canary-in").is_none(), "{}", file.display());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_chat_that_cannot_be_decrypted_does_not_hide_the_others() {
    let app = TestApp::spawn().await;
    let ada = app.signed_in().await;
    let unreadable_id = create_chat(&ada).await;
    let readable_id = create_chat(&ada).await;
    let hex_id = unreadable_id.replace('-', "");
    execute(&app, &format!("UPDATE chats SET body = X'00' WHERE id = X'{hex_id}'")).await;

    let list = ada.get(CHATS).await;

    assert_eq!(ids(&list.body["chats"]), [&*readable_id]);
    assert_eq!(put(&ada, &chat(&unreadable_id, "2026-09-01T00:00:00Z")).await.status, 200);
    assert_eq!(ids(&ada.get(CHATS).await.body["chats"]).len(), 2);
}
