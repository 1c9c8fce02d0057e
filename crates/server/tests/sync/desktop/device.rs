//! State of a device between its cycles.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use pia_server_testkit::client::Client;
use serde_json::Value;
use uuid::Uuid;

use super::encryption::assert_success;
use super::fields::{Channel, SETTINGS};
use super::keys::{DeviceKeys, Umk};
use super::model::Journal;
use super::moment::Moment;
use super::pull::Pulled;
use super::push::Pushed;
use super::row::{Row, Sealer};
use super::world::{Time, World};

/// Versions of the client with different protocols.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Generation {
    /// March 2026: pushes every row in each cycle, with nulls, uncompressed and
    /// without deletions; its cursor is its own clock.
    March,
    /// Between them: later pushes are in Pascal case.
    Spring,
    Newest,
}

/// Rows of all channels.
pub(crate) type Store = BTreeMap<(Channel, String), Row>;

pub(crate) struct Device {
    pub(crate) generation: Generation,
    /// Id for synchronisation and for keys.
    pub(crate) id: String,
    pub(crate) client: Client,
    pub(crate) email: String,
    pub(crate) time: Time,
    pub(crate) journal: Arc<Journal>,
    /// Offset of its clock, in seconds.
    pub(crate) skew: i64,
    /// Time when its access token has to be replaced.
    pub(crate) fresh_until: Moment,
    pub(crate) store: Store,
    /// `lastSyncTimestamp`.
    pub(crate) cursor: Option<Moment>,
    pub(crate) etag: Option<String>,
    pub(crate) catalog: Option<i64>,
    /// `managedPersonaStoreInitialized` and `clientPolicyInitialized`, which
    /// close together.
    pub(crate) initialized: bool,
    pub(crate) deleted: BTreeSet<(Channel, String)>,
    /// Settings that it pushed last, without their time.
    pub(crate) pushed_settings: Option<BTreeMap<String, Value>>,
    /// True if it never pushes its settings.
    pub(crate) settings_muted: bool,
    /// Local changes that the server has not stored. The client does not track
    /// them, and misses those older than its cursor.
    pub(crate) unpushed: BTreeSet<(Channel, String)>,
    pub(crate) keys: DeviceKeys,
    pub(crate) umk: Option<Umk>,
    /// True if it lacks a required key.
    pub(crate) onboarding: bool,
    /// Recovery code, if encryption was enabled on this device.
    pub(crate) recovery_code: Option<String>,
    pub(crate) chats: BTreeMap<String, Value>,
    pub(crate) chats_etag: Option<String>,
    pub(crate) chats_supported: Option<bool>,
    /// Keys of its last pull, printed when a test fails.
    pub(crate) last_pulled: Vec<(Channel, String)>,
    /// Number of retries after a rate limit.
    pub(crate) retries: usize,
}

/// Outcome of one cycle.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Cycle {
    pub(crate) pushed: Pushed,
    pub(crate) pulled: Pulled,
    /// True if the device found that it was revoked.
    pub(crate) revoked: bool,
}

impl Device {
    pub(crate) async fn sign_in(world: &World, generation: Generation) -> Self {
        let time = world.time.clone();
        let fresh_until = time.now();
        let mut device = Self {
            generation,
            id: Uuid::now_v7().to_string(),
            client: world.anonymous(),
            email: world.email.clone(),
            time,
            journal: Arc::clone(&world.journal),
            skew: 0,
            fresh_until,
            store: Store::new(),
            cursor: None,
            etag: None,
            catalog: None,
            initialized: false,
            deleted: BTreeSet::new(),
            pushed_settings: None,
            settings_muted: false,
            unpushed: BTreeSet::new(),
            keys: DeviceKeys::generate(),
            umk: None,
            onboarding: false,
            recovery_code: None,
            chats: BTreeMap::new(),
            chats_etag: None,
            chats_supported: None,
            last_pulled: Vec::new(),
            retries: 0,
        };

        device.log_in().await;
        let at = device.now();
        let settings = Row::new(Channel::Settings, SETTINGS, "the default", at);
        device.store.insert((Channel::Settings, SETTINGS.to_owned()), settings);
        device
    }

    /// Returns whether its client supports a channel.
    pub(crate) fn knows(&self, channel: Channel) -> bool {
        let is_newer_than_march = matches!(channel, Channel::Personas | Channel::ScheduledJobs);
        self.generation != Generation::March || !is_newer_than_march
    }

    /// Returns a unique time of its own clock.
    pub(crate) fn now(&self) -> Moment {
        self.time.unique().plus_seconds(self.skew)
    }

    pub(crate) fn sealer(&self) -> Option<Sealer> {
        let user = self.client.user.clone().expect("a user");
        self.umk.clone().map(|umk| Sealer { user, umk })
    }

    /// Creates a row and returns its id.
    pub(crate) fn create(&mut self, channel: Channel, words: &str) -> String {
        let id = Uuid::now_v7().to_string();
        let row = Row::new(channel, &id, words, self.now());
        self.store.insert((channel, id.clone()), row);
        self.unpushed.insert((channel, id.clone()));
        id
    }

    /// Edits a row, and returns whether it exists.
    pub(crate) fn edit(&mut self, channel: Channel, id: &str, words: &str) -> bool {
        let at = self.now();
        let key = (channel, id.to_owned());
        let Some(row) = self.store.get_mut(&key) else { return false };
        row.set_content(channel, words, at);
        self.unpushed.insert(key);
        true
    }

    pub(crate) fn set(&mut self, words: &str) {
        self.edit(Channel::Settings, SETTINGS, words);
    }

    pub(crate) fn delete(&mut self, channel: Channel, id: &str) {
        let key = (channel, id.to_owned());
        self.store.remove(&key);
        self.unpushed.remove(&key);
        self.deleted.insert(key);
    }

    pub(crate) fn get(&self, channel: Channel, id: &str) -> Option<&Row> {
        self.store.get(&(channel, id.to_owned()))
    }

    /// Returns the field of a row that tests edit, if the device has the row.
    pub(crate) fn content(&self, channel: Channel, id: &str) -> Option<&str> {
        self.get(channel, id).map(|it| it.content(channel))
    }

    /// Returns the parts of its rows that devices agree on.
    pub(crate) fn shared(&self) -> Store {
        let shared = |(key, row): (&(Channel, String), &Row)| (key.clone(), row.shared(key.0));
        let mut rows: Store = self.store.iter().map(shared).collect();
        let settings = rows.get_mut(&(Channel::Settings, SETTINGS.to_owned()));
        // Settings are pushed under the time of the push.
        settings.expect("settings").updated = Moment::FIRST;
        rows
    }

    /// Runs one synchronisation cycle: push, then pull.
    pub(crate) async fn cycle(&mut self) -> Cycle {
        if self.umk.is_none() {
            // The client runs no cycle without this status.
            self.e2ee_status().await;
        }
        let pushed = self.push().await;
        let pulled = self.pull().await;
        let checks_devices = self.umk.is_some() && matches!(pulled, Pulled::Applied { .. });
        let revoked = checks_devices && self.check_revoked().await;
        Cycle { pushed, pulled, revoked }
    }

    /// Cycles until the server has nothing new.
    pub(crate) async fn settle(&mut self) {
        for _ in 0..5 {
            if self.cycle().await.pulled == Pulled::NotModified {
                return;
            }
        }
        panic!("five cycles in a row were answered with a body");
    }

    /// Discards its cursor, as the client may at any time.
    pub(crate) fn resync(&mut self) {
        self.cursor = None;
        self.etag = None;
        self.pushed_settings = None;
    }

    /// Resets the account, which requires a fresh sign-in.
    pub(crate) async fn reset(&mut self) {
        self.log_in().await;
        let answer = self.call("DELETE", "/api/sync/reset", &[], &[]).await;
        assert_success(&answer, "a reset");
    }

    /// Signs out, which discards part of the client's state, and signs in again.
    pub(crate) async fn sign_in_again(&mut self) {
        let token = self.client.refresh.clone();
        self.post_bare("/auth/logout", &serde_json::json!({ "refreshToken": token })).await;
        self.etag = None;
        self.chats_etag = None;
        self.chats_supported = None;
        self.pushed_settings = None;
        self.umk = None;
        self.log_in().await;
    }
}
