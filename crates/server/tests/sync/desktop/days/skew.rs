//! Tests of clocks that are a day apart.

use pia_server_testkit::on_both_databases;
use pia_testkit::databases::TestDatabase;

use super::{HOUR, agree, edit_all, editable, one_of_each, settle};
use crate::desktop::device::Device;
use crate::desktop::fields::Channel;
use crate::desktop::world::World;

on_both_databases!(
    devices_with_clocks_a_day_apart_converge,
    an_edit_by_a_fast_clock_reaches_the_other_devices,
    an_edit_by_a_right_clock_replaces_a_row_of_a_slow_one,
    an_edit_that_is_older_than_that_of_a_fast_clock_loses,
    a_full_resync_pushes_rows_that_a_slow_clock_hid,
    a_corrected_clock_pushes_its_edits,
);

const DAY: i64 = 86_400;

/// Rows of one device, one of each channel.
type Rows = Vec<(Channel, String)>;

/// Three devices that agree on the rows that each has created.
struct SkewedDevices {
    world: World,
    fast: Device,
    slow: Device,
    right: Device,
    rows_of_fast: Rows,
    rows_of_slow: Rows,
    rows_of_right: Rows,
}

impl SkewedDevices {
    async fn new(database: TestDatabase) -> Self {
        let world = World::new(database).await;
        let mut fast = world.sign_in_device().await;
        let mut slow = world.sign_in_device().await;
        let mut right = world.sign_in_device().await;
        fast.skew = DAY;
        slow.skew = -DAY;

        // A first push sends everything, whatever the clock.
        let rows_of_fast = one_of_each(&mut fast, "of the fast one");
        let rows_of_slow = one_of_each(&mut slow, "of the slow one");
        let rows_of_right = one_of_each(&mut right, "of the right one");
        settle([&mut fast, &mut slow, &mut right]).await;

        Self { world, fast, slow, right, rows_of_fast, rows_of_slow, rows_of_right }
    }

    async fn settle(&mut self) {
        settle([&mut self.fast, &mut self.slow, &mut self.right]).await;
    }

    fn assert_agreement(&self, when: &str) {
        agree(&self.fast, &self.right, when);
        agree(&self.slow, &self.right, when);
    }

    /// Asserts that every device has this content in the rows that can be edited.
    fn assert_content(&self, rows: &[(Channel, String)], text: &str) {
        for device in [&self.fast, &self.slow, &self.right] {
            for (channel, id) in editable(rows) {
                let content = device.content(*channel, id);
                assert_eq!(content, Some(text), "the newest edit wins: {channel:?}");
            }
        }
    }
}

async fn devices_with_clocks_a_day_apart_converge(database: TestDatabase) {
    let devices = SkewedDevices::new(database).await;

    devices.assert_agreement("after the first cycles");
}

async fn an_edit_by_a_fast_clock_reaches_the_other_devices(database: TestDatabase) {
    let mut devices = SkewedDevices::new(database).await;
    devices.world.advance(HOUR);

    edit_all(&mut devices.fast, &devices.rows_of_right, "by the fast one");
    devices.settle().await;

    devices.assert_content(&devices.rows_of_right, "by the fast one");
    devices.assert_agreement("after an edit by the fast clock");
}

async fn an_edit_by_a_right_clock_replaces_a_row_of_a_slow_one(database: TestDatabase) {
    let mut devices = SkewedDevices::new(database).await;
    devices.world.advance(HOUR);

    edit_all(&mut devices.right, &devices.rows_of_slow, "by the right one");
    devices.settle().await;

    devices.assert_content(&devices.rows_of_slow, "by the right one");
    devices.assert_agreement("after an edit of the slow clock's rows");
}

async fn an_edit_that_is_older_than_that_of_a_fast_clock_loses(database: TestDatabase) {
    let mut devices = SkewedDevices::new(database).await;
    devices.world.advance(HOUR);

    edit_all(&mut devices.right, &devices.rows_of_fast, "too early");
    devices.settle().await;

    for (channel, id) in editable(&devices.rows_of_fast) {
        let winner = devices.right.content(*channel, id);
        assert!(
            winner.is_some_and(|it| it != "too early"),
            "{channel:?}: the winner was not sent to the loser"
        );
    }
    devices.assert_agreement("after an edit that lost");
}

/// Two devices, of which one created rows before its clock was corrected.
struct CorrectedDevices {
    corrected: Device,
    desk: Device,
    rows: Rows,
}

impl CorrectedDevices {
    async fn new(world: &World) -> Self {
        let mut desk = world.sign_in_device().await;
        let mut slow = world.sign_in_device().await;
        settle([&mut desk, &mut slow]).await;
        slow.skew = -DAY;
        // Older than its cursor: the client hides these from itself.
        let rows = one_of_each(&mut slow, "of the slow one");
        settle([&mut slow, &mut desk]).await;

        slow.skew = 0;
        slow.resync();
        settle([&mut slow, &mut desk]).await;

        Self { corrected: slow, desk, rows }
    }
}

async fn a_full_resync_pushes_rows_that_a_slow_clock_hid(database: TestDatabase) {
    let world = World::new(database).await;

    let CorrectedDevices { corrected, desk, rows } = CorrectedDevices::new(&world).await;

    agree(&corrected, &desk, "after a full resync");
    for (channel, id) in &rows {
        assert!(desk.get(*channel, id).is_some(), "a full resync pushes {channel:?} too");
    }
}

async fn a_corrected_clock_pushes_its_edits(database: TestDatabase) {
    let world = World::new(database).await;
    let CorrectedDevices { mut corrected, mut desk, rows } = CorrectedDevices::new(&world).await;
    let (channel, id) = rows.iter().find(|it| it.0 == Channel::Todos).expect("a todo");

    corrected.edit(*channel, id, "by a clock put right");
    settle([&mut corrected, &mut desk]).await;

    assert_eq!(desk.content(*channel, id), Some("by a clock put right"), "the edit is pushed");
}
