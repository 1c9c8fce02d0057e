//! A server with one account and one clock.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use pia_kernel::{Clock as _, SystemClock};
use pia_server_testkit::client::Client;
use pia_server_testkit::harness::{PASSWORD, TestApp, TestConfig};
use pia_testkit::ManualClock;
use pia_testkit::databases::TestDatabase;
use serde_json::json;

use super::device::{Device, Generation};
use super::model::Journal;
use super::moment::Moment;

/// A server and an account on it.
pub(crate) struct World {
    pub(crate) app: TestApp,
    pub(crate) email: String,
    pub(crate) time: Time,
    pub(crate) journal: Arc<Journal>,
}

/// Clock of the server; every device has its own skew to it.
#[derive(Clone)]
pub(crate) struct Time {
    clock: Arc<ManualClock>,
    moving: Arc<Mutex<()>>,
    /// Counter that distinguishes simultaneous events.
    tie: Arc<AtomicU64>,
}

impl Time {
    pub(crate) fn advance(&self, by: Duration) {
        let moving = self.moving.lock().unwrap_or_else(PoisonError::into_inner);
        self.clock.advance(by);
        drop(moving);
    }

    pub(crate) fn now(&self) -> Moment {
        Moment::from(self.clock.now())
    }

    /// Returns a unique time: at most a hundredth of a second later, and with a
    /// seventh digit.
    pub(crate) fn unique(&self) -> Moment {
        let tie = self.tie.fetch_add(1, Ordering::Relaxed);
        Moment(self.now().0 + i64::try_from(tie % 10_000).expect("few") * 10 + 3)
    }
}

impl World {
    /// Starts a server without effective rate limits.
    pub(crate) async fn new(database: TestDatabase) -> Self {
        Self::with(TestConfig::on(database).with("RateLimits__Sync", 1_000_000)).await
    }

    pub(crate) async fn with(setting: TestConfig) -> Self {
        let clock = Arc::new(ManualClock::new(SystemClock.now()));
        let app = setting.at(Arc::<ManualClock>::clone(&clock)).start().await;
        let email = format!("{}@example.org", uuid::Uuid::now_v7().simple());
        let person = json!({ "email": email, "password": PASSWORD });
        let registration_response = app.anonymous().post("/auth/register", &person).await;
        assert_eq!(registration_response.status, 200, "{}", registration_response.text());
        let time = Time { clock, moving: Arc::default(), tie: Arc::default() };
        Self { app, email, time, journal: Arc::default() }
    }

    /// Signs in a new device with the newest client.
    pub(crate) async fn sign_in_device(&self) -> Device {
        self.sign_in_older_device(Generation::Newest).await
    }

    pub(crate) async fn sign_in_older_device(&self, generation: Generation) -> Device {
        Device::sign_in(self, generation).await
    }

    pub(crate) fn anonymous(&self) -> Client {
        self.app.anonymous()
    }

    /// Advances the clock.
    pub(crate) fn advance(&self, by: Duration) {
        self.time.advance(by);
    }
}
