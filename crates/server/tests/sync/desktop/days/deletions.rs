//! Deletions against edits (row 34).

use pia_server_testkit::on_both_databases;
use pia_testkit::databases::TestDatabase;
use uuid::Uuid;

use super::{HOUR, MINUTE, agree, editable, one_of_each, settle};
use crate::desktop::device::Device;
use crate::desktop::fields::Channel;
use crate::desktop::pull::Pulled;
use crate::desktop::push::Pushed;
use crate::desktop::world::World;

on_both_databases!(
    an_edit_from_before_a_deletion_comes_too_late,
    an_edit_from_after_a_deletion_brings_the_row_back,
    a_deletion_beats_a_row_from_the_future,
    a_deletion_of_tomorrow_is_one_of_today,
    a_deletion_by_a_slow_clock_deletes_and_a_later_edit_revives,
    a_deletion_that_is_repeated_is_no_news,
    a_column_is_stored_where_its_deletion_is_not_heard,
);

const DAY: i64 = 86_400;

/// Two devices that hold one row of each kind.
async fn two_of_one_mind(world: &World) -> (Device, Device, Vec<(Channel, String)>) {
    let (mut services, mut lap) = (world.device().await, world.device().await);
    let rows = one_of_each(&mut services, "there");
    settle([&mut services, &mut lap]).await;
    (services, lap, rows)
}

fn delete_all(device: &mut Device, rows: &[(Channel, String)]) {
    editable(rows).for_each(|(channel, id)| device.delete(*channel, id));
}

fn edit_all(device: &mut Device, rows: &[(Channel, String)]) {
    editable(rows).for_each(|(channel, id)| {
        assert!(device.edit(*channel, id, "edited"), "{channel:?}");
    });
}

fn none_left(device: &Device, rows: &[(Channel, String)], why: &str) {
    for (channel, id) in editable(rows) {
        assert_eq!(device.get(*channel, id), None, "row 34: {why}: {channel:?}");
    }
}

fn all_edited(device: &Device, rows: &[(Channel, String)], why: &str) {
    for (channel, id) in editable(rows) {
        assert_eq!(device.message(*channel, id), Some("edited"), "row 34: {why}: {channel:?}");
    }
}

async fn an_edit_from_before_a_deletion_comes_too_late(database: TestDatabase) {
    let world = World::new(database).await;
    let (mut services, mut lap, rows) = two_of_one_mind(&world).await;
    world.pass(HOUR);
    edit_all(&mut lap, &rows);
    world.pass(MINUTE);
    delete_all(&mut services, &rows);
    services.cycle().await;

    world.pass(MINUTE);
    settle([&mut lap, &mut services]).await;

    none_left(&services, &rows, "an edit older than the deletion revived the row");
    none_left(&lap, &rows, "the device that edited does not hear that the row is gone");
    agree(&services, &lap, "after a late edit");
}

async fn an_edit_from_after_a_deletion_brings_the_row_back(database: TestDatabase) {
    let world = World::new(database).await;
    let (mut services, mut lap, rows) = two_of_one_mind(&world).await;
    world.pass(HOUR);
    delete_all(&mut services, &rows);
    services.cycle().await;
    world.pass(MINUTE);
    edit_all(&mut lap, &rows);

    lap.cycle().await;
    settle([&mut services, &mut lap]).await;

    all_edited(&services, &rows, "an edit newer than the deletion revives the row");
    all_edited(&lap, &rows, "an edit newer than the deletion revives the row");
    agree(&services, &lap, "after a revival");
}

async fn a_deletion_beats_a_row_from_the_future(database: TestDatabase) {
    let world = World::new(database).await;
    let (mut services, mut lap, rows) = two_of_one_mind(&world).await;
    lap.skew = DAY;
    edit_all(&mut lap, &rows);
    settle([&mut lap, &mut services]).await;
    all_edited(&services, &rows, "a row of tomorrow is newer");

    world.pass(MINUTE);
    delete_all(&mut services, &rows);
    services.cycle().await;
    // Whose clock is ahead says its rows in every cycle.
    settle([&mut lap, &mut services]).await;
    lap.resync();
    settle([&mut lap, &mut services]).await;

    none_left(&services, &rows, "the later of the row's own time and the deletion's");
    none_left(&lap, &rows, "the later of the row's own time and the deletion's");
}

async fn a_deletion_of_tomorrow_is_one_of_today(database: TestDatabase) {
    let world = World::new(database).await;
    let (mut services, mut lap, rows) = two_of_one_mind(&world).await;
    world.pass(HOUR);
    services.skew = DAY;
    delete_all(&mut services, &rows);
    services.cycle().await;
    world.pass(MINUTE);
    edit_all(&mut lap, &rows);

    lap.cycle().await;
    settle([&mut services, &mut lap]).await;

    all_edited(&services, &rows, "a deletion's time is capped at the server's");
    agree(&services, &lap, "after a deletion of tomorrow");
}

async fn a_deletion_by_a_slow_clock_deletes_and_a_later_edit_revives(database: TestDatabase) {
    let world = World::new(database).await;
    let (mut services, mut lap, rows) = two_of_one_mind(&world).await;
    world.pass(HOUR);
    services.skew = -DAY;
    delete_all(&mut services, &rows);
    services.cycle().await;
    let mut phone = world.device().await;
    phone.cycle().await;
    none_left(&phone, &rows, "a deletion beats what was stored before it, whatever its clock");

    edit_all(&mut lap, &rows);
    lap.cycle().await;
    settle([&mut services, &mut lap, &mut phone]).await;

    all_edited(&services, &rows, "newer than the deleted row's own time");
    agree(&services, &phone, "after a deletion of yesterday");
}

async fn a_deletion_that_is_repeated_is_no_news(database: TestDatabase) {
    let world = World::new(database).await;
    let (mut services, mut lap, rows) = two_of_one_mind(&world).await;
    let mut phone = world.device().await;
    settle([&mut phone, &mut services, &mut lap]).await;
    world.pass(HOUR);
    delete_all(&mut services, &rows);
    settle([&mut services, &mut phone]).await;

    // The lap reports it again; the others do not.
    lap.cycle().await;
    let echo = lap.cycle().await.pushed;
    assert!(matches!(echo, Pushed::Stored(_)), "sync 3.4: a pulled delete is said again: {echo:?}");
    lap.settle().await;

    for device in [&mut services, &mut phone] {
        let pulled = device.cycle().await.pulled;
        let again = "sync 3.4, Idempotency: a deletion of what is deleted restamped it";
        assert_eq!(pulled, Pulled::NotModified, "{again}");
    }
    // What nobody has ever had is passed over.
    services.deleted.insert((Channel::Todos, Uuid::now_v7().to_string()));
    let unknown = services.cycle().await.pushed;
    assert_eq!(unknown, Pushed::Stored(0), "sync 3.4, Delete: unknown ids are ignored");
    settle([&mut services, &mut lap, &mut phone]).await;
}

async fn a_column_is_stored_where_its_deletion_is_not_heard(database: TestDatabase) {
    let world = World::new(database).await;
    let (mut services, mut lap, rows) = two_of_one_mind(&world).await;
    let column = rows.iter().find(|it| it.0 == Channel::KanbanColumns).expect("a column");
    world.pass(HOUR);
    services.delete(column.0, &column.1);
    settle([&mut services, &mut lap]).await;
    assert!(lap.get(column.0, &column.1).is_some(), "sync 2.4, kanbanColumns.deleted is ignored");

    // A device at a loss says what it has, which is older than the deletion.
    lap.resync();
    settle([&mut lap, &mut services]).await;
    assert_eq!(services.get(column.0, &column.1), None, "row 34: an old column came back");

    world.pass(MINUTE);
    lap.edit(column.0, &column.1, "edited");
    settle([&mut lap, &mut services]).await;
    assert_eq!(
        services.message(column.0, &column.1),
        Some("edited"),
        "row 34: a newer one comes back"
    );
}
