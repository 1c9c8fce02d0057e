//! Accounts with sessions for the tests.

use std::sync::Arc;

use diesel::prelude::*;
use diesel_async::{RunQueryDsl, SimpleAsyncConnection};
use pia_identity::Role;
use pia_kernel::{
    AccountErasure, AuditEntry, QueuedEmail, RequestContext, Secret, SessionId, SideEffects,
    Timestamp, UserId,
};
use pia_sealing::{MasterKeys, Sealer};
use pia_storage::schema::{accounts, sessions};
use pia_storage::{Database, DbError, DbInstant, DbUid, WriteEffects, in_tx, on_conn};
use pia_storage_sealing::SqlSalts;

pub(crate) const AT: Timestamp = Timestamp::UNIX_EPOCH;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Person {
    pub(crate) user: UserId,
    pub(crate) session: SessionId,
}

pub(crate) fn address(user: UserId) -> String {
    format!("{user}@example.org")
}

/// Creates a user who is signed in for an hour.
pub(crate) async fn create_person(db: &Database, role: Role) -> Person {
    let person = Person { user: UserId::generate(), session: SessionId::generate() };
    let account = diesel::insert_into(accounts::table).values((
        accounts::id.eq(DbUid(person.user.0)),
        accounts::email.eq(address(person.user)),
        accounts::email_folded.eq(address(person.user)),
        accounts::provider.eq("local"),
        accounts::customer_type.eq(0),
        accounts::created_at.eq(DbInstant(AT)),
        accounts::role.eq(role.name()),
    ));
    let end = AT + std::time::Duration::from_hours(1);
    let session = diesel::insert_into(sessions::table).values((
        sessions::id.eq(DbUid(person.session.0)),
        sessions::user_id.eq(DbUid(person.user.0)),
        sessions::began_at.eq(DbInstant(AT)),
        sessions::used_at.eq(DbInstant(AT)),
        sessions::expires_at.eq(DbInstant(end)),
        sessions::method.eq("password"),
    ));
    let result: Result<(), DbError> = on_conn!(db.writer(), |conn| {
        account.execute(conn).await?;
        session.execute(conn).await?;
    });
    result.unwrap();
    person
}

pub(crate) async fn execute(db: &Database, sql: &str) {
    let result: Result<(), DbError> = on_conn!(db.writer(), |conn| conn.batch_execute(sql).await?);
    result.unwrap();
}

/// Returns the erasure that the use case requests.
pub(crate) fn erasure_of(person: Person) -> AccountErasure {
    let entry = AuditEntry::new(AT, "account.deleted");
    let email = QueuedEmail::new("account-deleted").to_address(AT, address(person.user));
    let effects = SideEffects { audit: vec![entry], mail: vec![email] };
    AccountErasure { user: person.user, session: person.session, at: AT, effects }
}

/// Returns a sealer whose salts are in `db`.
pub(crate) fn sealer(db: &Database) -> Sealer {
    let keys = MasterKeys { current: Secret::new([7; 32]), previous: None };
    Sealer::new(keys, Arc::new(SqlSalts::new(db.clone())))
}

/// Returns the ids of all accounts, in ascending order.
pub(crate) async fn accounts_left(db: &Database) -> Vec<DbUid> {
    let ids = accounts::table.order(accounts::id).select(accounts::id);
    let result: Result<_, DbError> = on_conn!(db.reader(), |conn| ids.load(conn).await?);
    result.unwrap()
}

/// Returns the number that an SQL expression has.
pub(crate) async fn count(db: &Database, sql: &str) -> i64 {
    use diesel::sql_types::BigInt;
    let query = diesel::select(diesel::dsl::sql::<BigInt>(sql));
    let result: Result<i64, DbError> = on_conn!(db.reader(), |conn| query.get_result(conn).await?);
    result.unwrap()
}

/// Writes side effects within a request.
pub(crate) async fn write(db: &Database, effects: SideEffects) {
    let origin = RequestContext {
        address: Some("192.0.2.7".parse().unwrap()),
        agent: Some("an agent".into()),
        request: Some("request-1".into()),
        language: None,
    };
    let writing = async {
        in_tx!(db, async |conn| -> Result<(), DbError> { conn.write_effects(db, &effects).await })
    };
    origin.scope(writing).await.unwrap();
}
