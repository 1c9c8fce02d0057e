//! A server that was restored from an older backup.

use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use pia_kernel::Timestamp;
use pia_server_testkit::client::Client;
use pia_server_testkit::harness::{PASSWORD, Setting, TestApp};
use pia_server_testkit::on_both_databases;
use pia_storage::schema::{ledgers, sync_items};
use pia_storage::{Database, DbError, DbInstant, in_tx};
use pia_testkit::databases::TestDatabase;
use serde_json::{Value, json};

use super::{NOTHING, cursor, id, moved, pull, pull_with, push, todo, todos};

on_both_databases!(
    devices_bring_back_what_a_restored_server_lacks,
    who_comes_after_another_has_written_brings_its_own_back_too
);

/// Makes the database what it was when this was the highest stamp.
async fn restore(db: &Database, stamp: &str) {
    let stamp: Timestamp = serde_json::from_value(stamp.into()).expect("a stamp");
    let done: Result<(), DbError> = async {
        in_tx!(db, async |conn| -> Result<(), DbError> {
            let lost = sync_items::table.filter(sync_items::stamp.gt(DbInstant(stamp)));
            diesel::delete(lost).execute(conn).await?;
            let back = ledgers::last_stamp.eq(DbInstant(stamp));
            diesel::update(ledgers::table).set(back).execute(conn).await?;
            Ok(())
        })
    }
    .await;
    done.expect("an older state");
}

/// A todo that was changed just now.
fn written_now(number: u128) -> Value {
    let mut todo = todo(number, 1, "new");
    let now = pia_kernel::Clock::now(&pia_kernel::SystemClock).to_string();
    todo["updatedAt"] = json!(now);
    todo
}

async fn devices_bring_back_what_a_restored_server_lacks(database: TestDatabase) {
    let db = database.connect().await;
    let app = Setting::on(database).start().await;
    let (one, other) = app.two_devices().await;
    let backup = push(&one, &todos(&[todo(1, 1, "old")])).await;
    let backup = backup["serverTimestamp"].as_str().expect("a stamp").to_owned();
    let late = written_now(2);
    push(&one, &todos(std::slice::from_ref(&late))).await;
    let seen = pull(&other, NOTHING).await;
    let path = format!("/api/sync/pull?since={}&limit=500", cursor(&seen));
    let tag = one.get(&path).await.header("etag").expect("a tag").to_owned();

    restore(&db, &backup).await;
    let reported = one.send("GET", &path, &[("if-none-match", &tag)], b"").await;
    // Changes since the cursor that the device gets now.
    assert!(late["updatedAt"].as_str() > Some(cursor(&reported.body)));
    push(&one, &todos(&[late])).await;
    let other_reported = pull(&other, cursor(&reported.body)).await;

    assert_eq!(reported.status, 200);
    assert_eq!(
        (cursor(&reported.body), &reported.body["hasMore"]),
        (backup.as_str(), &json!(false))
    );
    assert_eq!(moved(&pull(&one, NOTHING).await).0, [id(1), id(2)]);
    assert_eq!(moved(&other_reported).0, [id(2)]);
}

async fn sign_in(app: &TestApp, email: &str) -> Client {
    let person = json!({ "email": email, "password": PASSWORD });
    let envelope = app.stranger().post("/auth/login/local", &person).await;
    app.stranger().with_tokens(&envelope.body)
}

async fn who_comes_after_another_has_written_brings_its_own_back_too(database: TestDatabase) {
    let db = database.connect().await;
    let lost = Setting::on(database).start().await;
    let (email, todos_of) = ("ada@example.org", |it: &Value| todos(std::slice::from_ref(it)));
    let backup = push(&lost.sign_up(email).await, &todos_of(&todo(1, 1, "old"))).await;
    let late = written_now(2);
    let seen = push(&sign_in(&lost, email).await, &todos_of(&late)).await;

    restore(&db, cursor(&backup)).await;
    let restored = Setting::beside(&lost).start().await;
    let (one, other) = (sign_in(&restored, email).await, sign_in(&restored, email).await);
    // Who was not there in the time that was lost sees nothing of it.
    let written = push(&one, &todos_of(&todo(3, 1, "new"))).await;
    assert!(cursor(&written) > cursor(&seen));
    let reported = pull(&other, cursor(&seen)).await;
    let as_before_pages = pull_with(&other, cursor(&seen), "").await;
    assert!(late["updatedAt"].as_str() > Some(cursor(&reported)));
    push(&other, &todos_of(&late)).await;

    assert_eq!((cursor(&reported), &reported["hasMore"]), (cursor(&backup), &json!(false)));
    assert_eq!(moved(&reported).0, [id(3)]);
    assert_eq!(cursor(&as_before_pages.body), cursor(&written));
    assert_eq!(moved(&pull(&other, cursor(&reported)).await).0, [id(3), id(2)]);
    assert_eq!(moved(&pull(&one, NOTHING).await).0, [id(1), id(3), id(2)]);
}
