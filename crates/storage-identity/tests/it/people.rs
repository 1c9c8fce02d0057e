//! Accounts for tests, and what the database says of them.

use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use pia_identity::{Account, AccountStore, CustomerType, NewAccount, Registered};
use pia_kernel::{Effects, Secret, Timestamp, UserId};
use pia_storage::schema::{accounts, audit_entries};
use pia_storage::{Database, DbError, DbInstant, DbUid, on_conn};
use pia_storage_identity::SqlAccounts;

pub(crate) const START: Timestamp = Timestamp::UNIX_EPOCH;

/// An account that was not stored yet.
pub(crate) fn newcomer(email: &str) -> NewAccount {
    let account = Account {
        user: UserId::generate(),
        email: email.to_owned(),
        display_name: Some("Ada".to_owned()),
        provider: "local".to_owned(),
        customer: CustomerType::NotDeclared,
        company_name: None,
        created_at: START,
    };
    NewAccount { account, password_hash: Secret::new("first".to_owned()) }
}

/// A stored account.
pub(crate) async fn person(db: &Database, email: &str) -> UserId {
    let (new, accounts) = (newcomer(email), SqlAccounts::new(db.clone()));
    let user = new.account.user;
    let registered = accounts.register(new, None, Effects::default()).await.unwrap();
    assert_eq!(registered, Registered::Stored);
    user
}

pub(crate) async fn deactivate(db: &Database, user: UserId) {
    let update = diesel::update(accounts::table.find(DbUid(user.0)))
        .set(accounts::deactivated_at.eq(DbInstant(START)));
    let done: Result<usize, DbError> =
        async { on_conn!(db.writer(), |conn| Ok(update.execute(conn).await?)) }.await;
    assert_eq!(done.unwrap(), 1);
}

pub(crate) async fn remove(db: &Database, user: UserId) {
    let delete = diesel::delete(accounts::table.find(DbUid(user.0)));
    let done: Result<usize, DbError> =
        async { on_conn!(db.writer(), |conn| Ok(delete.execute(conn).await?)) }.await;
    assert_eq!(done.unwrap(), 1);
}

/// How many audit entries say this of this user.
pub(crate) async fn audited(db: &Database, user: UserId, action: &str) -> i64 {
    let about = audit_entries::subject.eq(DbUid(user.0)).and(audit_entries::action.eq(action));
    let entries = audit_entries::table.filter(about).count();
    let found: Result<i64, DbError> =
        async { on_conn!(db.reader(), |conn| Ok(entries.get_result(conn).await?)) }.await;
    found.unwrap()
}
