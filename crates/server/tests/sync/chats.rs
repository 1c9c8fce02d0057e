//! Tests of stored chats.

mod at_rest;
mod bodies;
mod documents;
mod encrypted;
mod hosted;
mod lists;
mod memory;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use diesel_async::SimpleAsyncConnection;
use pia_server_testkit::chats::{CHATS, chat, create_chat, delete, new_id, put, put_text};
use pia_server_testkit::client::{Client, TestResponse};
use pia_server_testkit::harness::TestApp;
use pia_storage::{Conn, Database, DatabaseOptions};
use serde_json::{Value, json};

const JSON: (&str, &str) = ("content-type", "application/json");

/// Returns an encrypted chat, for its owner's devices alone.
fn encrypted(id: &str, updated_at: &str) -> Value {
    let mut chat = chat(id, updated_at);
    chat["encryptedPayload"] = STANDARD.encode([0xfb; 200]).into();
    chat["wrappedDek"] = STANDARD.encode([0xfb; 60]).into();
    chat["messages"] = json!([]);
    chat
}

async fn get(client: &Client, id: &str) -> TestResponse {
    client.get(&format!("{CHATS}/{id}")).await
}

/// Returns the fields that a chat is refused for.
fn fields(answer: &TestResponse) -> Vec<&str> {
    let errors = answer.body["errors"].as_array().map(Vec::as_slice).unwrap_or_default();
    errors.iter().filter_map(|it| it["field"].as_str()).collect()
}

/// Returns the ids of a list, in its order.
fn ids(list: &Value) -> Vec<String> {
    let chats = list.as_array().expect("a list");
    let id = |it: &Value| it.as_str().or(it["id"].as_str()).map(str::to_owned);
    chats.iter().map(|it| id(it).expect("an id")).collect()
}

async fn execute(app: &TestApp, sql: &str) {
    let db =
        Database::open(&app.database().target(), DatabaseOptions::default()).expect("a database");
    let result = match db.writer().await.expect("a connection") {
        Conn::Sqlite(mut conn) => conn.batch_execute(sql).await,
        Conn::Postgres(mut conn) => conn.batch_execute(sql).await,
    };
    result.unwrap_or_else(|err| panic!("{sql}: {err}"));
}

/// Marks all accounts with stored data as encrypted.
async fn encrypt(app: &TestApp) {
    execute(app, "UPDATE ledgers SET encrypted_at = last_stamp").await;
}
