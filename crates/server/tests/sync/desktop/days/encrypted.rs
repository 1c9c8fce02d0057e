//! Tests of a day on which encryption is enabled at noon.

use memchr::memmem;
use pia_server_testkit::on_both_databases;
use pia_testkit::databases::TestDatabase;

use super::{HOUR, agree, editable, one_of_each, settle};
use crate::desktop::chats::Stored;
use crate::desktop::device::Device;
use crate::desktop::encryption::{ACTIVE, PENDING, Signature, assert_success};
use crate::desktop::fields::Channel;
use crate::desktop::pull::Pulled;
use crate::desktop::push::Pushed;
use crate::desktop::world::World;

on_both_databases!(
    one_of_two_devices_enables_encryption,
    plain_rows_are_replaced_by_encrypted_ones_of_equal_time_once,
);

/// Text in every item of the morning.
const CANARY: &str = "canary-of-the-morning";

async fn one_of_two_devices_enables_encryption(database: TestDatabase) {
    let world = World::new(database).await;
    let mut desk = world.device().await;
    let mut laptop = world.device().await;

    // The morning, in plaintext.
    let rows = one_of_each(&mut desk, CANARY);
    desk.set(CANARY);
    let chat = desk.start_chat(CANARY);
    assert_eq!(desk.put(&chat).await, Stored::Created);

    settle([&mut desk, &mut laptop]).await;
    laptop.list_chats().await;
    agree(&desk, &laptop, "in the morning");
    assert_eq!(laptop.words(&chat), [CANARY]);
    assert!(
        pulled_text(&mut desk).await.contains(CANARY),
        "a plain account is pulled in plaintext"
    );

    // Noon.
    world.advance(HOUR);
    desk.enable_encryption().await;
    desk.settle().await;
    let todo = rows.iter().find(|it| it.0 == Channel::Todos).expect("a todo").clone();
    laptop.edit(todo.0, &todo.1, "said before the lap knew");
    let cycle = laptop.cycle().await;
    assert_eq!(cycle.pushed, Pushed::Refused(403), "plain rows are refused");
    assert_eq!(cycle.pulled, Pulled::Locked, "ciphertext without a key is not applied");
    assert!(laptop.onboarding, "the refusal has the code that the client looks for");

    laptop.write(&chat, "in the clear");
    assert_eq!(laptop.put(&chat).await, Stored::Dropped(403), "plain chats are refused");

    // The laptop is approved by hand.
    let registration = laptop.register().await;
    assert!(!registration.is_first, "another device is active");
    assert_eq!(laptop.own_status().await, Some(PENDING), "a new device waits for approval");
    let approval_response = desk.approve(&laptop.id, Signature::Second).await;
    assert_success(&approval_response, "an approval");
    assert_eq!(laptop.own_status().await, Some(ACTIVE), "an approval activates the device");
    laptop.fetch_key().await;
    assert_eq!(laptop.umk, desk.umk, "the approval carries the key");

    // The afternoon.
    world.advance(HOUR);
    settle([&mut laptop, &mut desk]).await;
    agree(&desk, &laptop, "in the afternoon");
    let content = desk.content(todo.0, &todo.1);
    assert_eq!(content, Some("said before the lap knew"), "a refused edit is pushed again later");
    assert!(matches!(laptop.put(&chat).await, Stored::Replaced | Stored::Merged));

    desk.list_chats().await;
    assert_eq!(desk.words(&chat), [CANARY, "in the clear"]);
    for (channel, id) in editable(&rows) {
        laptop.edit(*channel, id, CANARY);
    }
    settle([&mut laptop, &mut desk]).await;
    agree(&desk, &laptop, "after encrypted edits");

    assert_no_plaintext(&world, &mut desk).await;
    let mut phone = world.device().await;
    phone.join_by_code(desk.recovery_code.as_deref().expect("a code")).await;
    settle([&mut phone, &mut desk, &mut laptop]).await;
    agree(&phone, &desk, "on a third device");
}

/// Returns the text of a full pull.
async fn pulled_text(device: &mut Device) -> String {
    let path = "/api/sync/pull?since=0001-01-01T00:00:00.0000000Z&limit=500";
    let answer = device.get_json(path).await;
    assert_eq!(answer.status, 200, "a full pull: {}", answer.text());
    assert_ne!(answer.body["hasMore"], true, "few rows fit onto one page");
    answer.text()
}

/// Asserts that no text of the morning is left in answers, export and database.
async fn assert_no_plaintext(world: &World, device: &mut Device) {
    let pulled = pulled_text(device).await;
    assert!(!pulled.contains(CANARY), "a plain row is left: {pulled}");
    for path in ["/api/v1/chats?includeDeleted=true", "/api/sync/debug-state", "/api/sync/status"] {
        let answer = device.get_json(path).await;
        assert_eq!(answer.status, 200, "{path}: {}", answer.text());
        assert!(!answer.text().contains(CANARY), "plaintext is left in {path}: {}", answer.text());
    }

    let headers = [("accept", "application/json")];
    let export = device.call("GET", "/auth/account/export", &headers, &[]).await;
    assert_eq!(export.status, 200, "the export: {}", export.text());
    assert!(!export.text().contains(CANARY), "plaintext is left in the export: {}", export.text());
    for file in world.app.database_files() {
        let bytes = std::fs::read(&file).expect("a file");
        let position = memmem::find(&bytes, CANARY.as_bytes());
        assert_eq!(position, None, "plaintext is left in {}", file.display());
    }
}

async fn plain_rows_are_replaced_by_encrypted_ones_of_equal_time_once(database: TestDatabase) {
    let world = World::new(database).await;
    let mut desk = world.device().await;
    one_of_each(&mut desk, CANARY);
    desk.settle().await;
    desk.enable_encryption().await;
    desk.settle().await;
    assert!(!pulled_text(&mut desk).await.contains(CANARY), "sessions are replaced too");

    // Ciphertext always differs; the time of its row does not.
    assert!(matches!(desk.push_all().await, Pushed::Stored(_)));
    let mut laptop = world.device().await;
    laptop.join_by_code(desk.recovery_code.as_deref().expect("a code")).await;
    settle([&mut desk, &mut laptop]).await;
    agree(&desk, &laptop, "after three pushes of everything");
    desk.skew = 86_400;
    let todo = desk.create(Channel::Todos, "of tomorrow");
    // It is pushed in every cycle, with a different ciphertext each time.
    settle([&mut desk, &mut laptop]).await;
    assert_eq!(laptop.content(Channel::Todos, &todo), desk.content(Channel::Todos, &todo));
}
