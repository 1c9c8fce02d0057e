//! Tests of a day without encryption.

use pia_server_testkit::on_both_databases;
use pia_testkit::databases::TestDatabase;
use serde_json::json;

use super::{HOUR, MINUTE, agree, edit_all, editable, one_of_each, settle};
use crate::desktop::device::Device;
use crate::desktop::fields::{Channel, SETTINGS};
use crate::desktop::pull::Pulled;
use crate::desktop::push::{Pushed, Sending};
use crate::desktop::world::World;

on_both_databases!(
    two_devices_stay_in_sync_all_day,
    a_device_with_small_pages_receives_everything,
    idle_devices_receive_not_modified,
    a_push_that_is_repeated_after_a_lost_answer_is_harmless,
);

async fn two_devices_stay_in_sync_all_day(database: TestDatabase) {
    let world = World::new(database).await;
    let mut desk = world.device().await;
    let mut laptop = world.device().await;

    // The morning: each has rows before it receives the other's.
    let rows = one_of_each(&mut desk, "the desk");
    let others = one_of_each(&mut laptop, "the lap");
    let pushed = desk.cycle().await.pushed;
    assert_eq!(pushed, Pushed::Stored(0), "no row of a first push is a conflict");

    settle([&mut desk, &mut laptop]).await;
    agree(&desk, &laptop, "in the morning");
    for (channel, id) in rows.iter().chain(&others) {
        assert!(laptop.get(*channel, id).is_some(), "the laptop lacks {channel:?} {id}");
    }

    // Before noon: edits in both directions, and an unknown enum value.
    world.advance(HOUR * 3);
    edit_all(&mut desk, &rows, "said at the desk");
    edit_all(&mut laptop, &others, "said on the lap");
    let todo = rows.iter().find(|it| it.0 == Channel::Todos).expect("a todo");
    set_unknown_priority(&mut desk, todo);
    desk.set("C:\\Desk");
    settle([&mut desk, &mut laptop]).await;
    agree(&desk, &laptop, "before noon");
    for (channel, id) in editable(&rows) {
        assert_eq!(laptop.content(*channel, id), Some("said at the desk"), "{channel:?}");
    }

    let priority = &laptop.store[todo].fields["priority"];
    assert_eq!(*priority, 17, "unknown enum values are returned");
    assert_eq!(laptop.content(Channel::Settings, SETTINGS), Some("C:\\Desk"));

    // The afternoon: both edit the same rows, and the later edit wins.
    world.advance(HOUR * 3);
    edit_all(&mut laptop, &rows, "the earlier word");
    world.advance(MINUTE);
    edit_all(&mut desk, &rows, "the later word");
    desk.cycle().await;
    laptop.cycle().await;
    settle([&mut desk, &mut laptop]).await;
    agree(&desk, &laptop, "in the afternoon");
    for (channel, id) in editable(&rows) {
        assert_eq!(laptop.content(*channel, id), Some("the later word"), "{channel:?}");
    }

    // The evening: deletions.
    world.advance(HOUR * 3);
    for (channel, id) in editable(&others) {
        desk.delete(*channel, id);
    }
    settle([&mut desk, &mut laptop]).await;
    agree(&desk, &laptop, "in the evening");
    for (channel, id) in editable(&others) {
        assert_eq!(laptop.get(*channel, id), None, "{channel:?}");
    }

    // At night a new device signs in.
    world.advance(HOUR * 3);
    let mut phone = world.device().await;
    settle([&mut phone, &mut desk, &mut laptop]).await;
    agree(&phone, &desk, "at night");
    agree(&laptop, &desk, "at night");
}

/// Sets an enum to a value that only later clients know.
fn set_unknown_priority(device: &mut Device, todo: &(Channel, String)) {
    let at = device.now();
    let row = device.store.get_mut(todo).expect("a todo");
    row.fields.insert("priority".to_owned(), json!(17));
    row.updated = at;
}

async fn a_device_with_small_pages_receives_everything(database: TestDatabase) {
    let world = World::new(database).await;
    let mut desk = world.device().await;
    let mut laptop = world.device().await;
    // Sessions for more than two requests, and two other channels that pages
    // split elsewhere.
    for number in 0..450 {
        desk.create(Channel::Sessions, &format!("session {number}"));
    }
    for number in 0..30 {
        desk.create(Channel::Todos, &format!("todo {number}"));
        desk.create(Channel::Memories, &format!("memory {number}"));
    }
    let pushed = desk.cycle().await.pushed;
    assert_eq!(pushed, Pushed::Stored(0), "a first push is sent in several requests");

    let pulled = laptop.pull_by(20).await;

    let pages = match pulled {
        Pulled::Applied { pages } => pages,
        refusal => panic!("{refusal:?}"),
    };
    assert!(pages > 20, "the limit caps each collection: {pages} pages");
    settle([&mut laptop, &mut desk]).await;
    agree(&laptop, &desk, "after many pages");
}

async fn idle_devices_receive_not_modified(database: TestDatabase) {
    let world = World::new(database).await;
    let mut desk = world.device().await;
    let mut laptop = world.device().await;
    desk.settle().await;
    laptop.settle().await;
    let todo = desk.create(Channel::Todos, "a todo");
    desk.cycle().await;

    assert_eq!(
        laptop.cycle().await.pulled,
        Pulled::Applied { pages: 1 },
        "a write of another device is pulled"
    );

    desk.settle().await;
    laptop.settle().await;
    for _ in 0..3 {
        world.advance(MINUTE * 5);
        for device in [&mut desk, &mut laptop] {
            let cycle = device.cycle().await;
            assert_eq!(cycle.pushed, Pushed::Nothing, "no change, no push");
            assert_eq!(cycle.pulled, Pulled::NotModified, "an idle account is answered 304");
        }
    }
    assert!(laptop.get(Channel::Todos, &todo).is_some());

    // A chat is not a row, but changes the account's data version.
    let chat = laptop.start_chat("hello");
    laptop.put(&chat).await;
    let pulled = desk.cycle().await.pulled;
    assert_eq!(pulled, Pulled::Applied { pages: 1 }, "a chat changes the data version");
    desk.settle().await;
}

async fn a_push_that_is_repeated_after_a_lost_answer_is_harmless(database: TestDatabase) {
    let world = World::new(database).await;
    let mut desk = world.device().await;
    let mut laptop = world.device().await;
    let rows = one_of_each(&mut desk, "first");
    assert_eq!(desk.push_as(Sending::ResponseLost).await, Pushed::Lost);
    let again = desk.cycle().await.pushed;
    assert_eq!(again, Pushed::Stored(0), "a repeated push is no conflict");
    settle([&mut desk, &mut laptop]).await;
    agree(&desk, &laptop, "after a replay");

    world.advance(HOUR);
    for (channel, id) in editable(&rows) {
        desk.delete(*channel, id);
    }
    assert_eq!(desk.push_as(Sending::ResponseLost).await, Pushed::Lost);

    laptop.settle().await;
    desk.cycle().await;
    settle([&mut desk, &mut laptop]).await;
    agree(&desk, &laptop, "after deletions that came twice");
    assert!(editable(&rows).all(|(channel, id)| laptop.get(*channel, id).is_none()));
}
