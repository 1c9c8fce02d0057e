//! Accounts for the tests, and queries of their audit entries.

use std::time::Duration;

use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use pia_identity::{
    Account, AccountCreationOutcome, AccountStore, CredentialsEpoch, EndEffects, NewAccount,
    NewSession, SessionStartEffects, SessionStartOutcome, SessionStore, SignInDevice, SignInMethod,
    TokenHash,
};
use pia_kernel::{Secret, SessionId, SideEffects, Timestamp, UserId};
use pia_storage::schema::{accounts, audit_entries, audit_identities};
use pia_storage::{Database, DbError, DbInstant, DbUid, on_conn};
use pia_storage_identity::{SqlAccounts, SqlSessions};

pub(crate) const START: Timestamp = Timestamp::UNIX_EPOCH;

/// Lifetime of sessions in tests.
pub(crate) const HOUR: Duration = Duration::from_hours(1);

/// Returns a device with all properties.
pub(crate) fn device() -> SignInDevice {
    SignInDevice {
        device_id: Some("0199f0e0-0000-7000-8000-000000000001".to_owned()),
        app_version: Some("1.4.278.0".to_owned()),
        os_version: Some("Microsoft Windows NT 10.0.22631.0".to_owned()),
        user_agent: Some("an agent".to_owned()),
        address: Some("2001:db8::1".parse().unwrap()),
    }
}

/// Creates a session that lasts an hour, without storing it.
pub(crate) fn new_session(user: UserId, hash: TokenHash, at: Timestamp) -> NewSession {
    NewSession {
        session: SessionId::generate(),
        user,
        epoch: CredentialsEpoch::default(),
        hash,
        at,
        expires_at: at + HOUR,
        method: SignInMethod::Password,
        app_password: None,
        device: device(),
        browser: None,
    }
}

/// Loads the epoch of an account's credentials.
pub(crate) async fn epoch(db: &Database, user: UserId) -> CredentialsEpoch {
    SqlAccounts::new(db.clone()).find(user).await.unwrap().map(|it| it.epoch).unwrap_or_default()
}

/// Returns the session with the account's current epoch.
pub(crate) async fn fresh(db: &Database, new: NewSession) -> NewSession {
    NewSession { epoch: epoch(db, new.user).await, ..new }
}

/// Starts a session with credentials of this epoch.
pub(crate) async fn begin_as_of(
    db: &Database,
    user: UserId,
    epoch: CredentialsEpoch,
    token: u8,
) -> SessionStartOutcome {
    let new = NewSession { epoch, ..new_session(user, TokenHash([token; 32]), START) };
    let sessions = SqlSessions::new(db.clone());
    sessions.begin(new, 100, SideEffects::default(), nothing()).await.unwrap()
}

/// Returns only the side effects of ended sessions.
pub(crate) fn only(if_ended: EndEffects) -> SessionStartEffects {
    SessionStartEffects { if_ended, if_new_device: |_, _| SideEffects::default() }
}

/// Returns effects without any audit entry or email.
pub(crate) fn nothing() -> SessionStartEffects {
    only(|_, _| SideEffects::default())
}

/// Creates an account without storing it.
pub(crate) fn newcomer(email: &str) -> NewAccount {
    let account = Account {
        display_name: Some("Ada".to_owned()),
        ..Account::local(UserId::generate(), email.to_owned(), START)
    };
    NewAccount::local(account, Secret::new("first".to_owned()))
}

/// Stores an account with this address, and returns its id.
pub(crate) async fn create_person(db: &Database, email: &str) -> UserId {
    let new = newcomer(email);
    let accounts = SqlAccounts::new(db.clone());
    let user = new.account.user;
    let outcome = accounts.register(new, None, SideEffects::default()).await.unwrap();
    assert_eq!(outcome, AccountCreationOutcome::Stored);
    user
}

pub(crate) async fn deactivate(db: &Database, user: UserId) {
    let update = diesel::update(accounts::table.find(DbUid(user.0)))
        .set(accounts::deactivated_at.eq(DbInstant(START)));
    let result: Result<usize, DbError> = on_conn!(db.writer(), |conn| update.execute(conn).await?);
    assert_eq!(result.unwrap(), 1);
}

pub(crate) async fn remove(db: &Database, user: UserId) {
    let deletion = diesel::delete(accounts::table.find(DbUid(user.0)));
    let result: Result<usize, DbError> =
        on_conn!(db.writer(), |conn| deletion.execute(conn).await?);
    assert_eq!(result.unwrap(), 1);
}

/// Returns the number of audit entries of this user with this action.
pub(crate) async fn count_audited(db: &Database, user: UserId, action: &str) -> i64 {
    let about = audit_identities::user_id.eq(DbUid(user.0)).and(audit_entries::action.eq(action));
    let entries = audit_entries::table.inner_join(audit_identities::table).filter(about).count();
    let count: Result<i64, DbError> =
        on_conn!(db.reader(), |conn| entries.get_result(conn).await?);
    count.unwrap()
}
