//! Account whose devices push.

use std::time::Duration;

use bytes::Bytes;
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use pia_kernel::{Secret, Timestamp, UserId};
use pia_sealing::{MasterKeys, Sealer};
use pia_storage::schema::{accounts, ledgers};
use pia_storage::{Database, DbError, DbInstant, DbUid, on_conn};
use pia_storage_sealing::SqlSalts;
use pia_storage_sync::{SqlSyncReader, SqlSyncStore};
use pia_sync::{
    ApplyOutcome, Changes, Channel, Conflict, Item, ItemKey, ItemPage, PageLimit, PushSettings,
    SyncReader, SyncStore,
};
use std::sync::Arc;
use uuid::Uuid;

/// Creation time of the accounts.
pub(crate) const START: Timestamp = Timestamp::UNIX_EPOCH;

pub(crate) struct Person {
    pub(crate) db: Database,
    pub(crate) user: UserId,
    pub(crate) store: SqlSyncStore,
    pub(crate) reader: SqlSyncReader,
    pub(crate) settings: PushSettings,
}

/// Returns the time this many seconds after the account was created.
pub(crate) fn at(second: u64) -> Timestamp {
    START + Duration::from_secs(second)
}

pub(crate) fn sealer(db: &Database) -> Sealer {
    sealer_of(db, 7)
}

fn sealer_of(db: &Database, key: u8) -> Sealer {
    let keys = MasterKeys { current: Secret::new([key; 32]), previous: None };
    Sealer::new(keys, Arc::new(SqlSalts::new(db.clone())))
}

pub(crate) fn key(channel: Channel, id: u128) -> ItemKey {
    ItemKey { channel, id: Uuid::from_u128(id) }
}

/// Creates an item of this channel that was changed at this second.
pub(crate) fn item(channel: Channel, id: u128, second: u64) -> Item {
    let body = format!("{{\"id\":\"{}\",\"second\":{second}}}", Uuid::from_u128(id));
    Item { key: key(channel, id), changed_at: at(second), encrypted: false, body }
}

pub(crate) fn todo(id: u128, second: u64) -> Item {
    item(Channel::Todos, id, second)
}

/// Creates a push of these items at this second.
pub(crate) fn changes(second: u64, items: Vec<Item>) -> Changes {
    Changes {
        encrypted: false,
        items,
        deletes: Vec::new(),
        seen_up_to: None,
        deleted_at: at(second),
        device: None,
        refused: Vec::new(),
        now: at(second),
    }
}

impl Person {
    pub(crate) async fn of(db: Database) -> Self {
        let user = UserId::generate();
        let email = format!("{user}@example.org");
        let row = (
            accounts::id.eq(DbUid(user.0)),
            accounts::email.eq(&email),
            accounts::email_folded.eq(&email),
            accounts::provider.eq("local"),
            accounts::customer_type.eq(0),
            accounts::created_at.eq(DbInstant(START)),
        );
        let insertion = diesel::insert_into(accounts::table).values(row);
        run(async { on_conn!(db.writer(), |conn| insertion.execute(conn).await?) }).await;
        Self {
            store: SqlSyncStore::new(db.clone(), sealer(&db)),
            reader: SqlSyncReader::new(db.clone(), sealer(&db)),
            settings: PushSettings::default(),
            db,
            user,
        }
    }

    /// Returns the account on a server with another master key.
    pub(crate) fn under_another_key(self) -> Self {
        let sealer = sealer_of(&self.db, 8);
        let store = SqlSyncStore::new(self.db.clone(), sealer.clone());
        Self { store, reader: SqlSyncReader::new(self.db.clone(), sealer), ..self }
    }

    pub(crate) async fn apply(&self, changes: Changes) -> ApplyOutcome {
        self.store.apply(self.user, changes, &self.settings).await.unwrap()
    }

    /// Pushes items, which must be accepted.
    pub(crate) async fn push(&self, second: u64, items: Vec<Item>) -> AcceptedPush {
        accepted(self.apply(changes(second, items)).await)
    }

    /// Deletes items, and returns the account's highest stamp.
    pub(crate) async fn delete(&self, second: u64, keys: Vec<ItemKey>) -> Timestamp {
        let changes = Changes { deletes: keys, ..changes(second, Vec::new()) };
        accepted(self.apply(changes).await).last_stamp
    }

    pub(crate) async fn page(&self, since: Timestamp, rows: u32, bytes: u64) -> ItemPage {
        self.reader.page(self.user, since, PageLimit { rows, bytes }).await.unwrap()
    }

    /// Returns the items changed after a stamp, in the order of their changes, with
    /// their bodies; `None` for a tombstone.
    pub(crate) async fn since(&self, since: Timestamp) -> Vec<(ItemKey, Option<String>)> {
        let page = self.page(since, 10_000, u64::MAX).await;
        let text = |it: Bytes| String::from_utf8(it.to_vec()).unwrap();
        page.rows.into_iter().map(|it| (it.key, it.body.map(text))).collect()
    }

    pub(crate) async fn version(&self) -> i64 {
        self.reader.head(self.user).await.unwrap().unwrap().version
    }

    pub(crate) async fn encrypt(&self) {
        let ledger = diesel::update(ledgers::table.find(DbUid(self.user.0)))
            .set(ledgers::encrypted_at.eq(DbInstant(START)));
        let db = &self.db;
        run(async { on_conn!(db.writer(), |conn| ledger.execute(conn).await?) }).await;
    }

    pub(crate) async fn leave(&self) {
        let account = diesel::delete(accounts::table.find(DbUid(self.user.0)));
        let db = &self.db;
        run(async { on_conn!(db.writer(), |conn| account.execute(conn).await?) }).await;
    }
}

/// Result of a push that was accepted.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct AcceptedPush {
    /// Highest stamp of the account after it.
    pub(crate) last_stamp: Timestamp,
    pub(crate) conflicts: Vec<Conflict>,
}

pub(crate) fn accepted(outcome: ApplyOutcome) -> AcceptedPush {
    match outcome {
        ApplyOutcome::Done { at, conflicts } => AcceptedPush { last_stamp: at, conflicts },
        refusal => panic!("not accepted: {refusal:?}"),
    }
}

/// Runs a statement that must change one row.
pub(crate) async fn run(statement: impl Future<Output = Result<usize, DbError>>) {
    assert_eq!(statement.await.unwrap(), 1);
}
