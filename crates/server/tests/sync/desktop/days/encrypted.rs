//! A day on which encryption is turned on at noon.

use memchr::memmem;
use pia_server_testkit::on_both_databases;
use pia_testkit::databases::TestDatabase;

use super::{HOUR, agree, editable, one_of_each, settle};
use crate::desktop::chats::Stored;
use crate::desktop::device::Device;
use crate::desktop::encryption::{ACTIVE, PENDING, Signature};
use crate::desktop::fields::Channel;
use crate::desktop::pull::Pulled;
use crate::desktop::push::Pushed;
use crate::desktop::world::World;

on_both_databases!(
    two_devices_of_which_one_turns_encryption_on_at_noon,
    rows_of_equal_times_are_replaced_by_their_encrypted_selves_once,
);

/// Text in every item of the morning.
const CANARY: &str = "canary-of-the-morning";

async fn two_devices_of_which_one_turns_encryption_on_at_noon(database: TestDatabase) {
    let world = World::new(database).await;
    let (mut services, mut lap) = (world.device().await, world.device().await);

    // The morning, in the clear.
    let rows = one_of_each(&mut services, CANARY);
    services.set(CANARY);
    let chat = services.begin_chat(CANARY);
    assert_eq!(services.put(&chat).await, Stored::Created, "sync 6.4");
    settle([&mut services, &mut lap]).await;
    lap.list_chats().await;
    agree(&services, &lap, "in the morning");
    assert_eq!(lap.words(&chat), [CANARY], "sync 6.2");
    assert!(pulled_text(&mut services).await.contains(CANARY), "the canary sings in the clear");

    // Noon.
    world.pass(HOUR);
    services.enable_encryption().await;
    services.settle().await;
    let todo = rows.iter().find(|it| it.0 == Channel::Todos).expect("a todo").clone();
    lap.edit(todo.0, &todo.1, "said before the lap knew");
    let cycle = lap.cycle().await;
    assert_eq!(cycle.pushed, Pushed::Refused(403), "sync 5, Gate");
    assert_eq!(cycle.pulled, Pulled::Locked, "sync 2.4: ciphertext without a key");
    assert!(lap.onboarding, "sync 3.6: the words that the client looks for");
    lap.write(&chat, "in the clear");
    assert_eq!(lap.put(&chat).await, Stored::Dropped(403), "sync 5, Gate: chats");

    // The lap is let in, by hand.
    let registered = lap.register().await;
    assert!(!registered.is_first, "e2ee 6.1: another device is active");
    assert_eq!(lap.own_status().await, Some(PENDING), "e2ee 8, Join by approval");
    let approved = services.approve(&lap.id, Signature::Second).await;
    assert!((200..300).contains(&approved.status), "e2ee 6, approve: {}", approved.text());
    assert_eq!(lap.own_status().await, Some(ACTIVE), "e2ee 8, Join by approval");
    lap.take_key().await;
    assert_eq!(lap.umk, services.umk, "e2ee 7, UMK wrap");

    // The afternoon.
    world.pass(HOUR);
    settle([&mut lap, &mut services]).await;
    agree(&services, &lap, "in the afternoon");
    let message = services.message(todo.0, &todo.1);
    assert_eq!(message, Some("said before the lap knew"), "sync 3.6: what was refused comes later");
    assert!(matches!(lap.put(&chat).await, Stored::Replaced | Stored::Merged), "sync 6.4");
    services.list_chats().await;
    assert_eq!(services.words(&chat), [CANARY, "in the clear"], "sync 6.6, E2EE");
    for (channel, id) in editable(&rows) {
        lap.edit(*channel, id, CANARY);
    }
    settle([&mut lap, &mut services]).await;
    agree(&services, &lap, "after encrypted edits");

    nothing_sings(&world, &mut services).await;
    let mut phone = world.device().await;
    phone.join_by_code(services.recovery_code.as_deref().expect("a code")).await;
    settle([&mut phone, &mut services, &mut lap]).await;
    agree(&phone, &services, "on a third device");
}

/// All that a new device would get.
async fn pulled_text(device: &mut Device) -> String {
    let path = "/api/sync/pull?since=0001-01-01T00:00:00.0000000Z&limit=500";
    let answer = device.get_json(path).await;
    assert_eq!(answer.status, 200, "sync 2.3: {}", answer.text());
    assert_ne!(answer.body["hasMore"], true, "few rows fit onto one page");
    answer.text()
}

/// No text of the morning is anywhere that can be looked at.
async fn nothing_sings(world: &World, device: &mut Device) {
    let pulled = pulled_text(device).await;
    assert!(!pulled.contains(CANARY), "row 61: a plain row is left: {pulled}");
    for path in ["/api/v1/chats?includeDeleted=true", "/api/sync/debug-state", "/api/sync/status"] {
        let answer = device.get_json(path).await;
        assert_eq!(answer.status, 200, "spec, Sync: {path}: {}", answer.text());
        assert!(!answer.text().contains(CANARY), "row 61: {path}: {}", answer.text());
    }
    let headers = [("accept", "application/json")];
    let export = device.call("GET", "/auth/account/export", &headers, &[]).await;
    assert_eq!(export.status, 200, "row 17: {}", export.text());
    assert!(!export.text().contains(CANARY), "row 61: the export: {}", export.text());
    for file in world.app.database_files() {
        let bytes = std::fs::read(&file).expect("a file");
        let found = memmem::find(&bytes, CANARY.as_bytes());
        assert_eq!(found, None, "row 61: in {}", file.display());
    }
}

async fn rows_of_equal_times_are_replaced_by_their_encrypted_selves_once(database: TestDatabase) {
    let world = World::new(database).await;
    let mut services = world.device().await;
    one_of_each(&mut services, CANARY);
    services.settle().await;
    services.enable_encryption().await;
    services.settle().await;
    assert!(!pulled_text(&mut services).await.contains(CANARY), "row 35: sessions included");

    // Ciphertext is never the same twice; its row's time is (sync section 5).
    assert!(matches!(services.push_all().await, Pushed::Stored(_)), "row 35");
    let mut lap = world.device().await;
    lap.join_by_code(services.recovery_code.as_deref().expect("a code")).await;
    settle([&mut services, &mut lap]).await;
    agree(&services, &lap, "after all was said three times");
    services.skew = 86_400;
    let todo = services.create(Channel::Todos, "of tomorrow");
    // Which it says in every cycle, in another ciphertext each time.
    settle([&mut services, &mut lap]).await;
    assert_eq!(
        lap.message(Channel::Todos, &todo),
        services.message(Channel::Todos, &todo),
        "sync 5"
    );
}
