//! Tests of older clients beside the newest.

use pia_server_testkit::on_both_databases;
use pia_testkit::databases::TestDatabase;

use super::{HOUR, MINUTE, editable, one_of_each, settle};
use crate::desktop::device::{Device, Generation};
use crate::desktop::fields::{Channel, SETTINGS};
use crate::desktop::pull::Pulled;
use crate::desktop::push::Pushed;
use crate::desktop::world::World;

on_both_databases!(
    a_march_client_beside_a_new_one_revives_nothing,
    repeated_settings_are_not_pushed_back,
    a_spring_client_works_beside_a_new_one,
);

/// Asserts that two devices have the same rows in channels that both support.
fn agree(old: &Device, new: &Device, when: &str) {
    let shared = |device: &Device| {
        let mut rows = device.shared();
        let muted = |channel| channel == Channel::Settings && old.settings_muted;
        rows.retain(|(channel, _), _| old.knows(*channel) && !muted(*channel));
        rows
    };
    let left = shared(old);
    let right = shared(new);
    for key in left.keys().chain(right.keys()) {
        assert_eq!(left.get(key), right.get(key), "{when}: {key:?}");
    }
}

async fn a_march_client_beside_a_new_one_revives_nothing(database: TestDatabase) {
    let world = World::new(database).await;
    let mut old_device = world.sign_in_older_device(Generation::March).await;
    let mut new_device = world.sign_in_device().await;
    // March pushes them as new in every cycle; see below.
    old_device.settings_muted = true;
    let of_old: Vec<_> = one_of_each(&mut old_device, "of March")
        .into_iter()
        .filter(|it| old_device.knows(it.0))
        .collect();
    let of_new = one_of_each(&mut new_device, "of autumn");
    settle([&mut old_device, &mut new_device]).await;
    agree(&old_device, &new_device, "in the morning");
    for (channel, id) in of_new.iter().filter(|it| old_device.knows(it.0)) {
        assert!(old_device.get(*channel, id).is_some(), "{channel:?} did not reach the old client");
    }

    world.advance(HOUR);
    for (channel, id) in editable(&of_old) {
        new_device.delete(*channel, id);
    }
    new_device.cycle().await;
    // Pushes all its rows before it receives the deletions.
    old_device.cycle().await;
    settle([&mut old_device, &mut new_device]).await;
    for (channel, id) in editable(&of_old) {
        assert_eq!(new_device.get(*channel, id), None, "a repeated row came back: {channel:?}");
        assert_eq!(old_device.get(*channel, id), None, "a repeated row came back: {channel:?}");
    }

    // Edits still propagate in both directions.
    world.advance(HOUR);
    let todo = of_new.iter().find(|it| it.0 == Channel::Todos).expect("a todo");
    let memory = of_new.iter().find(|it| it.0 == Channel::Memories).expect("a memory");
    old_device.edit(todo.0, &todo.1, "by March");
    new_device.edit(memory.0, &memory.1, "by autumn");
    settle([&mut old_device, &mut new_device]).await;
    assert_eq!(new_device.content(todo.0, &todo.1), Some("by March"));
    assert_eq!(old_device.content(memory.0, &memory.1), Some("by autumn"));

    // Both are idle: the old one pushes everything in every cycle, and the new
    // one still receives nothing new.
    for _ in 0..3 {
        world.advance(MINUTE * 5);
        old_device.cycle().await;
        let pulled = new_device.cycle().await.pulled;
        assert_eq!(pulled, Pulled::NotModified, "repeated rows are not pulled again");
    }
}

async fn repeated_settings_are_not_pushed_back(database: TestDatabase) {
    let world = World::new(database).await;
    let mut old_device = world.sign_in_older_device(Generation::March).await;
    let mut new_device = world.sign_in_device().await;
    old_device.set("C:\\March");
    for _ in 0..3 {
        new_device.cycle().await;
        old_device.cycle().await;
    }

    for _ in 0..3 {
        world.advance(MINUTE * 5);
        old_device.cycle().await;
        let pushed = new_device.cycle().await.pushed;
        assert_eq!(pushed, Pushed::Nothing, "unchanged settings are omitted");
    }
    assert_eq!(new_device.content(Channel::Settings, SETTINGS), Some("C:\\March"));
    agree(&old_device, &new_device, "after many repetitions");
}

async fn a_spring_client_works_beside_a_new_one(database: TestDatabase) {
    let world = World::new(database).await;
    let mut old_device = world.sign_in_older_device(Generation::Spring).await;
    let mut new_device = world.sign_in_device().await;
    let of_old = one_of_each(&mut old_device, "of spring");
    let of_new = one_of_each(&mut new_device, "of autumn");
    settle([&mut old_device, &mut new_device]).await;
    agree(&old_device, &new_device, "after first pushes in camel case");

    world.advance(HOUR);
    for (channel, id) in editable(&of_new) {
        old_device.edit(*channel, id, "in Pascal case");
    }
    for (channel, id) in editable(&of_old) {
        old_device.delete(*channel, id);
    }
    old_device.set("C:\\Pascal");
    settle([&mut old_device, &mut new_device]).await;

    agree(&old_device, &new_device, "after pushes in Pascal case");
    for (channel, id) in editable(&of_new) {
        let content = new_device.content(*channel, id);
        assert_eq!(content, Some("in Pascal case"), "names in Pascal case are read: {channel:?}");
    }
    assert!(
        editable(&of_old).all(|(channel, id)| new_device.get(*channel, id).is_none()),
        "deletions in Pascal case are read"
    );
}
