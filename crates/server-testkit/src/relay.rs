//! Servers that send mail, and the relay that they send it to.
//!
//! Extends `TestConfig` by the settings of a relay, and `TestApp` by the rows of its
//! outbox. The relay itself, `FakeRelay`, is in `testkit`.

use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use pia_kernel::{LiveSetting, Mail, SideEffects, UserId};
use pia_sealing::{MasterKeys, ServerSeal};
use pia_storage::schema::{accounts, mails};
use pia_storage::{Database, DbError, DbUid, WriteEffects, in_tx, on_conn};

use crate::client::Client;
use crate::harness::{TestApp, TestConfig};

pub use pia_testkit::relay::{DeliveredMail, FakeRelay, RelayBehaviour};

/// Sender of all mail in these tests.
pub const FROM: &str = "pia@pia.example";

impl TestConfig {
    /// Sends its mail through this relay.
    pub fn with_relay(self, relay: &FakeRelay) -> Self {
        self.with_relay_at(relay.port)
    }

    /// Sends its mail to this port, where a relay may or may not listen.
    pub fn with_relay_at(self, port: u16) -> Self {
        self.with("Smtp__Host", "localhost")
            .with("Smtp__Port", port)
            .with("Smtp__Security", "none")
            .with("Smtp__From", FROM)
    }
}

/// Row of an unsent email.
#[derive(Debug, Clone, PartialEq, Eq, Queryable)]
pub struct WaitingMail {
    /// Name of the template.
    pub template: String,
    /// Number of attempts so far.
    pub tries: i32,
    /// True if its text is sealed.
    pub is_sealed: bool,
    /// Reason of the last failure.
    pub failure: Option<String>,
}

impl TestApp {
    /// Puts an email into the outbox, as the change that it belongs to would.
    pub async fn queue(&self, mail: Mail) {
        let config = self.config.latest();
        let keys = MasterKeys { current: config.encryption.master_key.clone(), previous: None };
        let db = open(self).with_effects(ServerSeal::new(keys), LiveSetting::new(true));
        let effects = SideEffects { audit: Vec::new(), mail: vec![mail] };
        let writing = async {
            in_tx!(db, async |conn| -> Result<(), DbError> {
                conn.write_effects(&db, &effects).await
            })
        };
        writing.await.expect("a queued email");
    }

    /// Deletes an account and the rows that belong to it.
    pub async fn remove(&self, user: UserId) {
        let db = open(self);
        let deletion = diesel::delete(accounts::table.find(DbUid(user.0)));
        let count: Result<usize, DbError> =
            on_conn!(db.writer(), |conn| deletion.execute(conn).await?);
        assert_eq!(count.expect("an account"), 1);
    }

    /// Returns the emails in the outbox.
    pub async fn mails(&self) -> Vec<WaitingMail> {
        let db = open(self);
        let query = mails::table.order(mails::id).select((
            mails::letter,
            mails::tries,
            mails::sealed.is_not_null(),
            mails::failure,
        ));
        let rows: Result<Vec<WaitingMail>, DbError> =
            on_conn!(db.reader(), |conn| query.load(conn).await?);
        rows.expect("rows")
    }
}

impl Client {
    /// Returns the id of the account.
    pub fn user_id(&self) -> UserId {
        UserId(self.user.as_deref().and_then(|it| it.parse().ok()).expect("an id"))
    }
}

fn open(app: &TestApp) -> Database {
    let startup = app.config.latest().database.startup.clone();
    Database::open(&startup.target, startup.options).expect("a database")
}
