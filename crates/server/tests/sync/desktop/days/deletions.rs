//! Tests of deletions against edits: the later one wins.

use pia_server_testkit::on_both_databases;
use pia_testkit::databases::TestDatabase;
use uuid::Uuid;

use super::{HOUR, MINUTE, agree, edit_all, editable, one_of_each, settle};
use crate::desktop::device::Device;
use crate::desktop::fields::Channel;
use crate::desktop::pull::Pulled;
use crate::desktop::push::Pushed;
use crate::desktop::world::World;

on_both_databases!(
    an_edit_before_a_deletion_is_discarded,
    an_edit_after_a_deletion_revives_the_row,
    a_deletion_supersedes_a_row_from_the_future,
    a_deletion_from_the_future_counts_as_now,
    a_deletion_by_a_slow_clock_deletes_and_a_later_edit_revives,
    a_repeated_deletion_is_not_a_change,
    a_deleted_column_stays_on_devices_that_ignore_the_deletion,
);

const DAY: i64 = 86_400;

/// Signs in two devices that share one row of each channel.
async fn two_synced_devices(world: &World) -> (Device, Device, Vec<(Channel, String)>) {
    let mut desk = world.sign_in_device().await;
    let mut laptop = world.sign_in_device().await;
    let rows = one_of_each(&mut desk, "there");
    settle([&mut desk, &mut laptop]).await;
    (desk, laptop, rows)
}

fn delete_all(device: &mut Device, rows: &[(Channel, String)]) {
    editable(rows).for_each(|(channel, id)| device.delete(*channel, id));
}

fn assert_deleted(device: &Device, rows: &[(Channel, String)], reason: &str) {
    for (channel, id) in editable(rows) {
        assert_eq!(device.get(*channel, id), None, "{reason}: {channel:?}");
    }
}

fn assert_edited(device: &Device, rows: &[(Channel, String)], reason: &str) {
    for (channel, id) in editable(rows) {
        assert_eq!(device.content(*channel, id), Some("edited"), "{reason}: {channel:?}");
    }
}

async fn an_edit_before_a_deletion_is_discarded(database: TestDatabase) {
    let world = World::new(database).await;
    let (mut desk, mut laptop, rows) = two_synced_devices(&world).await;
    world.advance(HOUR);
    edit_all(&mut laptop, &rows, "edited");
    world.advance(MINUTE);
    delete_all(&mut desk, &rows);
    desk.cycle().await;

    world.advance(MINUTE);
    settle([&mut laptop, &mut desk]).await;

    assert_deleted(&desk, &rows, "an edit older than the deletion revived the row");
    assert_deleted(&laptop, &rows, "the device that edited does not hear that the row is gone");
    agree(&desk, &laptop, "after a late edit");
}

async fn an_edit_after_a_deletion_revives_the_row(database: TestDatabase) {
    let world = World::new(database).await;
    let (mut desk, mut laptop, rows) = two_synced_devices(&world).await;
    world.advance(HOUR);
    delete_all(&mut desk, &rows);
    desk.cycle().await;
    world.advance(MINUTE);
    edit_all(&mut laptop, &rows, "edited");

    laptop.cycle().await;
    settle([&mut desk, &mut laptop]).await;

    assert_edited(&desk, &rows, "an edit newer than the deletion revives the row");
    assert_edited(&laptop, &rows, "an edit newer than the deletion revives the row");
    agree(&desk, &laptop, "after a revival");
}

async fn a_deletion_supersedes_a_row_from_the_future(database: TestDatabase) {
    let world = World::new(database).await;
    let (mut desk, mut laptop, rows) = two_synced_devices(&world).await;
    laptop.skew = DAY;
    edit_all(&mut laptop, &rows, "edited");
    settle([&mut laptop, &mut desk]).await;
    assert_edited(&desk, &rows, "a row of tomorrow is newer");

    world.advance(MINUTE);
    delete_all(&mut desk, &rows);
    desk.cycle().await;
    // A device whose clock is ahead pushes its rows in every cycle.
    settle([&mut laptop, &mut desk]).await;
    laptop.resync();
    settle([&mut laptop, &mut desk]).await;

    assert_deleted(&desk, &rows, "the later of the row's own time and the deletion's");
    assert_deleted(&laptop, &rows, "the later of the row's own time and the deletion's");
}

async fn a_deletion_from_the_future_counts_as_now(database: TestDatabase) {
    let world = World::new(database).await;
    let (mut desk, mut laptop, rows) = two_synced_devices(&world).await;
    world.advance(HOUR);
    desk.skew = DAY;
    delete_all(&mut desk, &rows);
    desk.cycle().await;
    world.advance(MINUTE);
    edit_all(&mut laptop, &rows, "edited");

    laptop.cycle().await;
    settle([&mut desk, &mut laptop]).await;

    assert_edited(&desk, &rows, "a deletion's time is capped at the server's");
    agree(&desk, &laptop, "after a deletion of tomorrow");
}

async fn a_deletion_by_a_slow_clock_deletes_and_a_later_edit_revives(database: TestDatabase) {
    let world = World::new(database).await;
    let (mut desk, mut laptop, rows) = two_synced_devices(&world).await;
    world.advance(HOUR);
    desk.skew = -DAY;
    delete_all(&mut desk, &rows);
    desk.cycle().await;
    let mut phone = world.sign_in_device().await;
    phone.cycle().await;
    assert_deleted(&phone, &rows, "a deletion beats what was stored before it, whatever its clock");

    edit_all(&mut laptop, &rows, "edited");
    laptop.cycle().await;
    settle([&mut desk, &mut laptop, &mut phone]).await;

    assert_edited(&desk, &rows, "newer than the deleted row's own time");
    agree(&desk, &phone, "after a deletion of yesterday");
}

async fn a_repeated_deletion_is_not_a_change(database: TestDatabase) {
    let world = World::new(database).await;
    let (mut desk, mut laptop, rows) = two_synced_devices(&world).await;
    let mut phone = world.sign_in_device().await;
    settle([&mut phone, &mut desk, &mut laptop]).await;
    world.advance(HOUR);
    delete_all(&mut desk, &rows);
    settle([&mut desk, &mut phone]).await;

    // The laptop receives it and repeats it; the others receive nothing.
    laptop.cycle().await;
    let echo = laptop.cycle().await.pushed;
    assert!(matches!(echo, Pushed::Stored(_)), "a pulled deletion is pushed again: {echo:?}");
    laptop.settle().await;

    for device in [&mut desk, &mut phone] {
        let pulled = device.cycle().await.pulled;
        assert_eq!(pulled, Pulled::NotModified, "a repeated deletion was stamped anew");
    }

    desk.deleted.insert((Channel::Todos, Uuid::now_v7().to_string()));
    let unknown = desk.cycle().await.pushed;
    assert_eq!(unknown, Pushed::Stored(0), "deletions of unknown ids are ignored");
    settle([&mut desk, &mut laptop, &mut phone]).await;
}

async fn a_deleted_column_stays_on_devices_that_ignore_the_deletion(database: TestDatabase) {
    let world = World::new(database).await;
    let (mut desk, mut laptop, rows) = two_synced_devices(&world).await;
    let column = rows.iter().find(|it| it.0 == Channel::KanbanColumns).expect("a column");
    world.advance(HOUR);
    desk.delete(column.0, &column.1);
    settle([&mut desk, &mut laptop]).await;
    assert!(laptop.get(column.0, &column.1).is_some(), "clients ignore deletions of columns");

    // A full resync pushes a version that is older than the deletion.
    laptop.resync();
    settle([&mut laptop, &mut desk]).await;
    assert_eq!(desk.get(column.0, &column.1), None, "an old version revived a deleted column");

    world.advance(MINUTE);
    laptop.edit(column.0, &column.1, "edited");
    settle([&mut laptop, &mut desk]).await;
    assert_eq!(
        desk.content(column.0, &column.1),
        Some("edited"),
        "a newer version revives a deleted column"
    );
}
