//! A day without encryption.

use pia_server_testkit::on_both_databases;
use pia_testkit::databases::TestDatabase;
use serde_json::json;

use super::{HOUR, MINUTE, agree, editable, one_of_each, settle};
use crate::desktop::device::Device;
use crate::desktop::fields::{Channel, SETTINGS};
use crate::desktop::pull::Pulled;
use crate::desktop::push::{Pushed, Sending};
use crate::desktop::world::World;

on_both_databases!(
    two_devices_are_of_one_mind_all_day,
    a_device_that_hears_little_at_a_time_hears_everything,
    whoever_has_nothing_to_say_is_informed_that_nothing_is_new,
    a_push_whose_answer_was_lost_is_harmless_when_it_comes_again,
);

async fn two_devices_are_of_one_mind_all_day(database: TestDatabase) {
    let world = World::new(database).await;
    let (mut services, mut lap) = (world.device().await, world.device().await);

    // The morning: each had something before it was notified of the other.
    let rows = one_of_each(&mut services, "the desk");
    let others = one_of_each(&mut lap, "the lap");
    let pushed = services.cycle().await.pushed;
    assert_eq!(pushed, Pushed::Stored(0), "sync 3.3: nothing of a first push is a conflict");
    settle([&mut services, &mut lap]).await;
    agree(&services, &lap, "in the morning");
    for (channel, id) in rows.iter().chain(&others) {
        assert!(lap.get(*channel, id).is_some(), "sync 2.2: the lap lacks {channel:?} {id}");
    }

    // Before noon: edits in both directions, and a number of tomorrow.
    world.pass(HOUR * 3);
    for (channel, id) in editable(&rows) {
        services.edit(*channel, id, "said at the desk");
    }
    for (channel, id) in editable(&others) {
        lap.edit(*channel, id, "said on the lap");
    }
    let todo = rows.iter().find(|it| it.0 == Channel::Todos).expect("a todo");
    number_of_tomorrow(&mut services, todo);
    services.set("C:\\Desk");
    settle([&mut services, &mut lap]).await;
    agree(&services, &lap, "before noon");
    for (channel, id) in editable(&rows) {
        assert_eq!(lap.message(*channel, id), Some("said at the desk"), "sync 2.4: {channel:?}");
    }
    let priority = &lap.store[todo].fields["priority"];
    assert_eq!(*priority, 17, "sync 4, enum numbers: unknown ones are given back");
    assert_eq!(lap.message(Channel::Settings, SETTINGS), Some("C:\\Desk"), "sync 4, settings");

    // The afternoon: both edit the same rows, and the later one is stored.
    world.pass(HOUR * 3);
    for (channel, id) in editable(&rows) {
        lap.edit(*channel, id, "the earlier word");
    }
    world.pass(MINUTE);
    for (channel, id) in editable(&rows) {
        services.edit(*channel, id, "the later word");
    }
    services.cycle().await;
    lap.cycle().await;
    settle([&mut services, &mut lap]).await;
    agree(&services, &lap, "in the afternoon");
    for (channel, id) in editable(&rows) {
        assert_eq!(lap.message(*channel, id), Some("the later word"), "row 2: {channel:?}");
    }

    // The evening: what is done is deleted.
    world.pass(HOUR * 3);
    for (channel, id) in editable(&others) {
        services.delete(*channel, id);
    }
    settle([&mut services, &mut lap]).await;
    agree(&services, &lap, "in the evening");
    for (channel, id) in editable(&others) {
        assert_eq!(lap.get(*channel, id), None, "sync 3.4, Delete: {channel:?}");
    }

    // At night somebody signs in who was never there.
    world.pass(HOUR * 3);
    let mut phone = world.device().await;
    settle([&mut phone, &mut services, &mut lap]).await;
    agree(&phone, &services, "at night");
    agree(&lap, &services, "at night");
}

/// Sets an enum to what only a later client knows.
fn number_of_tomorrow(device: &mut Device, todo: &(Channel, String)) {
    let at = device.now();
    let row = device.store.get_mut(todo).expect("a todo");
    row.fields.insert("priority".to_owned(), json!(17));
    row.updated = at;
}

async fn a_device_that_hears_little_at_a_time_hears_everything(database: TestDatabase) {
    let world = World::new(database).await;
    let (mut services, mut lap) = (world.device().await, world.device().await);
    // More than two requests' worth of sessions, and two other channels that a
    // page cuts at another place.
    for number in 0..450 {
        services.create(Channel::Sessions, &format!("session {number}"));
    }
    for number in 0..30 {
        services.create(Channel::Todos, &format!("todo {number}"));
        services.create(Channel::Memories, &format!("memory {number}"));
    }
    let pushed = services.cycle().await.pushed;
    assert_eq!(pushed, Pushed::Stored(0), "sync 3.2: a first push in slices of 200");

    let pulled = lap.pull_by(20).await;

    let pages = match pulled {
        Pulled::Applied { pages } => pages,
        other => panic!("sync 2.3: {other:?}"),
    };
    assert!(pages > 20, "sync 2.1: the limit caps each collection: {pages} pages");
    settle([&mut lap, &mut services]).await;
    agree(&lap, &services, "after many pages");
}

async fn whoever_has_nothing_to_say_is_informed_that_nothing_is_new(database: TestDatabase) {
    let world = World::new(database).await;
    let (mut services, mut lap) = (world.device().await, world.device().await);
    services.settle().await;
    lap.settle().await;
    let todo = services.create(Channel::Todos, "a todo");
    services.cycle().await;

    assert_eq!(lap.cycle().await.pulled, Pulled::Applied { pages: 1 }, "sync 2.5: another's write");
    services.settle().await;
    lap.settle().await;
    for _ in 0..3 {
        world.pass(MINUTE * 5);
        for device in [&mut services, &mut lap] {
            let cycle = device.cycle().await;
            assert_eq!(cycle.pushed, Pushed::Nothing, "sync 3.2, Delta: inclusive, but settled");
            assert_eq!(cycle.pulled, Pulled::NotModified, "sync 2.5, 304 reachability");
        }
    }
    assert!(lap.get(Channel::Todos, &todo).is_some(), "sync 2.2");
    // A chat is outside of this, and yet a change of the person's (sync 6.7).
    let chat = lap.begin_chat("hello");
    lap.put(&chat).await;
    let pulled = services.cycle().await.pulled;
    assert_eq!(pulled, Pulled::Applied { pages: 1 }, "sync 6.7: a chat bumps the data version");
    services.settle().await;
}

async fn a_push_whose_answer_was_lost_is_harmless_when_it_comes_again(database: TestDatabase) {
    let world = World::new(database).await;
    let (mut services, mut lap) = (world.device().await, world.device().await);
    let rows = one_of_each(&mut services, "first");
    assert_eq!(services.push_as(Sending::Unheard).await, Pushed::Lost);
    let again = services.cycle().await.pushed;
    assert_eq!(again, Pushed::Stored(0), "sync 3.4, Idempotency: a replay is no conflict");
    settle([&mut services, &mut lap]).await;
    agree(&services, &lap, "after a replay");

    world.pass(HOUR);
    for (channel, id) in editable(&rows) {
        services.delete(*channel, id);
    }
    assert_eq!(services.push_as(Sending::Unheard).await, Pushed::Lost);
    lap.settle().await;
    services.cycle().await;
    settle([&mut services, &mut lap]).await;
    agree(&services, &lap, "after deletions that came twice");
    assert!(editable(&rows).all(|(channel, id)| lap.get(*channel, id).is_none()), "sync 3.4");
}
