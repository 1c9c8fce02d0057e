//! Clocks that are a day apart.

use pia_server_testkit::on_both_databases;
use pia_testkit::databases::TestDatabase;

use super::{HOUR, agree, editable, one_of_each, settle};
use crate::desktop::device::Device;
use crate::desktop::fields::Channel;
use crate::desktop::world::World;

on_both_databases!(
    clocks_a_day_apart_come_to_the_same_rows,
    a_clock_that_is_put_right_loses_nothing,
);

const DAY: i64 = 86_400;

async fn clocks_a_day_apart_come_to_the_same_rows(database: TestDatabase) {
    let world = World::new(database).await;
    let (mut fast, mut slow, mut right) =
        (world.device().await, world.device().await, world.device().await);
    (fast.skew, slow.skew) = (DAY, -DAY);
    // A first push says everything, whatever the clock.
    let of_fast = one_of_each(&mut fast, "of the fast one");
    let of_slow = one_of_each(&mut slow, "of the slow one");
    let of_right = one_of_each(&mut right, "of the right one");
    settle([&mut fast, &mut slow, &mut right]).await;
    agree(&fast, &right, "after the first cycles");
    agree(&slow, &right, "after the first cycles");

    world.pass(HOUR);
    for (channel, id) in editable(&of_right) {
        fast.edit(*channel, id, "by the fast one");
    }
    for (channel, id) in editable(&of_slow) {
        right.edit(*channel, id, "by the right one");
    }
    settle([&mut fast, &mut slow, &mut right]).await;
    let message = |device: &Device, rows: &[(Channel, String)], words: &str| {
        for (channel, id) in editable(rows) {
            assert_eq!(device.message(*channel, id), Some(words), "sync 2.4: {channel:?}");
        }
    };
    for device in [&fast, &slow, &right] {
        message(device, &of_right, "by the fast one");
        message(device, &of_slow, "by the right one");
    }

    // The right one's word is older than the fast one's, and loses; the server
    // says so once more to whoever lost (row 33).
    for (channel, id) in editable(&of_fast) {
        right.edit(*channel, id, "too early");
    }
    settle([&mut right, &mut fast, &mut slow]).await;
    for (channel, id) in editable(&of_fast) {
        let stored = right.message(*channel, id);
        assert!(
            stored.is_some_and(|it| it != "too early"),
            "row 33: {channel:?} was not told again"
        );
    }
    agree(&right, &fast, "row 33: who lost hears what was kept");
    agree(&slow, &fast, "after a word that came too early");
}

async fn a_clock_that_is_put_right_loses_nothing(database: TestDatabase) {
    let world = World::new(database).await;
    let (mut services, mut slow) = (world.device().await, world.device().await);
    settle([&mut services, &mut slow]).await;
    slow.skew = -DAY;
    // Older than its cursor: the client hides these from itself (sync 3.2).
    let rows = one_of_each(&mut slow, "of the slow one");
    settle([&mut slow, &mut services]).await;

    slow.skew = 0;
    slow.resync();
    settle([&mut slow, &mut services]).await;

    agree(&slow, &services, "after a full resync");
    for (channel, id) in &rows {
        assert!(
            services.get(*channel, id).is_some(),
            "sync 9, Full resync: {channel:?} is missing"
        );
    }
    let todo = rows.iter().find(|it| it.0 == Channel::Todos).expect("a todo");
    slow.edit(todo.0, &todo.1, "by a clock put right");
    settle([&mut slow, &mut services]).await;
    assert_eq!(services.message(todo.0, &todo.1), Some("by a clock put right"), "sync 3.2, Delta");
}
