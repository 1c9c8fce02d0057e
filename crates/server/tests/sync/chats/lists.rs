//! Tests of lists of chats, as devices read them.

use pia_server_testkit::harness::TestConfig;
use pia_server_testkit::on_both_databases;
use pia_testkit::databases::TestDatabase;

use super::*;

on_both_databases!(
    a_list_has_full_chats_in_the_order_of_their_changes,
    pages_follow_by_a_cursor_with_any_escaping,
    an_older_chat_that_arrived_later_is_listed,
    deleted_chats_are_listed_by_id,
    an_unchanged_list_is_not_sent_again,
    a_list_is_sent_again_if_the_tag_is_of_another,
    a_list_is_sent_again_after_a_write_or_deletion,
    a_list_of_long_chats_is_split_into_pages,
);

/// List of the chats since the start of 2026, with deleted ones.
const LIST_SINCE: &str = "/api/v1/chats?includeDeleted=true&since=2026-01-01T00:00:00Z";

fn escaped(text: &str) -> String {
    let plain = |it: u8| it.is_ascii_alphanumeric();
    text.bytes()
        .map(|it| if plain(it) { char::from(it).to_string() } else { format!("%{it:02X}") })
        .collect()
}

fn keys(body: &Value) -> Vec<&str> {
    let mut keys: Vec<_> =
        body.as_object().expect("an object").keys().map(String::as_str).collect();
    keys.sort_unstable();
    keys
}

async fn put_at(client: &Client, updated_at: &str) -> String {
    let id = new_id();
    let answer = put(client, &chat(&id, updated_at)).await;
    assert_eq!(answer.status, 201, "{}", answer.text());
    id
}

/// Ids of chats and of deleted chats, from all pages of a list.
#[derive(Default)]
struct ChatIds {
    chats: Vec<String>,
    deleted: Vec<String>,
    page_count: usize,
}

/// Reads all pages like a device, by `since` and cursors.
async fn pull_pages(client: &Client, query: &str, limit: usize) -> ChatIds {
    let mut all_ids = ChatIds::default();
    let mut cursor = String::new();
    loop {
        let answer = client.get(&format!("{CHATS}?{query}&limit={limit}{cursor}")).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        all_ids.chats.extend(ids(&answer.body["chats"]));
        all_ids.deleted.extend(ids(answer.body.get("deleted").unwrap_or(&json!([]))));
        all_ids.page_count += 1;
        assert_eq!(answer.body["hasMore"], answer.body["nextCursor"].is_string());
        let Some(next) = answer.body["nextCursor"].as_str() else { break };
        cursor = format!("&cursor={}", escaped(next));
    }
    all_ids
}

/// Requests a list, with 304 as the answer if it has this tag.
async fn get_unless(client: &Client, path: &str, tag: &str) -> TestResponse {
    client.send("GET", path, &[("if-none-match", tag)], b"").await
}

async fn tag_of_list(client: &Client) -> String {
    let list = client.get(LIST_SINCE).await;
    list.header("etag").expect("a tag").to_owned()
}

async fn a_list_has_full_chats_in_the_order_of_their_changes(database: TestDatabase) {
    let app = TestConfig::on(database).start().await;
    let ada = app.signed_in().await;
    let bob = app.signed_in().await;
    let late_id = put_at(&ada, "9999-12-31T23:59:59.9999999Z").await;
    let early_id = put_at(&ada, "0001-01-01T00:00:00").await;

    let list = ada.get(CHATS).await;
    let list_of_bob = bob.get(&format!("{CHATS}?includeDeleted=true")).await;

    assert_eq!(ids(&list.body["chats"]), [&*early_id, &late_id]);
    assert_eq!(list.body["chats"][1], get(&ada, &late_id).await.body);
    assert_eq!(keys(&list.body), ["chats", "hasMore"]);
    assert_eq!(list.body["hasMore"], false);
    assert_eq!(list_of_bob.body, json!({ "chats": [], "deleted": [], "hasMore": false }));
}

async fn pages_follow_by_a_cursor_with_any_escaping(database: TestDatabase) {
    let app = TestConfig::on(database).start().await;
    let ada = app.signed_in().await;
    let mut expected_ids = Vec::new();
    for number in 0..7 {
        expected_ids.push(put_at(&ada, &format!("2026-08-01T00:00:0{}.123Z", number / 3)).await);
    }

    let pages = pull_pages(&ada, "includeDeleted=true", 2).await;
    let pages_since = pull_pages(&ada, "since=2026-08-01T00%3A00%3A01.1230000Z", 3).await;

    assert_eq!(pages.chats, expected_ids);
    assert_eq!(pages.page_count, 4);
    assert_eq!(pages_since.chats, expected_ids, "all of them arrived since");
}

async fn an_older_chat_that_arrived_later_is_listed(database: TestDatabase) {
    let app = TestConfig::on(database).start().await;
    let ada = app.signed_in().await;
    let known_id = put_at(&ada, "2026-08-01T00:00:00Z").await;
    // A device with the known chat requests changes since that chat's time.
    execute(&app, "UPDATE chats SET stamp = updated_at").await;
    let older_id = put_at(&ada, "2026-07-01T00:00:00Z").await;

    let since = escaped("2026-08-01T00:00:00.0000000Z");
    let pages = pull_pages(&ada, &format!("since={since}"), 100).await;

    assert_eq!(pages.chats, [older_id, known_id]);
}

async fn deleted_chats_are_listed_by_id(database: TestDatabase) {
    let app = TestConfig::on(database).start().await;
    let ada = app.signed_in().await;
    let remaining_id = create_chat(&ada).await;
    let deleted_id = create_chat(&ada).await;
    delete(&ada, &deleted_id).await;

    let pages = pull_pages(&ada, "includeDeleted=true", 1).await;
    let pages_since = pull_pages(&ada, "includeDeleted=true&since=2026-08-02T00:00:00Z", 100).await;
    let list_without_deleted = ada.get(&format!("{CHATS}?includeDeleted=false")).await;

    assert_eq!(pages.chats, std::slice::from_ref(&remaining_id));
    assert_eq!(pages.deleted, std::slice::from_ref(&deleted_id));
    assert_eq!(pages.page_count, 2);
    assert_eq!(pages_since.deleted, [&*deleted_id]);
    assert_eq!(ids(&list_without_deleted.body["chats"]), [&*remaining_id]);
    assert!(list_without_deleted.body.get("deleted").is_none());
}

async fn an_unchanged_list_is_not_sent_again(database: TestDatabase) {
    let app = TestConfig::on(database).start().await;
    let ada = app.signed_in().await;
    create_chat(&ada).await;
    let tag = tag_of_list(&ada).await;
    let strong_tag = tag.trim_start_matches("W/");

    for known_tag in [&*tag, strong_tag, "*", &format!("\"x\", {tag}")] {
        let response = get_unless(&ada, LIST_SINCE, known_tag).await;

        assert_eq!(response.status, 304, "{known_tag}");
        assert_eq!(response.bytes.len(), 0, "{known_tag}");
        assert_eq!(response.header("etag"), Some(&*tag));
    }
    assert!(tag.contains("-s1767225600000000-d1"), "since and deleted: {tag}");
}

async fn a_list_is_sent_again_if_the_tag_is_of_another(database: TestDatabase) {
    let app = TestConfig::on(database).start().await;
    let ada = app.signed_in().await;
    let bob = app.signed_in().await;
    create_chat(&ada).await;
    let tag = tag_of_list(&ada).await;

    let list_since_later = format!("{CHATS}?includeDeleted=true&since=2026-01-01T00:00:01Z");
    for (client, path) in [(&ada, CHATS), (&ada, &*list_since_later), (&bob, LIST_SINCE)] {
        assert_eq!(get_unless(client, path, &tag).await.status, 200, "{path}");
    }
    for unknown_tag in ["\"x\"", "x", "", "W/\"c-none-v0-snone-d0\""] {
        assert_eq!(get_unless(&ada, LIST_SINCE, unknown_tag).await.status, 200, "{unknown_tag}");
    }
}

async fn a_list_is_sent_again_after_a_write_or_deletion(database: TestDatabase) {
    let app = TestConfig::on(database).start().await;
    let ada = app.signed_in().await;
    create_chat(&ada).await;
    let tag_before_write = tag_of_list(&ada).await;

    let id = create_chat(&ada).await;
    assert_eq!(get_unless(&ada, LIST_SINCE, &tag_before_write).await.status, 200);

    let tag_before_deletion = tag_of_list(&ada).await;
    delete(&ada, &id).await;
    assert_eq!(get_unless(&ada, LIST_SINCE, &tag_before_deletion).await.status, 200);
}

async fn a_list_of_long_chats_is_split_into_pages(database: TestDatabase) {
    let app = TestConfig::on(database).start().await;
    let ada = app.signed_in().await;
    for second in 0..4 {
        let id = new_id();
        let mut long = chat(&id, &format!("2026-08-01T00:00:0{second}Z"));
        long["messages"][0]["content"] = "x".repeat(3 << 20).into();
        assert_eq!(put(&ada, &long).await.status, 201);
    }

    let pages = pull_pages(&ada, "includeDeleted=true", 100).await;

    assert_eq!(pages.chats.len(), 4);
    assert_eq!(pages.page_count, 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_invalid_query_is_refused_by_its_field() {
    let app = TestApp::spawn().await;
    let ada = app.signed_in().await;

    for (query, field) in [
        ("limit=0", "limit"),
        ("limit=-1", "limit"),
        ("limit=501", "limit"),
        ("limit=9223372036854775808", "limit"),
        ("limit=text", "limit"),
        ("limit=", "limit"),
        ("cursor=", "cursor"),
        ("cursor=nonsense", "cursor"),
        ("cursor=1.2", "cursor"),
        ("cursor=%00", "cursor"),
        ("since=", "since"),
        ("since=yesterday", "since"),
        ("since=2026-08-01T00:00:00%20Z", "since"),
        ("includeDeleted=perhaps", "includeDeleted"),
    ] {
        for path in [CHATS, "/api/conversations"] {
            let answer = ada.get(&format!("{path}?{query}")).await;

            assert_eq!(answer.refusal(), (400, "validation_failed"), "{query}");
            assert_eq!(fields(&answer), [field], "{query}");
        }
    }
}
