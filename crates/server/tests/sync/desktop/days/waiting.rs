//! Tests of rate-limited devices, and of devices after a long absence.

use std::time::Duration;

use pia_server_testkit::harness::TestConfig;
use pia_server_testkit::on_both_databases;
use pia_testkit::databases::TestDatabase;

use super::{HOUR, agree, editable, one_of_each, settle};
use crate::desktop::chats::Stored;
use crate::desktop::device::Generation;
use crate::desktop::fields::Channel;
use crate::desktop::push::{Pushed, Sending};
use crate::desktop::world::World;

on_both_databases!(
    a_rate_limited_push_is_accepted_when_retried_without_its_header,
    compressed_bodies_are_recognised_by_their_first_two_bytes,
    a_device_absent_for_a_year_revives_nothing,
    an_old_device_absent_for_a_year_revives_nothing,
);

const YEAR: Duration = Duration::from_hours(366 * 24);

async fn a_rate_limited_push_is_accepted_when_retried_without_its_header(database: TestDatabase) {
    // One permit per second once the bucket is empty.
    let world = World::with(TestConfig::on(database).with("RateLimits__Sync", 60)).await;
    let mut desk = world.sign_in_device().await;
    // Pushes until the bucket is empty.
    let mut number = 0;
    while desk.retries == 0 {
        number += 1;
        let todo = desk.create(Channel::Todos, &format!("todo {number}"));
        let pushed = desk.push().await;
        assert!(
            matches!(pushed, Pushed::Stored(0)),
            "a push is stored, also without its header: {pushed:?}"
        );
        desk.edit(Channel::Todos, &todo, "edited");
    }
    let retries = desk.retries;
    for number in 0..3 {
        let chat = desk.start_chat(&format!("chat {number}"));
        assert_eq!(desk.put(&chat).await, Stored::Created, "a chat is stored too");
    }
    assert!(desk.retries > retries, "chats draw on the budget of sync");
    desk.cycle().await;

    world.advance(HOUR);
    let mut laptop = world.sign_in_device().await;
    settle([&mut desk, &mut laptop]).await;
    agree(&desk, &laptop, "after many waits");
}

async fn compressed_bodies_are_recognised_by_their_first_two_bytes(database: TestDatabase) {
    let world = World::new(database).await;
    let mut desk = world.sign_in_device().await;
    let mut laptop = world.sign_in_device().await;
    one_of_each(&mut desk, "unlabelled");

    let pushed = desk.push_as(Sending::Unlabelled).await;

    assert_eq!(pushed, Pushed::Stored(0), "gzip is recognised without a header");
    settle([&mut desk, &mut laptop]).await;
    agree(&desk, &laptop, "after bytes without a label");
}

async fn a_device_absent_for_a_year_revives_nothing(database: TestDatabase) {
    revive_nothing_after_a_year(database, Generation::Newest).await;
}

async fn an_old_device_absent_for_a_year_revives_nothing(database: TestDatabase) {
    revive_nothing_after_a_year(database, Generation::March).await;
}

async fn revive_nothing_after_a_year(database: TestDatabase, generation: Generation) {
    let world = World::new(database).await;
    let mut desk = world.sign_in_device().await;
    let mut away = world.sign_in_older_device(generation).await;
    // March pushes them as new in every cycle.
    away.settings_muted = generation == Generation::March;
    let gone = one_of_each(&mut desk, "to be deleted");
    let remaining = one_of_each(&mut desk, "to be kept");
    let chat = desk.start_chat("to be deleted");
    desk.put(&chat).await;
    settle([&mut desk, &mut away]).await;
    away.list_chats().await;

    world.advance(HOUR);
    for (channel, id) in editable(&gone) {
        desk.delete(*channel, id);
    }
    desk.delete_chat(&chat).await;
    desk.settle().await;
    world.advance(YEAR);
    for (channel, id) in editable(&remaining) {
        desk.edit(*channel, id, "a year later");
    }
    desk.settle().await;
    // First with its cursor, and then with a full resync.
    away.cycle().await;
    away.resync();
    settle([&mut away, &mut desk]).await;
    away.list_chats().await;

    let mut phone = world.sign_in_device().await;
    settle([&mut phone, &mut away, &mut desk]).await;
    phone.list_chats().await;
    for (channel, id) in editable(&gone) {
        assert_eq!(phone.get(*channel, id), None, "{channel:?} came back on a new device");
        assert_eq!(desk.get(*channel, id), None, "{channel:?} came back where it was deleted");
    }
    assert!(!phone.chats.contains_key(&chat), "a deleted chat came back");
    for (channel, id) in editable(&remaining).filter(|it| away.knows(it.0)) {
        let content = away.content(*channel, id);
        assert_eq!(content, Some("a year later"), "{channel:?} on the device that was away");
    }
    for (channel, id) in editable(&gone).filter(|it| away.knows(it.0)) {
        assert_eq!(away.get(*channel, id), None, "the deletion of {channel:?} was not received");
    }
}
