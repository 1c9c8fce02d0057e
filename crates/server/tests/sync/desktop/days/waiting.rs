//! Devices that must wait, and devices that come late.

use std::time::Duration;

use pia_server_testkit::harness::Setting;
use pia_server_testkit::on_both_databases;
use pia_testkit::databases::TestDatabase;

use super::{HOUR, agree, editable, one_of_each, settle};
use crate::desktop::chats::Stored;
use crate::desktop::device::Generation;
use crate::desktop::fields::Channel;
use crate::desktop::push::{Pushed, Sending};
use crate::desktop::world::World;

on_both_databases!(
    who_is_reported_to_wait_comes_again_without_its_header_and_is_understood,
    compressed_bytes_are_known_by_their_first_two,
    a_device_that_was_away_for_a_year_brings_nothing_back,
    an_old_device_that_was_away_for_a_year_brings_nothing_back,
);

const YEAR: Duration = Duration::from_hours(366 * 24);

async fn who_is_reported_to_wait_comes_again_without_its_header_and_is_understood(
    database: TestDatabase,
) {
    // One permit in a second once they are spent.
    let world = World::with(Setting::on(database).with("RateLimits__Sync", 60)).await;
    let mut services = world.device().await;
    // Whoever is quick has spent them, however long it takes.
    let mut number = 0;
    while services.waits == 0 {
        number += 1;
        let todo = services.create(Channel::Todos, &format!("todo {number}"));
        let pushed = services.push().await;
        assert!(matches!(pushed, Pushed::Stored(0)), "sync 1, gzip without header: {pushed:?}");
        services.edit(Channel::Todos, &todo, "edited");
    }
    let waits = services.waits;
    for number in 0..3 {
        let chat = services.begin_chat(&format!("chat {number}"));
        assert_eq!(services.put(&chat).await, Stored::Created, "sync 1, gzip without header");
    }
    assert!(services.waits > waits, "spec, Chats: they draw on the sync budget");
    services.cycle().await;

    world.pass(HOUR);
    let mut lap = world.device().await;
    settle([&mut services, &mut lap]).await;
    agree(&services, &lap, "after many waits");
}

async fn compressed_bytes_are_known_by_their_first_two(database: TestDatabase) {
    let world = World::new(database).await;
    let (mut services, mut lap) = (world.device().await, world.device().await);
    one_of_each(&mut services, "unlabelled");

    let pushed = services.push_as(Sending::Unlabelled).await;

    assert_eq!(pushed, Pushed::Stored(0), "sync 1, gzip without header; row 1");
    settle([&mut services, &mut lap]).await;
    agree(&services, &lap, "after bytes without a label");
}

async fn a_device_that_was_away_for_a_year_brings_nothing_back(database: TestDatabase) {
    a_year_away(database, Generation::Newest).await;
}

async fn an_old_device_that_was_away_for_a_year_brings_nothing_back(database: TestDatabase) {
    a_year_away(database, Generation::March).await;
}

async fn a_year_away(database: TestDatabase, generation: Generation) {
    let world = World::new(database).await;
    let (mut services, mut away) = (world.device().await, world.older_device(generation).await);
    // March says them as new in every cycle.
    away.settings_muted = generation == Generation::March;
    let gone = one_of_each(&mut services, "to be deleted");
    let stored = one_of_each(&mut services, "to be kept");
    let chat = services.begin_chat("to be deleted");
    services.put(&chat).await;
    settle([&mut services, &mut away]).await;
    away.list_chats().await;

    world.pass(HOUR);
    for (channel, id) in editable(&gone) {
        services.delete(*channel, id);
    }
    services.delete_chat(&chat).await;
    services.settle().await;
    world.pass(YEAR);
    for (channel, id) in editable(&stored) {
        services.edit(*channel, id, "a year later");
    }
    services.settle().await;
    // As it was, and then all over again, as a client at a loss does.
    away.cycle().await;
    away.resync();
    settle([&mut away, &mut services]).await;
    away.list_chats().await;

    let mut phone = world.device().await;
    settle([&mut phone, &mut away, &mut services]).await;
    phone.list_chats().await;
    for (channel, id) in editable(&gone) {
        let place = format!("row 34: {channel:?}");
        assert_eq!(phone.get(*channel, id), None, "{place} came back on a new device");
        assert_eq!(services.get(*channel, id), None, "{place} came back where it was deleted");
    }
    assert!(!phone.chats.contains_key(&chat), "sync 6.5: a deleted chat came back");
    for (channel, id) in editable(&stored).filter(|it| away.knows(it.0)) {
        let message = away.message(*channel, id);
        assert_eq!(message, Some("a year later"), "sync 2.4: {channel:?} on the one that was away");
    }
    for (channel, id) in editable(&gone).filter(|it| away.knows(it.0)) {
        assert_eq!(away.get(*channel, id), None, "sync 2.2 deleted: {channel:?} is still there");
    }
}
