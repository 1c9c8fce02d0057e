//! Contract tests of the erasure of accounts that were never verified.

use std::time::Duration;

use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use futures_util::future::join_all;
use pia_kernel::{
    AuditEntry, Eraser, SessionId, SideEffects, Timestamp, UnverifiedAccounts, UserId,
};
use pia_storage::schema::{accounts, sign_ins};
use pia_storage::{Database, DbError, DbInstant, DbUid, on_conn};
use pia_storage_lifecycle::SqlEraser;

use crate::people::{accounts_left, address, count, execute, write};

pia_testkit::contract! {
    only_unclaimed_accounts_are_erased_and_anonymously,
    any_number_of_unclaimed_accounts_is_erased,
    concurrently_verified_accounts_are_not_erased,
}

const DAY: Duration = Duration::from_hours(24);

fn now() -> Timestamp {
    Timestamp::from_micros(1_800_000_000_000_000)
}

/// Returns the accounts to be erased: unverified, and between seven days and a year old.
fn unverified_accounts() -> UnverifiedAccounts {
    let effects = |at| {
        let entry = AuditEntry::new(at, "account.expired");
        SideEffects { audit: vec![entry], mail: Vec::new() }
    };
    UnverifiedAccounts { made: now() - 365 * DAY..now() - 7 * DAY, at: now(), effects }
}

/// Creates an unverified account of this age that was never used.
async fn create_newcomer(db: &Database, days: u32) -> UserId {
    let user = UserId::generate();
    let at = now() - DAY * days;
    let account = diesel::insert_into(accounts::table).values((
        accounts::id.eq(DbUid(user.0)),
        accounts::email.eq(address(user)),
        accounts::email_folded.eq(address(user)),
        accounts::provider.eq("local"),
        accounts::customer_type.eq(0),
        accounts::created_at.eq(DbInstant(at)),
    ));
    let result: Result<usize, DbError> =
        on_conn!(db.writer(), |conn| account.execute(conn).await?);
    assert_eq!(result.unwrap(), 1);
    user
}

/// Updates a user's row.
async fn set(db: &Database, user: UserId, change: &str) {
    let address = address(user);
    execute(db, &format!("UPDATE accounts SET {change} WHERE email = '{address}'")).await;
}

async fn record_sign_in(db: &Database, user: UserId, outcome: &str) {
    let row = (
        sign_ins::id.eq(DbUid(SessionId::generate().0)),
        sign_ins::at.eq(DbInstant(now() - 8 * DAY)),
        sign_ins::user_id.eq(DbUid(user.0)),
        sign_ins::outcome.eq(outcome),
        sign_ins::method.eq("password"),
    );
    let insertion = diesel::insert_into(sign_ins::table).values(row);
    let result: Result<usize, DbError> =
        on_conn!(db.writer(), |conn| insertion.execute(conn).await?);
    assert_eq!(result.unwrap(), 1);
}

/// Verifies the address. Returns whether the account exists.
async fn verify_address(db: &Database, user: UserId) -> bool {
    let verification = diesel::update(accounts::table.find(DbUid(user.0)))
        .set(accounts::email_verified_at.eq(DbInstant(now())));
    let result: Result<usize, DbError> =
        on_conn!(db.writer(), |conn| verification.execute(conn).await?);
    result.unwrap() == 1
}

async fn only_unclaimed_accounts_are_erased_and_anonymously(db: Database) {
    let unclaimed_user = create_newcomer(&db, 8).await;
    write(&db, SideEffects::audit(now(), unclaimed_user, "account.registered")).await;
    let user_with_failed_sign_in = create_newcomer(&db, 300).await;
    record_sign_in(&db, user_with_failed_sign_in, "wrong_password").await;
    let young_user = create_newcomer(&db, 6).await;
    let old_user = create_newcomer(&db, 366).await;
    let signed_in_user = create_newcomer(&db, 8).await;
    record_sign_in(&db, signed_in_user, "signed_in").await;
    let mut remaining_users = vec![young_user, old_user, signed_in_user];
    for change in
        ["email_verified_at = created_at", "deactivated_at = created_at", "role = 'admin'"]
    {
        let user = create_newcomer(&db, 8).await;
        set(&db, user, change).await;
        remaining_users.push(user);
    }
    let eraser = SqlEraser::new(db.clone());

    let erased_count = eraser.erase_unverified(unverified_accounts()).await.unwrap();
    let repeated_count = eraser.erase_unverified(unverified_accounts()).await.unwrap();

    assert_eq!(erased_count, 2);
    assert_eq!(repeated_count, 0);
    remaining_users.sort();
    let remaining_ids: Vec<_> = remaining_users.iter().map(|it| DbUid(it.0)).collect();
    assert_eq!(accounts_left(&db).await, remaining_ids);

    assert_eq!(count(&db, "(SELECT COUNT(*) FROM mails)").await, 0);
    let identities = "(SELECT COUNT(*) FROM audit_identities WHERE user_id IS NOT NULL)";
    assert_eq!(count(&db, identities).await, 0);
    let expiries = "(SELECT COUNT(*) FROM audit_entries WHERE action = 'account.expired')";
    assert_eq!(count(&db, expiries).await, 2);
}

async fn any_number_of_unclaimed_accounts_is_erased(db: Database) {
    for _ in 0..120 {
        create_newcomer(&db, 8).await;
    }

    let erased_count =
        SqlEraser::new(db.clone()).erase_unverified(unverified_accounts()).await.unwrap();

    assert_eq!(erased_count, 120);
    assert_eq!(accounts_left(&db).await.len(), 0);
}

async fn concurrently_verified_accounts_are_not_erased(db: Database) {
    const NEWCOMERS: u64 = 12;
    let mut newcomers = Vec::new();
    for _ in 0..NEWCOMERS {
        newcomers.push(create_newcomer(&db, 8).await);
    }
    let eraser = SqlEraser::new(db.clone());
    let db = &db;

    let (erased_count, verifications) = futures_util::join!(
        eraser.erase_unverified(unverified_accounts()),
        join_all(newcomers.iter().map(|it| verify_address(db, *it))),
    );

    let verified_count = verifications.into_iter().filter(|it| *it).count();
    assert_eq!(accounts_left(db).await.len(), verified_count);
    assert_eq!(erased_count.unwrap(), NEWCOMERS - verified_count as u64);
}
