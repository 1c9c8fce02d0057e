//! Tests of a server that was restored from an older backup.

use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use pia_kernel::Timestamp;
use pia_server_testkit::client::Client;
use pia_server_testkit::harness::{PASSWORD, TestApp, TestConfig};
use pia_server_testkit::on_both_databases;
use pia_storage::schema::{ledgers, sync_items};
use pia_storage::{Database, DbError, DbInstant, in_tx};
use pia_testkit::databases::TestDatabase;
use serde_json::{Value, json};

use super::{NOTHING, changed_ids, cursor, id, pull, pull_with, push, todo, todos};

on_both_databases!(
    devices_push_items_again_that_a_restored_server_lacks,
    a_device_that_returns_after_new_writes_pushes_its_items_again_too
);

/// Restores the state in which this was the highest stamp.
async fn restore(db: &Database, stamp: &str) {
    let stamp: Timestamp = serde_json::from_value(stamp.into()).expect("a stamp");
    let result: Result<(), DbError> = async {
        in_tx!(db, async |conn| -> Result<(), DbError> {
            let lost = sync_items::table.filter(sync_items::stamp.gt(DbInstant(stamp)));
            diesel::delete(lost).execute(conn).await?;
            let back = ledgers::last_stamp.eq(DbInstant(stamp));
            diesel::update(ledgers::table).set(back).execute(conn).await?;
            Ok(())
        })
    }
    .await;
    result.expect("an older state");
}

/// Returns a to-do item that was changed just now.
fn written_now(number: u128) -> Value {
    let mut todo = todo(number, 1, "new");
    let now = pia_kernel::Clock::now(&pia_kernel::SystemClock).to_string();
    todo["updatedAt"] = json!(now);
    todo
}

async fn devices_push_items_again_that_a_restored_server_lacks(database: TestDatabase) {
    let db = database.connect().await;
    let app = TestConfig::on(database).start().await;
    let (desk, laptop) = app.two_devices().await;
    let backup = push(&desk, &todos(&[todo(1, 1, "old")])).await;
    let late_todo = written_now(2);
    push(&desk, &todos(std::slice::from_ref(&late_todo))).await;
    let pulled = pull(&laptop, NOTHING).await;
    let path = format!("/api/sync/pull?since={}&limit=500", cursor(&pulled));
    let tag = desk.get(&path).await.header("etag").expect("a tag").to_owned();

    restore(&db, cursor(&backup)).await;
    let response = desk.send("GET", &path, &[("if-none-match", &tag)], b"").await;
    // The item was changed since the cursor that the device receives now.
    assert!(late_todo["updatedAt"].as_str() > Some(cursor(&response.body)));
    push(&desk, &todos(&[late_todo])).await;
    let pulled_by_laptop = pull(&laptop, cursor(&response.body)).await;

    assert_eq!(response.status, 200);
    assert_eq!(cursor(&response.body), cursor(&backup));
    assert_eq!(response.body["hasMore"], false);
    assert_eq!(changed_ids(&pull(&desk, NOTHING).await).0, [id(1), id(2)]);
    assert_eq!(changed_ids(&pulled_by_laptop).0, [id(2)]);
}

async fn sign_in(app: &TestApp, email: &str) -> Client {
    let person = json!({ "email": email, "password": PASSWORD });
    let envelope = app.anonymous().post("/auth/login/local", &person).await;
    app.anonymous().with_tokens(&envelope.body)
}

async fn a_device_that_returns_after_new_writes_pushes_its_items_again_too(database: TestDatabase) {
    let db = database.connect().await;
    let lost_server = TestConfig::on(database).start().await;
    let email = "ada@example.org";
    let todos_of = |it: &Value| todos(std::slice::from_ref(it));
    let backup = push(&lost_server.sign_up(email).await, &todos_of(&todo(1, 1, "old"))).await;
    let late_todo = written_now(2);
    let before_restore = push(&sign_in(&lost_server, email).await, &todos_of(&late_todo)).await;

    restore(&db, cursor(&backup)).await;
    let restored_server = TestConfig::beside(&lost_server).start().await;
    let first_client = sign_in(&restored_server, email).await;
    let second_client = sign_in(&restored_server, email).await;
    // A device without a cursor of the lost period does not notice the restore.
    let written = push(&first_client, &todos_of(&todo(3, 1, "new"))).await;
    assert!(cursor(&written) > cursor(&before_restore));

    let pulled = pull(&second_client, cursor(&before_restore)).await;
    let as_before_pages = pull_with(&second_client, cursor(&before_restore), "").await;
    assert!(late_todo["updatedAt"].as_str() > Some(cursor(&pulled)));
    push(&second_client, &todos_of(&late_todo)).await;

    assert_eq!(cursor(&pulled), cursor(&backup));
    assert_eq!(pulled["hasMore"], false);
    assert_eq!(changed_ids(&pulled).0, [id(3)]);
    assert_eq!(cursor(&as_before_pages.body), cursor(&written));
    assert_eq!(changed_ids(&pull(&second_client, cursor(&pulled)).await).0, [id(3), id(2)]);
    assert_eq!(changed_ids(&pull(&first_client, NOTHING).await).0, [id(1), id(3), id(2)]);
}
