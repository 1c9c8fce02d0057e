//! Tests of single chats: storing, reading and deleting.

use pia_server_testkit::harness::TestConfig;
use pia_server_testkit::on_both_databases;
use pia_testkit::databases::TestDatabase;

use super::*;

on_both_databases!(
    a_chat_is_returned_as_it_was_written,
    a_losing_write_is_answered_with_the_winner,
    a_write_of_equal_time_wins,
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
    let stored_chat = get(&ada, &id).await;
    let second_response = put_text(&ada, &id, &document).await;

    assert_eq!(creation_response.status, 201, "{}", creation_response.text());
    assert_eq!(stored_chat.status, 200);
    assert_eq!(second_response.status, 200);
    assert_eq!(creation_response.bytes, stored_chat.bytes);
    assert_eq!(stored_chat.bytes, second_response.bytes);
    assert_eq!(stored_chat.header("content-type"), Some("application/json"));
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
        assert!(stored_chat.text().contains(part), "{part} in {}", stored_chat.text());
    }
    assert!(stored_chat.body.get("title").is_none());
    assert!(stored_chat.body.get("server_stamp").is_none());
    assert_eq!(stored_chat.body["id"], *id);
}

async fn a_losing_write_is_answered_with_the_winner(database: TestDatabase) {
    let app = TestConfig::on(database).start().await;
    let ada = app.signed_in().await;
    let id = new_id();
    put(&ada, &chat(&id, LATE)).await;

    let response = put(&ada, &chat(&id, EARLY)).await;

    assert_eq!(response.status, 409);
    assert_eq!(response.header("content-type"), Some("application/json"));
    assert_eq!(response.body["id"], json!(id));
    assert_eq!(response.body["updatedAt"], json!(LATE));
    assert_eq!(response.body["messages"][0]["content"], "Hello");
    assert!(response.body.get("error").is_none());
}

async fn a_write_of_equal_time_wins(database: TestDatabase) {
    let app = TestConfig::on(database).start().await;
    let ada = app.signed_in().await;
    let id = new_id();
    put(&ada, &chat(&id, LATE)).await;

    let late_in_another_zone = LATE.replace("09:", "11:").replace('Z', "+02:00");
    let zoned_response = put(&ada, &chat(&id, &late_in_another_zone)).await;
    let equal_response = put(&ada, &chat(&id, LATE)).await;
    // A tenth of a microsecond is ignored.
    let rounded_response = put(&ada, &chat(&id, "2026-08-01T09:14:02.1837763Z")).await;

    assert_eq!(zoned_response.body["updatedAt"], LATE, "times are returned in UTC");
    assert_eq!(equal_response.status, 200);
    assert_eq!(rounded_response.status, 200);
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
    let future_id = new_id();
    put(&ada, &chat(&future_id, "2199-01-01T00:00:00Z")).await;

    // Deletions of a deleted chat and of unknown ones succeed too.
    for id_to_delete in [&*id, &id, &new_id(), "5", &future_id] {
        let response = delete(&ada, id_to_delete).await;
        assert_eq!(response.status, 204, "{}", response.text());
        assert_eq!(response.bytes.len(), 0);
    }
    assert_eq!(get(&ada, &id).await.refusal(), (404, "not_found"));

    let earlier_response = put(&ada, &chat(&id, "2026-08-02T00:00:00Z")).await;
    assert_eq!(earlier_response.refusal(), (410, "chat_deleted"));
    // The deletion is no earlier than the chat that it deleted.
    let equal_response = put(&ada, &chat(&future_id, "2199-01-01T00:00:00Z")).await;
    assert_eq!(equal_response.refusal(), (410, "chat_deleted"));

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

    assert_eq!(creation_response.status, 201, "{}", creation_response.text());
    assert_eq!(get(&ada, &id).await.body["title"], "A title");
    assert_eq!(get(&bob, &id).await.body["title"], "Bob's");
    assert_eq!(ids(&bob.get(CHATS).await.body["chats"]), [&*id]);

    delete(&bob, &id).await;

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
    let id = create_chat(&ada).await;
    create_chat(&ada).await;

    let creation_response = put(&ada, &chat(&new_id(), EARLY)).await;
    let replacement_response = put(&ada, &chat(&id, "2026-09-01T00:00:00Z")).await;

    assert_eq!(creation_response.refusal(), (409, "quota_exceeded"));
    assert_eq!(creation_response.body["resource"], "chats");
    assert_eq!(creation_response.body["limit"], 2);
    assert_eq!(creation_response.body["current"], 2);
    assert_eq!(replacement_response.status, 200);

    // A deletion makes room for another.
    delete(&ada, &id).await;
    create_chat(&ada).await;
}
