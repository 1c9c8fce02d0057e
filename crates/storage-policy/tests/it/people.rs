//! Groups and accounts for tests, and queries of their stored state.

use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use pia_kernel::{AuditEntry, GroupId, SideEffects, Timestamp, UserId};
use pia_policy::{Group, GroupCreationOutcome, GroupName, GroupStore};
use pia_storage::schema::{accounts, audit_entries, catalogue, setting_overrides};
use pia_storage::{Database, DbError, DbInstant, DbUid, on_conn};
use pia_storage_policy::SqlGroups;
use uuid::Uuid;

pub(crate) const START: Timestamp = Timestamp::UNIX_EPOCH;

/// Default group, which the migrations create.
pub(crate) const DEFAULT: GroupId =
    GroupId(Uuid::from_u128(0x0000_0000_0000_7000_8000_0000_0000_0001));

pub(crate) fn name(name: &str) -> GroupName {
    GroupName::parse(name).unwrap()
}

/// Creates a group without storing it.
pub(crate) fn group_named(group_name: &str) -> Group {
    Group {
        id: GroupId::generate(),
        name: name(group_name),
        is_default: false,
        external_id: None,
        created_at: START,
    }
}

/// Stores a group of this name, and returns its id.
pub(crate) async fn create_group(db: &Database, name: &str) -> GroupId {
    let group = group_named(name);
    let id = group.id;
    let addition_outcome =
        SqlGroups::new(db.clone()).add(group, SideEffects::default()).await.unwrap();
    assert_eq!(addition_outcome, GroupCreationOutcome::Stored);
    id
}

/// Stores an account in the default group.
pub(crate) async fn create_person(db: &Database) -> UserId {
    create_account(db, UserId::generate()).await
}

/// Stores an account with this id in the default group.
pub(crate) async fn create_account(db: &Database, user: UserId) -> UserId {
    create_account_at(db, user, START).await
}

/// Stores an account that was created at this time.
pub(crate) async fn create_account_at(db: &Database, user: UserId, at: Timestamp) -> UserId {
    let email = format!("{user}@example.org");
    let row = (
        accounts::id.eq(DbUid(user.0)),
        accounts::email.eq(email.clone()),
        accounts::email_folded.eq(email),
        accounts::provider.eq("local"),
        accounts::customer_type.eq(0),
        accounts::created_at.eq(DbInstant(at)),
    );
    let insertion = diesel::insert_into(accounts::table).values(row);
    let result: Result<usize, DbError> =
        on_conn!(db.writer(), |conn| insertion.execute(conn).await?);
    assert_eq!(result.unwrap(), 1);
    user
}

/// Returns the group of a user.
pub(crate) async fn group_of(db: &Database, user: UserId) -> GroupId {
    let group = accounts::table.find(DbUid(user.0)).select(accounts::group_id);
    let id: Result<DbUid, DbError> = on_conn!(db.reader(), |conn| group.first(conn).await?);
    GroupId(id.unwrap().0)
}

/// Returns side effects with this audit action.
pub(crate) fn noting(action: &'static str) -> SideEffects {
    let entry = AuditEntry::new(START, action);
    SideEffects { audit: vec![entry], mail: Vec::new() }
}

/// Returns the number of audit entries with this action.
pub(crate) async fn count_noted(db: &Database, action: &str) -> i64 {
    let entries = audit_entries::table.filter(audit_entries::action.eq(action)).count();
    let count: Result<i64, DbError> =
        on_conn!(db.reader(), |conn| entries.get_result(conn).await?);
    count.unwrap()
}

/// Returns the version of the catalogue.
pub(crate) async fn catalogue_version(db: &Database) -> i64 {
    let query = catalogue::table.select(catalogue::version);
    let version: Result<i64, DbError> = on_conn!(db.reader(), |conn| query.first(conn).await?);
    version.unwrap()
}

/// Returns the changes of all audit entries, one after the other.
pub(crate) async fn audited_changes(db: &Database) -> String {
    let changes = audit_entries::table.select(audit_entries::changes);
    let changes: Result<Vec<Option<String>>, DbError> =
        on_conn!(db.reader(), |conn| changes.load(conn).await?);
    changes.unwrap().into_iter().flatten().collect()
}

/// Returns the value of a changed setting, and its sealed value.
pub(crate) async fn setting_row(db: &Database, key: &str) -> (String, Option<Vec<u8>>) {
    let columns = (setting_overrides::value, setting_overrides::sealed);
    let row = setting_overrides::table.find(key).select(columns);
    let row: Result<_, DbError> = on_conn!(db.reader(), |conn| row.first(conn).await?);
    row.unwrap()
}
