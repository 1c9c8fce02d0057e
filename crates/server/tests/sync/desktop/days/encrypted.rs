//! Tests of a day on which encryption is enabled at noon.

use memchr::memmem;
use pia_server_testkit::on_both_databases;
use pia_testkit::databases::TestDatabase;

use super::{HOUR, agree, edit_all, one_of_each, settle};
use crate::desktop::chats::Stored;
use crate::desktop::device::{Cycle, Device};
use crate::desktop::encryption::{ACTIVE, PENDING, Signature, assert_success};
use crate::desktop::fields::Channel;
use crate::desktop::pull::Pulled;
use crate::desktop::push::Pushed;
use crate::desktop::world::World;

on_both_databases!(
    a_device_without_the_key_is_refused,
    an_approved_device_pushes_again_what_was_refused,
    no_plaintext_is_left_after_encryption,
    plain_rows_are_replaced_by_encrypted_ones_of_equal_time_once,
);

/// Text in every item of the morning.
const CANARY: &str = "canary-of-the-morning";

/// Two devices with rows and a chat in plaintext, which one of them then encrypts.
struct TwoDevices {
    world: World,
    desk: Device,
    laptop: Device,
    rows: Vec<(Channel, String)>,
    chat: String,
}

/// Outcomes of pushes by a device that lacks the key.
struct PlainPushes {
    rows: Cycle,
    chat: Stored,
}

impl TwoDevices {
    async fn new(database: TestDatabase) -> Self {
        let world = World::new(database).await;
        let mut desk = world.sign_in_device().await;
        let mut laptop = world.sign_in_device().await;

        let rows = one_of_each(&mut desk, CANARY);
        desk.set(CANARY);
        let chat = desk.start_chat(CANARY);
        assert_eq!(desk.put(&chat).await, Stored::Created);
        settle([&mut desk, &mut laptop]).await;
        laptop.list_chats().await;

        Self { world, desk, laptop, rows, chat }
    }

    fn todo(&self) -> &(Channel, String) {
        self.rows.iter().find(|it| it.0 == Channel::Todos).expect("a todo")
    }

    /// Encrypts the account on the desk, without the laptop's knowledge.
    async fn encrypt(&mut self) {
        self.world.advance(HOUR);
        self.desk.enable_encryption().await;
        self.desk.settle().await;
    }

    /// Pushes an edit and a message from the laptop, which lacks the key.
    async fn push_without_key(&mut self) -> PlainPushes {
        let (channel, id) = self.todo().clone();
        self.laptop.edit(channel, &id, "said before the lap knew");
        let rows = self.laptop.cycle().await;
        self.laptop.write(&self.chat, "in the clear");
        let chat = self.laptop.put(&self.chat).await;
        PlainPushes { rows, chat }
    }

    /// Registers the laptop, and approves it by hand on the desk.
    async fn approve_laptop(&mut self) {
        let registration = self.laptop.register().await;
        assert!(!registration.is_first, "another device is active");
        let status = self.laptop.own_status().await;
        assert_eq!(status, Some(PENDING), "a new device waits for approval");

        let approval_response = self.desk.approve(&self.laptop.id, Signature::Second).await;
        assert_success(&approval_response, "an approval");
        let status_after_approval = self.laptop.own_status().await;
        assert_eq!(status_after_approval, Some(ACTIVE), "an approval activates the device");

        self.laptop.fetch_key().await;
        assert_eq!(self.laptop.umk, self.desk.umk, "the approval carries the key");
    }

    async fn settle(&mut self) {
        settle([&mut self.laptop, &mut self.desk]).await;
    }
}

async fn a_device_without_the_key_is_refused(database: TestDatabase) {
    let mut devices = TwoDevices::new(database).await;
    agree(&devices.desk, &devices.laptop, "in the morning");
    assert_eq!(devices.laptop.words(&devices.chat), [CANARY]);
    let plain_text = pulled_text(&mut devices.desk).await;
    assert!(plain_text.contains(CANARY), "a plain account is pulled in plaintext");

    devices.encrypt().await;
    let PlainPushes { rows, chat } = devices.push_without_key().await;

    assert_eq!(rows.pushed, Pushed::Refused(403), "plain rows are refused");
    assert_eq!(rows.pulled, Pulled::Locked, "ciphertext without a key is not applied");
    assert_eq!(chat, Stored::Dropped(403), "plain chats are refused");
    assert!(devices.laptop.onboarding, "the refusal has the code that the client looks for");
}

async fn an_approved_device_pushes_again_what_was_refused(database: TestDatabase) {
    let mut devices = TwoDevices::new(database).await;
    devices.encrypt().await;
    devices.push_without_key().await;

    devices.approve_laptop().await;
    devices.world.advance(HOUR);
    devices.settle().await;
    let stored = devices.laptop.put(&devices.chat).await;
    devices.desk.list_chats().await;

    agree(&devices.desk, &devices.laptop, "in the afternoon");
    let (channel, id) = devices.todo();
    let content = devices.desk.content(*channel, id);
    assert_eq!(content, Some("said before the lap knew"), "a refused edit is pushed again later");
    assert!(matches!(stored, Stored::Replaced | Stored::Merged));
    assert_eq!(devices.desk.words(&devices.chat), [CANARY, "in the clear"]);
}

async fn no_plaintext_is_left_after_encryption(database: TestDatabase) {
    let mut devices = TwoDevices::new(database).await;
    devices.encrypt().await;
    devices.push_without_key().await;
    devices.approve_laptop().await;
    devices.world.advance(HOUR);
    devices.settle().await;
    devices.laptop.put(&devices.chat).await;

    edit_all(&mut devices.laptop, &devices.rows, CANARY);
    devices.settle().await;

    agree(&devices.desk, &devices.laptop, "after encrypted edits");
    assert_no_plaintext(&devices.world, &mut devices.desk).await;
    let mut phone = devices.world.sign_in_device().await;
    phone.join_by_code(devices.desk.recovery_code.as_deref().expect("a code")).await;
    settle([&mut phone, &mut devices.desk, &mut devices.laptop]).await;
    agree(&phone, &devices.desk, "on a third device");
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
    let mut desk = world.sign_in_device().await;
    one_of_each(&mut desk, CANARY);
    desk.settle().await;
    desk.enable_encryption().await;
    desk.settle().await;
    assert!(!pulled_text(&mut desk).await.contains(CANARY), "sessions are replaced too");

    // Ciphertext always differs; the time of its row does not.
    assert!(matches!(desk.push_all().await, Pushed::Stored(_)));
    let mut laptop = world.sign_in_device().await;
    laptop.join_by_code(desk.recovery_code.as_deref().expect("a code")).await;
    settle([&mut desk, &mut laptop]).await;
    agree(&desk, &laptop, "after three pushes of everything");
    desk.skew = 86_400;
    let todo = desk.create(Channel::Todos, "of tomorrow");
    // It is pushed in every cycle, with a different ciphertext each time.
    settle([&mut desk, &mut laptop]).await;
    assert_eq!(laptop.content(Channel::Todos, &todo), desk.content(Channel::Todos, &todo));
}
