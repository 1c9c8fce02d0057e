//! Tests of a day on which the account is reset.

use pia_server_testkit::on_both_databases;
use pia_testkit::databases::TestDatabase;

use super::{HOUR, agree, editable, one_of_each, settle};
use crate::desktop::encryption::Signature;
use crate::desktop::fields::Channel;
use crate::desktop::keys::DeviceKeys;
use crate::desktop::pull::Pulled;
use crate::desktop::push::Pushed;
use crate::desktop::world::World;

on_both_databases!(
    a_reset_reaches_the_other_device_and_both_start_over,
    a_plain_account_is_filled_again_after_a_reset,
);

async fn a_reset_reaches_the_other_device_and_both_start_over(database: TestDatabase) {
    let world = World::new(database).await;
    let mut desk = world.sign_in_device().await;
    let mut laptop = world.sign_in_device().await;
    let rows = one_of_each(&mut desk, "of the old days");
    let chat = desk.start_chat("of the old days");
    desk.put(&chat).await;
    desk.enable_encryption().await;
    laptop.register().await;
    desk.approve(&laptop.id, Signature::Second).await;
    laptop.fetch_key().await;
    settle([&mut desk, &mut laptop]).await;

    world.advance(HOUR);
    desk.reset().await;
    assert_eq!(desk.e2ee_status().await["isEnabled"], false, "a reset ends encryption");

    let cycle = laptop.cycle().await;
    assert!(cycle.revoked, "a reset removes all devices, and their next pull is a change");
    let response = desk.get_json("/api/v1/chats?includeDeleted=true").await;
    assert_eq!(response.body["chats"], serde_json::json!([]), "a reset deletes chats too");
    let blob = desk.get_json("/api/e2ee/recovery/wrapped-umk").await;
    assert_eq!(blob.status, 404, "a reset deletes the recovery copy");

    // They start over, first in plaintext and then encrypted.
    desk.umk = None;
    desk.keys = DeviceKeys::generate();
    assert!(matches!(desk.push_all().await, Pushed::Stored(_)), "plain rows are accepted");

    laptop.resync();
    settle([&mut laptop, &mut desk]).await;
    agree(&laptop, &desk, "after a reset");
    desk.enable_encryption().await;
    laptop.register().await;
    desk.approve(&laptop.id, Signature::Second).await;
    laptop.fetch_key().await;
    settle([&mut laptop, &mut desk]).await;
    agree(&laptop, &desk, "encrypted again");
    for (channel, id) in &rows {
        assert!(laptop.get(*channel, id).is_some(), "{channel:?} was not pushed again");
    }
}

async fn a_plain_account_is_filled_again_after_a_reset(database: TestDatabase) {
    let world = World::new(database).await;
    let mut desk = world.sign_in_device().await;
    let mut laptop = world.sign_in_device().await;
    let rows = one_of_each(&mut desk, "of the old days");
    settle([&mut desk, &mut laptop]).await;
    world.advance(HOUR);
    for (channel, id) in editable(&rows) {
        desk.delete(*channel, id);
    }
    let cycle = desk.cycle().await;
    assert_eq!(cycle.pushed, Pushed::Stored(0), "deletions are no conflict");
    let (channel, id) = rows.iter().find(|it| it.0 == Channel::Todos).expect("a todo");
    assert!(laptop.get(*channel, id).is_some(), "it has not received the deletion");

    desk.reset().await;
    // A stored ETag and the cursors are of the previous epoch.
    let pulled = desk.pull().await;
    assert_ne!(pulled, Pulled::NotModified, "a reset invalidates ETags");
    for device in [&mut desk, &mut laptop] {
        device.resync();
        device.deleted.clear();
    }
    settle([&mut laptop, &mut desk]).await;

    agree(&laptop, &desk, "after a reset");
    for (channel, id) in &rows {
        let reason = "a reset leaves no tombstones, so rows of a device are new";
        assert!(desk.get(*channel, id).is_some(), "{reason}: {channel:?}");
    }
}
