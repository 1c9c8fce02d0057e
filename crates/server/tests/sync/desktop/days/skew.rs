//! Tests of clocks that are a day apart.

use pia_server_testkit::on_both_databases;
use pia_testkit::databases::TestDatabase;

use super::{HOUR, agree, editable, one_of_each, settle};
use crate::desktop::device::Device;
use crate::desktop::fields::Channel;
use crate::desktop::world::World;

on_both_databases!(devices_with_clocks_a_day_apart_converge, a_corrected_clock_loses_nothing,);

const DAY: i64 = 86_400;

async fn devices_with_clocks_a_day_apart_converge(database: TestDatabase) {
    let world = World::new(database).await;
    let mut fast = world.device().await;
    let mut slow = world.device().await;
    let mut right = world.device().await;
    fast.skew = DAY;
    slow.skew = -DAY;
    // A first push sends everything, whatever the clock.
    let of_fast = one_of_each(&mut fast, "of the fast one");
    let of_slow = one_of_each(&mut slow, "of the slow one");
    let of_right = one_of_each(&mut right, "of the right one");
    settle([&mut fast, &mut slow, &mut right]).await;
    agree(&fast, &right, "after the first cycles");
    agree(&slow, &right, "after the first cycles");

    world.advance(HOUR);
    for (channel, id) in editable(&of_right) {
        fast.edit(*channel, id, "by the fast one");
    }
    for (channel, id) in editable(&of_slow) {
        right.edit(*channel, id, "by the right one");
    }
    settle([&mut fast, &mut slow, &mut right]).await;
    let assert_content = |device: &Device, rows: &[(Channel, String)], words: &str| {
        for (channel, id) in editable(rows) {
            assert_eq!(
                device.content(*channel, id),
                Some(words),
                "the newest edit wins: {channel:?}"
            );
        }
    };
    for device in [&fast, &slow, &right] {
        assert_content(device, &of_right, "by the fast one");
        assert_content(device, &of_slow, "by the right one");
    }

    // The right one's edit is older than the fast one's, and loses; the server
    // sends the winner to the loser again.
    for (channel, id) in editable(&of_fast) {
        right.edit(*channel, id, "too early");
    }
    settle([&mut right, &mut fast, &mut slow]).await;
    for (channel, id) in editable(&of_fast) {
        let winner = right.content(*channel, id);
        assert!(
            winner.is_some_and(|it| it != "too early"),
            "{channel:?}: the winner was not sent to the loser"
        );
    }

    agree(&right, &fast, "after an edit that lost");
    agree(&slow, &fast, "after an edit that came too early");
}

async fn a_corrected_clock_loses_nothing(database: TestDatabase) {
    let world = World::new(database).await;
    let mut desk = world.device().await;
    let mut slow = world.device().await;
    settle([&mut desk, &mut slow]).await;
    slow.skew = -DAY;
    // Older than its cursor: the client hides these from itself.
    let rows = one_of_each(&mut slow, "of the slow one");
    settle([&mut slow, &mut desk]).await;

    slow.skew = 0;
    slow.resync();
    settle([&mut slow, &mut desk]).await;

    agree(&slow, &desk, "after a full resync");
    for (channel, id) in &rows {
        assert!(desk.get(*channel, id).is_some(), "a full resync pushes {channel:?} too");
    }
    let todo = rows.iter().find(|it| it.0 == Channel::Todos).expect("a todo");
    slow.edit(todo.0, &todo.1, "by a clock put right");
    settle([&mut slow, &mut desk]).await;

    assert_eq!(desk.content(todo.0, &todo.1), Some("by a clock put right"), "the edit is pushed");
}
