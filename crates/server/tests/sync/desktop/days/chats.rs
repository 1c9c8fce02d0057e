//! Tests of chats of two devices.

use pia_server_testkit::on_both_databases;
use pia_testkit::databases::TestDatabase;
use serde_json::{Value, json};
use uuid::Uuid;

use super::{HOUR, MINUTE};
use crate::desktop::chats::Stored;
use crate::desktop::device::Device;
use crate::desktop::world::World;

on_both_databases!(
    chats_are_shared_between_two_devices,
    an_unchanged_list_of_chats_is_not_modified,
    a_chat_is_returned_by_its_id,
    the_creation_time_of_a_chat_is_immutable,
    concurrent_messages_are_merged,
    a_chat_that_was_uploaded_late_is_listed,
    a_deleted_chat_is_revived_by_a_newer_version_only,
    a_new_device_receives_every_chat,
);

/// Asserts that two devices have the same chat, except for what a server does not return as
/// it was sent.
fn assert_same(desk: &Device, laptop: &Device, id: &str) {
    assert_eq!(
        comparable_chat(desk, id),
        comparable_chat(laptop, id),
        "a chat is returned as it was sent: {id}"
    );
}

/// Returns a chat without nulls, which are not sent, and without times, which are stored to
/// the microsecond.
fn comparable_chat(device: &Device, id: &str) -> Value {
    let mut chat = device.chats.get(id).cloned().unwrap_or_default();
    without_nulls(&mut chat);
    if let Some(fields) = chat.as_object_mut() {
        fields.retain(|name, _| !name.ends_with("At"));
    }
    for message in chat["messages"].as_array_mut().into_iter().flatten() {
        message.as_object_mut().expect("a message").remove("timestamp");
    }
    chat
}

fn without_nulls(value: &mut Value) {
    match value {
        Value::Array(all) => all.iter_mut().for_each(without_nulls),
        Value::Object(all) => {
            all.retain(|_, it| !it.is_null());
            all.values_mut().for_each(without_nulls);
        }
        _ => {}
    }
}

async fn two_devices(world: &World) -> (Device, Device) {
    let mut desk = world.sign_in_device().await;
    let laptop = world.sign_in_device().await;
    assert!(desk.probe().await, "the server stores chats");
    (desk, laptop)
}

async fn chats_are_shared_between_two_devices(database: TestDatabase) {
    let world = World::new(database).await;
    let (mut desk, mut laptop) = two_devices(&world).await;
    let chat = desk.start_chat("good morning 🎈");
    assert_eq!(desk.put(&chat).await, Stored::Created);
    assert_eq!(desk.put(&chat).await, Stored::Replaced, "a version of equal time is stored");

    assert!(laptop.list_chats().await, "the chat is new");
    assert_same(&desk, &laptop, &chat);

    world.advance(HOUR);
    laptop.write(&chat, "good day");
    assert_eq!(laptop.put(&chat).await, Stored::Replaced);
    assert!(desk.list_chats().await, "a write of another device is listed");
    assert_same(&desk, &laptop, &chat);
}

async fn an_unchanged_list_of_chats_is_not_modified(database: TestDatabase) {
    let world = World::new(database).await;
    let (mut desk, mut laptop) = two_devices(&world).await;
    let chat = desk.start_chat("good morning");
    desk.put(&chat).await;
    laptop.list_chats().await;

    // The second list has another `since`, and so another tag.
    let is_changed_once = laptop.list_chats().await;
    let is_changed_twice = is_changed_once && laptop.list_chats().await;

    assert!(!is_changed_twice, "an unchanged list is answered 304");
}

async fn a_chat_is_returned_by_its_id(database: TestDatabase) {
    let world = World::new(database).await;
    let (mut desk, mut laptop) = two_devices(&world).await;
    let chat = desk.start_chat("good morning");
    desk.put(&chat).await;
    laptop.list_chats().await;

    let response = laptop.get_json(&format!("/api/v1/chats/{chat}")).await;
    let unknown_response = laptop.get_json(&format!("/api/v1/chats/{}", Uuid::now_v7())).await;

    assert_eq!(response.status, 200);
    assert_eq!(response.body["lastAccessedAt"], laptop.chats[&chat]["lastAccessedAt"]);
    assert_eq!(unknown_response.status, 404, "an unknown chat");
}

async fn the_creation_time_of_a_chat_is_immutable(database: TestDatabase) {
    let world = World::new(database).await;
    let (mut desk, _laptop) = two_devices(&world).await;
    let chat = desk.start_chat("good morning");
    let path = format!("/api/v1/chats/{chat}");
    desk.put(&chat).await;
    let created_at = desk.get_json(&path).await.body["createdAt"].clone();

    world.advance(HOUR);
    desk.chats.get_mut(&chat).expect("a chat")["createdAt"] = json!("2020-01-01T00:00:00Z");
    desk.write(&chat, "good night");
    let stored = desk.put(&chat).await;

    assert_eq!(stored, Stored::Replaced, "a changed creation time is no error");
    assert_eq!(desk.get_json(&path).await.body["createdAt"], created_at);
}

async fn concurrent_messages_are_merged(database: TestDatabase) {
    let world = World::new(database).await;
    let (mut desk, mut laptop) = two_devices(&world).await;
    let chat = desk.start_chat("first");
    desk.put(&chat).await;
    laptop.list_chats().await;

    laptop.write(&chat, "by the lap");
    world.advance(MINUTE);
    desk.write(&chat, "by the desk");
    assert_eq!(desk.put(&chat).await, Stored::Replaced);
    assert_eq!(laptop.put(&chat).await, Stored::Merged, "a conflict carries the document");

    desk.list_chats().await;
    assert_eq!(desk.words(&chat), ["first", "by the desk", "by the lap"]);
    assert_same(&desk, &laptop, &chat);
}

async fn a_chat_that_was_uploaded_late_is_listed(database: TestDatabase) {
    let world = World::new(database).await;
    let (mut desk, mut laptop) = two_devices(&world).await;
    // Written before, and uploaded after, the chats that the laptop has.
    let early_chat = desk.start_chat("early, and late");
    world.advance(HOUR);
    let late_chat = desk.start_chat("late, and early");
    desk.put(&late_chat).await;
    laptop.list_chats().await;
    assert_eq!(laptop.chats.len(), 1);

    world.advance(HOUR);
    desk.put(&early_chat).await;

    laptop.list_chats().await;

    assert!(laptop.chats.contains_key(&early_chat), "the time of arrival counts too");
}

async fn a_deleted_chat_is_revived_by_a_newer_version_only(database: TestDatabase) {
    let world = World::new(database).await;
    let (mut desk, mut laptop) = two_devices(&world).await;
    let deleted_chat = desk.start_chat("gone");
    let revived_chat = desk.start_chat("back");
    desk.backfill().await;
    laptop.list_chats().await;
    world.advance(HOUR);
    for chat in [&deleted_chat, &revived_chat] {
        desk.delete_chat(chat).await;
        desk.delete_chat(chat).await;
        let response = desk.get_json(&format!("/api/v1/chats/{chat}")).await;
        assert_eq!(response.status, 404, "a deleted chat is not returned");
    }
    desk.delete_chat(&Uuid::now_v7().to_string()).await;

    // One is repeated unchanged, the other is changed.
    laptop.put(&deleted_chat).await;
    world.advance(MINUTE);
    laptop.write(&revived_chat, "newer than its deletion");
    let stored = laptop.put(&revived_chat).await;
    assert!(
        !matches!(stored, Stored::Dropped(_)),
        "a newer version revives a deleted chat: {stored:?}"
    );

    let mut phone = world.sign_in_device().await;
    phone.list_chats().await;
    assert!(!phone.chats.contains_key(&deleted_chat), "an old version revived a deleted chat");
    assert!(phone.chats.contains_key(&revived_chat), "a newer version revives a deleted chat");
    laptop.list_chats().await;
    assert!(!laptop.chats.contains_key(&deleted_chat), "the deletion was not received");
    assert!(laptop.chats.contains_key(&revived_chat), "a newer version revives a deleted chat");
}

async fn a_new_device_receives_every_chat(database: TestDatabase) {
    let world = World::new(database).await;
    let (mut desk, mut laptop) = two_devices(&world).await;
    // More than a page, which has a hundred by default.
    for number in 0..130 {
        desk.start_chat(&format!("chat {number}"));
    }
    desk.backfill().await;

    laptop.list_chats().await;

    assert_eq!(laptop.chats.len(), 130, "pages follow until there is no more");
    for id in desk.chats.keys() {
        assert_same(&desk, &laptop, id);
    }
}
