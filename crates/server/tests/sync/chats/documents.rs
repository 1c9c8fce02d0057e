//! Tests of single chats: storing, reading and deleting.

use pia_server_testkit::harness::TestConfig;
use pia_server_testkit::on_both_databases;
use pia_testkit::databases::TestDatabase;

use super::*;

on_both_databases!(
    a_chat_is_returned_as_it_was_written,
    a_losing_write_is_answered_with_the_winner,
    the_creation_time_of_a_chat_is_immutable,
    a_deleted_chat_is_restored_by_a_later_version_only,
    two_users_may_have_chats_with_one_id,
    the_latest_of_concurrent_writes_wins,
    the_number_of_chats_is_limited_by_the_settings,
);

const EARLY: &str = "2026-08-01T09:14:02.1837744Z";
const LATE: &str = "2026-08-01T09:14:02.1837764Z";

async fn a_chat_is_returned_as_it_was_written(database: TestDatabase) {
    let app = TestConfig::on(database).start().await;
    let ada = app.signed_in().await;
    let id = new_id();
    let document = format!(
        r#"{{"id":"{id}","SchemaVersion":1,"title":null,"createdAt":"{EARLY}","UpdatedAt":"{EARLY}",
            "future":{{"number":1.0,"big":123456789012345678901234567890,"null":null}},
            "server_stamp":5,"isFavorite":true,
            "messages":[{{"id":"{id}","role":"tool","content":"\u00fc\ud83d\ude00","future":[1.50,{{}}]}}]}}"#
    );

    let creation_response = put_text(&ada, &id, &document).await;
    let fetched = get(&ada, &id).await;
    let second_response = put_text(&ada, &id, &document).await;

    assert_eq!(creation_response.status, 201, "{}", creation_response.text());
    assert_eq!(fetched.status, 200);
    assert_eq!(second_response.status, 200);
    assert_eq!(creation_response.bytes, fetched.bytes);
    assert_eq!(fetched.bytes, second_response.bytes);
    assert_eq!(fetched.header("content-type"), Some("application/json"));
    for part in [
        r#""future":{"number":1.0,"big":123456789012345678901234567890,"null":null}"#,
        &format!(
            r#"[{{"id":"{id}","role":"tool","content":"\u00fc\ud83d\ude00","future":[1.50,{{}}]}}]"#
        ),
        &format!(r#""updatedAt":"{EARLY}""#),
        &format!(r#""lastAccessedAt":"{EARLY}""#),
        r#""schemaVersion":1"#,
        r#""isFavorite":true"#,
    ] {
        assert!(fetched.text().contains(part), "{part} in {}", fetched.text());
    }
    assert!(fetched.body.get("title").is_none() && fetched.body.get("server_stamp").is_none());
    assert_eq!(fetched.body["id"], *id);
}

async fn a_losing_write_is_answered_with_the_winner(database: TestDatabase) {
    let app = TestConfig::on(database).start().await;
    let ada = app.signed_in().await;
    let id = new_id();
    put(&ada, &chat(&id, LATE)).await;

    // Times are returned in UTC.
    let lost_response = put(&ada, &chat(&id, EARLY)).await;
    let zoned = LATE.replace("09:", "11:").replace('Z', "+02:00");
    assert_eq!(put(&ada, &chat(&id, &zoned)).await.body["updatedAt"], LATE);
    let equal = put(&ada, &chat(&id, LATE)).await;
    // A tenth of a microsecond is ignored.
    let as_good_as_equal = put(&ada, &chat(&id, "2026-08-01T09:14:02.1837763Z")).await;

    assert_eq!(lost_response.status, 409);
    assert_eq!(lost_response.body["id"], json!(id));
    assert_eq!(lost_response.body["updatedAt"], json!(LATE));
    assert!(
        lost_response.body.get("error").is_none()
            && lost_response.body["messages"][0]["content"] == "Hello"
    );
    assert_eq!(lost_response.header("content-type"), Some("application/json"));
    assert_eq!(equal.status, 200);
    assert_eq!(as_good_as_equal.status, 200);
}

async fn the_creation_time_of_a_chat_is_immutable(database: TestDatabase) {
    let app = TestConfig::on(database).start().await;
    let ada = app.signed_in().await;
    let id = new_id();
    let mut newer = chat(&id, LATE);
    newer["createdAt"] = json!("2020-01-01T00:00:00Z");
    put(&ada, &chat(&id, EARLY)).await;

    let replacement_response = put(&ada, &newer).await;

    assert_eq!(replacement_response.status, 200);
    assert_eq!(replacement_response.body["updatedAt"], json!(LATE));
    assert_eq!(replacement_response.body["createdAt"], "2026-01-01T00:00:00Z");
    assert_eq!(get(&ada, &id).await.body, replacement_response.body);
}

async fn a_deleted_chat_is_restored_by_a_later_version_only(database: TestDatabase) {
    let app = TestConfig::on(database).start().await;
    let ada = app.signed_in().await;
    let id = create_chat(&ada).await;
    let ahead = new_id();
    put(&ada, &chat(&ahead, "2199-01-01T00:00:00Z")).await;

    let deletions =
        [delete(&ada, &id).await, delete(&ada, &id).await, delete(&ada, &new_id()).await];
    let refusals = [delete(&ada, "5").await, delete(&ada, &ahead).await];

    for answer in deletions.iter().chain(&refusals) {
        assert_eq!(answer.status, 204, "{}", answer.text());
        assert_eq!(answer.bytes.len(), 0);
    }
    assert_eq!(get(&ada, &id).await.refusal(), (404, "not_found"));

    let stale = put(&ada, &chat(&id, "2026-08-02T00:00:00Z")).await;
    assert_eq!(stale.refusal(), (410, "chat_deleted"), "{}", stale.text());
    let ahead_again = put(&ada, &chat(&ahead, "2199-01-01T00:00:00Z")).await;
    assert_eq!(
        ahead_again.refusal(),
        (410, "chat_deleted"),
        "the deletion is no earlier than the chat"
    );

    let later_response = put(&ada, &chat(&id, "2198-01-01T00:00:00Z")).await;
    assert_eq!(later_response.status, 201);
    assert_eq!(get(&ada, &id).await.status, 200);
}

async fn two_users_may_have_chats_with_one_id(database: TestDatabase) {
    let app = TestConfig::on(database).start().await;
    let ada = app.signed_in().await;
    let bob = app.signed_in().await;
    let id = create_chat(&ada).await;
    let mut bobs_chat = chat(&id, "2020-01-01T00:00:00Z");
    bobs_chat["title"] = json!("Bob's");

    let creation_response = put(&bob, &bobs_chat).await;
    let fetched = (get(&ada, &id).await, get(&bob, &id).await);
    let list = bob.get(CHATS).await;
    delete(&bob, &id).await;

    assert_eq!(creation_response.status, 201, "{}", creation_response.text());
    assert_eq!(fetched.0.body["title"], "A title");
    assert_eq!(fetched.1.body["title"], "Bob's");
    assert_eq!(ids(&list.body["chats"]), [&*id]);
    assert_eq!(get(&ada, &id).await.status, 200);
    assert_eq!(get(&bob, &id).await.status, 404);
}

async fn the_latest_of_concurrent_writes_wins(database: TestDatabase) {
    let app = TestConfig::on(database).start().await;
    let ada = app.signed_in().await;
    let id = new_id();
    let versions: Vec<Value> =
        (0..12).map(|it| chat(&id, &format!("2026-08-01T00:00:{:02}Z", (it * 5) % 12))).collect();

    let answers = futures_util::future::join_all(versions.iter().map(|it| put(&ada, it))).await;

    assert_eq!(answers.iter().filter(|it| it.status == 201).count(), 1);
    assert!(answers.iter().all(|it| [200, 201, 409].contains(&it.status)));
    assert_eq!(get(&ada, &id).await.body["updatedAt"], "2026-08-01T00:00:11Z");
}

async fn the_number_of_chats_is_limited_by_the_settings(database: TestDatabase) {
    let app = TestConfig::on(database).with("Sync__MaxChats", 2).start().await;
    let ada = app.signed_in().await;
    let first_chat = create_chat(&ada).await;
    let _second = create_chat(&ada).await;

    let third_response = put(&ada, &chat(&new_id(), EARLY)).await;
    let change = put(&ada, &chat(&first_chat, "2026-09-01T00:00:00Z")).await;

    assert_eq!(third_response.refusal(), (409, "quota_exceeded"));
    assert_eq!(
        [
            &third_response.body["resource"],
            &third_response.body["limit"],
            &third_response.body["current"]
        ],
        [&json!("chats"), &json!(2), &json!(2)]
    );
    assert_eq!(change.status, 200);

    delete(&ada, &first_chat).await;
    create_chat(&ada).await;
}
