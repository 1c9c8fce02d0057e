//! A day on which everything is thrown away.

use pia_server_testkit::on_both_databases;
use pia_testkit::databases::TestDatabase;

use super::{HOUR, agree, editable, one_of_each, settle};
use crate::desktop::encryption::Signature;
use crate::desktop::fields::Channel;
use crate::desktop::push::Pushed;
use crate::desktop::world::World;

on_both_databases!(
    a_reset_is_learned_by_the_other_device_and_both_begin_again,
    a_plain_account_is_filled_again_after_a_reset,
);

async fn a_reset_is_learned_by_the_other_device_and_both_begin_again(database: TestDatabase) {
    let world = World::new(database).await;
    let (mut services, mut lap) = (world.device().await, world.device().await);
    let rows = one_of_each(&mut services, "of the old days");
    let chat = services.begin_chat("of the old days");
    services.put(&chat).await;
    services.enable_encryption().await;
    lap.register().await;
    services.approve(&lap.id, Signature::Second).await;
    lap.take_key().await;
    settle([&mut services, &mut lap]).await;

    world.pass(HOUR);
    services.reset().await;
    assert_eq!(services.e2ee_status().await["isEnabled"], false, "spec, reset: not encrypted");

    let cycle = lap.cycle().await;
    assert!(cycle.revoked, "sync 7: the device is missing, and the reset bumped the version");
    let found = services.get_json("/api/v1/chats?includeDeleted=true").await;
    assert_eq!(found.body["chats"], serde_json::json!([]), "row 60: a reset empties chats too");
    let blob = services.get_json("/api/e2ee/recovery/wrapped-umk").await;
    assert_eq!(blob.status, 404, "spec, reset: the key material is gone");

    // They begin again, in the clear first and encrypted then.
    (services.umk, services.keys) = (None, crate::desktop::keys::DeviceKeys::generate());
    assert!(matches!(services.push_all().await, Pushed::Stored(_)), "spec, reset: not encrypted");
    lap.resync();
    settle([&mut lap, &mut services]).await;
    agree(&lap, &services, "after a reset");
    services.enable_encryption().await;
    lap.register().await;
    services.approve(&lap.id, Signature::Second).await;
    lap.take_key().await;
    settle([&mut lap, &mut services]).await;
    agree(&lap, &services, "encrypted again");
    for (channel, id) in &rows {
        assert!(lap.get(*channel, id).is_some(), "sync 3.2, First sync: {channel:?} is missing");
    }
}

async fn a_plain_account_is_filled_again_after_a_reset(database: TestDatabase) {
    let world = World::new(database).await;
    let (mut services, mut lap) = (world.device().await, world.device().await);
    let rows = one_of_each(&mut services, "of the old days");
    settle([&mut services, &mut lap]).await;
    world.pass(HOUR);
    for (channel, id) in editable(&rows) {
        services.delete(*channel, id);
    }
    let at = services.cycle().await;
    assert_eq!(at.pushed, Pushed::Stored(0), "sync 3.4, Delete");
    assert!(lap.get(Channel::Todos, &rows[6].1).is_some(), "it has not heard of it");

    services.reset().await;
    // A stored ETag is of the time before, and so are the cursors (row 60).
    let pulled = services.pull().await;
    assert_ne!(pulled, crate::desktop::pull::Pulled::NotModified, "row 60: the epoch of an ETag");
    for device in [&mut services, &mut lap] {
        device.resync();
        device.deleted.clear();
    }
    settle([&mut lap, &mut services]).await;

    agree(&lap, &services, "after a reset");
    for (channel, id) in &rows {
        let why = "sync 7: a reset leaves no tombstones, so what a device still has is new";
        assert!(services.get(*channel, id).is_some(), "{why}: {channel:?}");
    }
}
