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
    each_device_receives_the_rows_of_the_other,
    edits_reach_the_other_device,
    unknown_enum_values_are_returned,
    the_later_of_two_edits_wins,
    a_new_device_receives_what_edits_and_deletions_left,
    a_device_with_small_pages_receives_everything,
    idle_devices_receive_not_modified,
    a_push_that_is_repeated_after_a_lost_answer_is_harmless,
);

/// Two devices that have each other's rows.
struct SyncedDevices {
    world: World,
    desk: Device,
    laptop: Device,
    desk_rows: Vec<(Channel, String)>,
    laptop_rows: Vec<(Channel, String)>,
}

impl SyncedDevices {
    async fn new(database: TestDatabase) -> Self {
        let world = World::new(database).await;
        let mut desk = world.sign_in_device().await;
        let mut laptop = world.sign_in_device().await;
        let desk_rows = one_of_each(&mut desk, "the desk");
        let laptop_rows = one_of_each(&mut laptop, "the lap");

        let pushed = desk.cycle().await.pushed;
        assert_eq!(pushed, Pushed::Stored(0), "no row of a first push is a conflict");
        settle([&mut desk, &mut laptop]).await;
        world.advance(HOUR * 3);

        Self { world, desk, laptop, desk_rows, laptop_rows }
    }

    async fn settle(&mut self) {
        settle([&mut self.desk, &mut self.laptop]).await;
    }
}

async fn each_device_receives_the_rows_of_the_other(database: TestDatabase) {
    let devices = SyncedDevices::new(database).await;

    agree(&devices.desk, &devices.laptop, "after the first cycles");
    for (channel, id) in devices.desk_rows.iter().chain(&devices.laptop_rows) {
        let row = devices.laptop.get(*channel, id);
        assert!(row.is_some(), "the laptop lacks {channel:?} {id}");
    }
}

async fn edits_reach_the_other_device(database: TestDatabase) {
    let mut devices = SyncedDevices::new(database).await;

    edit_all(&mut devices.desk, &devices.desk_rows, "said at the desk");
    edit_all(&mut devices.laptop, &devices.laptop_rows, "said on the lap");
    devices.desk.set("C:\\Desk");
    devices.settle().await;

    agree(&devices.desk, &devices.laptop, "after edits in both directions");
    for (channel, id) in editable(&devices.desk_rows) {
        let content = devices.laptop.content(*channel, id);
        assert_eq!(content, Some("said at the desk"), "{channel:?}");
    }
    let setting = devices.laptop.content(Channel::Settings, SETTINGS);
    assert_eq!(setting, Some("C:\\Desk"));
}

async fn unknown_enum_values_are_returned(database: TestDatabase) {
    let mut devices = SyncedDevices::new(database).await;
    let todo = devices.desk_rows.iter().find(|it| it.0 == Channel::Todos).expect("a todo").clone();

    edit_all(&mut devices.desk, &devices.desk_rows, "said at the desk");
    set_unknown_priority(&mut devices.desk, &todo);
    devices.settle().await;

    agree(&devices.desk, &devices.laptop, "after an edit by a later client");
    assert_eq!(devices.laptop.store[&todo].fields["priority"], 17);
}

async fn the_later_of_two_edits_wins(database: TestDatabase) {
    let mut devices = SyncedDevices::new(database).await;

    edit_all(&mut devices.laptop, &devices.desk_rows, "the earlier word");
    devices.world.advance(MINUTE);
    edit_all(&mut devices.desk, &devices.desk_rows, "the later word");
    devices.desk.cycle().await;
    devices.laptop.cycle().await;
    devices.settle().await;

    agree(&devices.desk, &devices.laptop, "after two edits of each row");
    for (channel, id) in editable(&devices.desk_rows) {
        let content = devices.laptop.content(*channel, id);
        assert_eq!(content, Some("the later word"), "{channel:?}");
    }
}

async fn a_new_device_receives_what_edits_and_deletions_left(database: TestDatabase) {
    let mut devices = SyncedDevices::new(database).await;
    edit_all(&mut devices.laptop, &devices.desk_rows, "said on the lap");
    for (channel, id) in editable(&devices.laptop_rows) {
        devices.desk.delete(*channel, id);
    }
    devices.settle().await;
    agree(&devices.desk, &devices.laptop, "after edits and deletions");
    for (channel, id) in editable(&devices.laptop_rows) {
        assert_eq!(devices.laptop.get(*channel, id), None, "{channel:?}");
    }

    devices.world.advance(HOUR * 3);
    let mut phone = devices.world.sign_in_device().await;
    settle([&mut phone, &mut devices.desk, &mut devices.laptop]).await;

    agree(&phone, &devices.desk, "with a new device");
    agree(&devices.laptop, &devices.desk, "with a new device");
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
    let mut desk = world.sign_in_device().await;
    let mut laptop = world.sign_in_device().await;
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
    let mut desk = world.sign_in_device().await;
    let mut laptop = world.sign_in_device().await;
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
    let mut desk = world.sign_in_device().await;
    let mut laptop = world.sign_in_device().await;
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
