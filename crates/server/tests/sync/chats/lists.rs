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
    a_list_of_long_chats_is_split_into_pages,
);

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
async fn pulled(client: &Client, query: &str, limit: usize) -> ChatIds {
    let mut ids_of_pages = ChatIds::default();
    let mut cursor = String::new();
    loop {
        let answer = client.get(&format!("{CHATS}?{query}&limit={limit}{cursor}")).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        ids_of_pages.chats.extend(ids(&answer.body["chats"]));
        ids_of_pages.deleted.extend(ids(answer.body.get("deleted").unwrap_or(&json!([]))));
        ids_of_pages.page_count += 1;
        assert_eq!(answer.body["hasMore"], answer.body["nextCursor"].is_string());
        let Some(next) = answer.body["nextCursor"].as_str() else { break };
        cursor = format!("&cursor={}", escaped(next));
    }
    ids_of_pages
}

async fn a_list_has_full_chats_in_the_order_of_their_changes(database: TestDatabase) {
    let app = TestConfig::on(database).start().await;
    let ada = app.signed_in().await;
    let bob = app.signed_in().await;
    let late_chat = put_at(&ada, "9999-12-31T23:59:59.9999999Z").await;
    let early_chat = put_at(&ada, "0001-01-01T00:00:00").await;

    let list = ada.get(CHATS).await;
    let nothing = bob.get(&format!("{CHATS}?includeDeleted=true")).await;

    assert_eq!(ids(&list.body["chats"]), [&*early_chat, &late_chat]);
    assert_eq!(list.body["chats"][1], get(&ada, &late_chat).await.body);
    assert_eq!(keys(&list.body), ["chats", "hasMore"]);
    assert_eq!(list.body["hasMore"], false);
    assert_eq!(nothing.body, json!({ "chats": [], "deleted": [], "hasMore": false }));
}

async fn pages_follow_by_a_cursor_with_any_escaping(database: TestDatabase) {
    let app = TestConfig::on(database).start().await;
    let ada = app.signed_in().await;
    let mut all = Vec::new();
    for number in 0..7 {
        all.push(put_at(&ada, &format!("2026-08-01T00:00:0{}.123Z", number / 3)).await);
    }

    let pages = pulled(&ada, "includeDeleted=true", 2).await;
    let pages_since = pulled(&ada, "since=2026-08-01T00%3A00%3A01.1230000Z", 3).await;

    assert_eq!(pages.chats, all);
    assert_eq!(pages.page_count, 4);
    assert_eq!(pages_since.chats, all, "all of them arrived since");
}

async fn an_older_chat_that_arrived_later_is_listed(database: TestDatabase) {
    let app = TestConfig::on(database).start().await;
    let ada = app.signed_in().await;
    let known_chat = put_at(&ada, "2026-08-01T00:00:00Z").await;
    // A device with the known chat requests changes since that chat's time.
    execute(&app, "UPDATE chats SET stamp = updated_at").await;
    let missed = put_at(&ada, "2026-07-01T00:00:00Z").await;

    let since = escaped("2026-08-01T00:00:00.0000000Z");
    let pages = pulled(&ada, &format!("since={since}"), 100).await;

    assert_eq!(pages.chats, [missed, known_chat]);
}

async fn deleted_chats_are_listed_by_id(database: TestDatabase) {
    let app = TestConfig::on(database).start().await;
    let ada = app.signed_in().await;
    let stays = create_chat(&ada).await;
    let goes = create_chat(&ada).await;
    delete(&ada, &goes).await;

    let pages = pulled(&ada, "includeDeleted=true", 1).await;
    let later = pulled(&ada, "includeDeleted=true&since=2026-08-02T00:00:00Z", 100).await;
    let plain = ada.get(&format!("{CHATS}?includeDeleted=false")).await;

    assert_eq!(pages.chats, std::slice::from_ref(&stays));
    assert_eq!(pages.deleted, std::slice::from_ref(&goes));
    assert_eq!(pages.page_count, 2);
    assert_eq!(later.deleted, [&*goes]);
    assert_eq!(ids(&plain.body["chats"]), [&*stays]);
    assert!(plain.body.get("deleted").is_none());
}

async fn an_unchanged_list_is_not_sent_again(database: TestDatabase) {
    let app = TestConfig::on(database).start().await;
    let ada = app.signed_in().await;
    let bob = app.signed_in().await;
    create_chat(&ada).await;
    let path = format!("{CHATS}?includeDeleted=true&since=2026-01-01T00:00:00Z");
    let list = ada.get(&path).await;
    let tag = list.header("etag").expect("a tag").to_owned();
    let strong = tag.trim_start_matches("W/").to_owned();
    let conditional_get = async |client: &Client, path: &str, tag: &str| {
        client.send("GET", path, &[("if-none-match", tag)], b"").await
    };

    for known in [&*tag, &strong, "*", &format!("\"x\", {tag}")] {
        let response = conditional_get(&ada, &path, known).await;
        assert_eq!(response.status, 304, "{known}");
        assert_eq!(response.bytes.len(), 0, "{known}");
        assert_eq!(response.header("etag"), Some(&*tag));
    }
    for (client, path) in [
        (&ada, CHATS.to_owned()),
        (&ada, format!("{CHATS}?includeDeleted=true&since=2026-01-01T00:00:01Z")),
        (&bob, path.clone()),
    ] {
        assert_eq!(conditional_get(client, &path, &tag).await.status, 200, "{path}");
    }
    for known in ["\"x\"", "x", "", "W/\"c-none-v0-snone-d0\""] {
        assert_eq!(conditional_get(&ada, &path, known).await.status, 200, "{known}");
    }

    let parts = format!("{tag:?}");
    assert!(parts.contains("-s1767225600000000-d1"), "{parts}");
    let id = create_chat(&ada).await;
    assert_eq!(conditional_get(&ada, &path, &tag).await.status, 200, "one was stored");

    let tag = ada.get(&path).await.header("etag").expect("a tag").to_owned();
    delete(&ada, &id).await;
    assert_eq!(conditional_get(&ada, &path, &tag).await.status, 200, "one was deleted");
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

    let pages = pulled(&ada, "includeDeleted=true", 100).await;

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
