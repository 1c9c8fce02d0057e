//! Chats of two devices.

use pia_server_testkit::on_both_databases;
use pia_testkit::databases::TestDatabase;
use serde_json::{Value, json};
use uuid::Uuid;

use super::{HOUR, MINUTE};
use crate::desktop::chats::Stored;
use crate::desktop::device::Device;
use crate::desktop::world::World;

on_both_databases!(
    two_devices_report_each_other_of_their_chats,
    what_both_wrote_at_once_is_merged,
    a_chat_that_was_uploaded_late_is_heard_of,
    a_deleted_chat_stays_so_unless_it_is_newer,
    a_new_device_hears_of_every_chat,
);

/// Compares two chats, without the time of the last access and without nulls,
/// which nobody sends.
fn same(one: &Device, other: &Device, id: &str) {
    let bare = |device: &Device| {
        let mut chat = device.chats.get(id).cloned().unwrap_or_default();
        without_nulls(&mut chat);
        if let Some(fields) = chat.as_object_mut() {
            fields.remove("lastAccessedAt");
            // Kept to the microsecond (row 28).
            fields.retain(|name, _| !name.ends_with("At"));
        }
        chat["messages"].as_array_mut().into_iter().flatten().for_each(|it| {
            it.as_object_mut().expect("a message").remove("timestamp");
        });
        chat
    };
    assert_eq!(bare(one), bare(other), "sync 6.6: a chat comes back as it was sent, {id}");
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

async fn two(world: &World) -> (Device, Device) {
    let (mut services, lap) = (world.device().await, world.device().await);
    assert!(services.probe().await, "sync 6.1, row 51: chats are there");
    (services, lap)
}

async fn two_devices_report_each_other_of_their_chats(database: TestDatabase) {
    let world = World::new(database).await;
    let (mut services, mut lap) = two(&world).await;
    let chat = services.begin_chat("good morning 🎈");
    assert_eq!(services.put(&chat).await, Stored::Created, "sync 6.4: 201");
    assert_eq!(services.put(&chat).await, Stored::Replaced, "sync 6.4, LWW: equal succeeds");

    assert!(lap.list_chats().await, "sync 6.2");
    same(&services, &lap, &chat);
    assert!(!lap.list_chats().await || !lap.list_chats().await, "sync 6.2, Conditional: 304");

    world.pass(HOUR);
    lap.write(&chat, "good day");
    assert_eq!(lap.put(&chat).await, Stored::Replaced, "sync 6.4: 200");
    assert!(services.list_chats().await, "sync 6.2: another's write");
    same(&services, &lap, &chat);
    let found = services.get_json(&format!("/api/v1/chats/{chat}")).await;
    assert_eq!(found.status, 200, "sync 6.3");
    assert_eq!(found.body["lastAccessedAt"], services.chats[&chat]["lastAccessedAt"], "sync 6.3");
    let unknown = services.get_json(&format!("/api/v1/chats/{}", Uuid::now_v7())).await;
    assert_eq!(unknown.status, 404, "sync 6.3: an unknown one");

    // A first writing lasts (sync 6.4), whatever is said later.
    let created = found.body["createdAt"].clone();
    world.pass(HOUR);
    services.chats.get_mut(&chat).expect("a chat")["createdAt"] = json!("2020-01-01T00:00:00Z");
    services.write(&chat, "good night");
    assert_eq!(services.put(&chat).await, Stored::Replaced, "sync 6.4, createdAt: silently kept");
    let found = services.get_json(&format!("/api/v1/chats/{chat}")).await;
    assert_eq!(found.body["createdAt"], created, "sync 6.4: createdAt is immutable");
}

async fn what_both_wrote_at_once_is_merged(database: TestDatabase) {
    let world = World::new(database).await;
    let (mut services, mut lap) = two(&world).await;
    let chat = services.begin_chat("first");
    services.put(&chat).await;
    lap.list_chats().await;

    lap.write(&chat, "by the lap");
    world.pass(MINUTE);
    services.write(&chat, "by the desk");
    assert_eq!(services.put(&chat).await, Stored::Replaced, "sync 6.4");
    assert_eq!(lap.put(&chat).await, Stored::Merged, "sync 6.4, row 21: 409 with the document");

    services.list_chats().await;
    assert_eq!(services.words(&chat), ["first", "by the desk", "by the lap"], "sync 6.4, 409");
    same(&services, &lap, &chat);
}

async fn a_chat_that_was_uploaded_late_is_heard_of(database: TestDatabase) {
    let world = World::new(database).await;
    let (mut services, mut lap) = two(&world).await;
    // Written before, and uploaded after, what the lap has heard of.
    let early = services.begin_chat("early, and late");
    world.pass(HOUR);
    let late = services.begin_chat("late, and early");
    services.put(&late).await;
    lap.list_chats().await;
    assert_eq!(lap.chats.len(), 1, "sync 6.2");
    world.pass(HOUR);
    services.put(&early).await;

    lap.list_chats().await;

    assert!(lap.chats.contains_key(&early), "sync 6.2, Gap");
}

async fn a_deleted_chat_stays_so_unless_it_is_newer(database: TestDatabase) {
    let world = World::new(database).await;
    let (mut services, mut lap) = two(&world).await;
    let (gone, back) = (services.begin_chat("gone"), services.begin_chat("back"));
    services.backfill().await;
    lap.list_chats().await;
    world.pass(HOUR);
    for chat in [&gone, &back] {
        services.delete_chat(chat).await;
        services.delete_chat(chat).await;
        let found = services.get_json(&format!("/api/v1/chats/{chat}")).await;
        assert_eq!(found.status, 404, "sync 6.3: a tombstone");
    }
    services.delete_chat(&Uuid::now_v7().to_string()).await;

    // One is repeated as it was, the other said anew.
    lap.put(&gone).await;
    world.pass(MINUTE);
    lap.write(&back, "newer than its deletion");
    let stored = lap.put(&back).await;
    assert!(!matches!(stored, Stored::Dropped(_)), "sync 6.4, PUT on a tombstone: {stored:?}");

    let mut phone = world.device().await;
    phone.list_chats().await;
    assert!(!phone.chats.contains_key(&gone), "row 34: an old chat revived itself");
    assert!(phone.chats.contains_key(&back), "sync 6.4: undelete if newer");
    lap.list_chats().await;
    assert!(!lap.chats.contains_key(&gone), "sync 6.2: `deleted` on every page");
    assert!(lap.chats.contains_key(&back), "sync 6.4: undelete if newer");
}

async fn a_new_device_hears_of_every_chat(database: TestDatabase) {
    let world = World::new(database).await;
    let (mut services, mut lap) = two(&world).await;
    // More than a page (sync 6.2: a hundred unless it is said otherwise).
    for number in 0..130 {
        services.begin_chat(&format!("chat {number}"));
    }
    services.backfill().await;

    lap.list_chats().await;

    assert_eq!(lap.chats.len(), 130, "sync 6.2, Loop: until there is no more");
    for id in services.chats.keys() {
        same(&services, &lap, id);
    }
}
