//! Credit stores, accounts and groups for the tests.

use std::sync::Arc;
use std::time::Duration;

use diesel::prelude::*;
use diesel_async::{RunQueryDsl, SimpleAsyncConnection};
use pia_assistant::{
    AdmissionOutcome, AdmissionRequest, BudgetRefusal, CreditHolder, CreditStore, Micros, Rates,
    ReservationGuard, Weeks,
};
use pia_kernel::{Clock, CreditLimits, GroupId, LiveSetting, SystemClock, Timestamp, UserId};
use pia_storage::{Database, DbError, DbInstant, DbUid, on_conn};
use pia_storage_assistant::SqlCreditStore;
use tokio::runtime::Handle;
use tokio_util::task::TaskTracker;
use uuid::Uuid;

/// Time limit of what a test waits for.
pub(crate) const TIME_LIMIT: Duration = Duration::from_secs(30);

/// Returns the default group.
pub(crate) fn default_group() -> GroupId {
    GroupId(Uuid::from_u128(0x0000_0000_0000_7000_8000_0000_0000_0001))
}

/// Starts a store on the system clock.
pub(crate) fn start(db: &Database, tasks: &TaskTracker) -> SqlCreditStore {
    start_at(db, Arc::new(SystemClock), tasks)
}

pub(crate) fn start_at(
    db: &Database,
    clock: Arc<dyn Clock>,
    tasks: &TaskTracker,
) -> SqlCreditStore {
    start_with_weeks(db, LiveSetting::new(Weeks::UTC), clock, tasks)
}

pub(crate) fn start_with_weeks(
    db: &Database,
    weeks: LiveSetting<Weeks>,
    clock: Arc<dyn Clock>,
    tasks: &TaskTracker,
) -> SqlCreditStore {
    SqlCreditStore::start(db.clone(), weeks, clock, tasks, &Handle::current())
}

/// Creates an account with this id and time.
pub(crate) async fn sign_up(db: &Database, user: UserId, at: Timestamp) {
    use pia_storage::schema::accounts::dsl as row;
    let account = diesel::insert_into(row::accounts).values((
        row::id.eq(DbUid(user.0)),
        row::email.eq(user.to_string()),
        row::email_folded.eq(user.to_string()),
        row::provider.eq("local"),
        row::customer_type.eq(0),
        row::created_at.eq(DbInstant(at)),
    ));
    let result: Result<usize, DbError> =
        on_conn!(db.writer(), |conn| account.execute(conn).await?);
    result.unwrap();
}

pub(crate) async fn execute(db: &Database, sql: &str) {
    let result: Result<(), DbError> = on_conn!(db.writer(), |conn| conn.batch_execute(sql).await?);
    result.unwrap();
}

/// Creates a member of the default group with these limits.
pub(crate) async fn create_member(db: &Database, limits: CreditLimits) -> CreditHolder {
    let member = UserId::generate();
    sign_up(db, member, Timestamp::UNIX_EPOCH).await;
    CreditHolder { member, group: default_group(), key: None, limits }
}

/// Returns a request for that many thousand output tokens, a credit each.
pub(crate) fn request(holder: CreditHolder, credits: i64) -> AdmissionRequest {
    AdmissionRequest {
        holder,
        rates: Rates::default(),
        fee: Micros(0),
        prompt: 0,
        output: credits * 1000,
    }
}

pub(crate) async fn admit(
    credit_store: &SqlCreditStore,
    request: AdmissionRequest,
) -> ReservationGuard {
    match credit_store.admit(request).await.unwrap() {
        AdmissionOutcome::Granted { reservation, .. } => reservation,
        AdmissionOutcome::Refused(refusal) => panic!("refused: {refusal:?}"),
    }
}

pub(crate) async fn refusal_of(
    credit_store: &SqlCreditStore,
    request: AdmissionRequest,
) -> BudgetRefusal {
    match credit_store.admit(request).await.unwrap() {
        AdmissionOutcome::Refused(refusal) => refusal,
        AdmissionOutcome::Granted { .. } => panic!("admitted"),
    }
}

/// Waits until all ended calls are booked.
pub(crate) async fn wait_until_settled(credit_store: &SqlCreditStore) {
    while credit_store.waiting_count() > 0 {
        tokio::task::yield_now().await;
    }
}

/// Used and reserved credits of a window.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct WindowCount {
    pub(crate) kind: &'static str,
    pub(crate) used: i64,
    pub(crate) reserved: i64,
}

pub(crate) fn window_count(kind: &'static str, used: i64, reserved: i64) -> WindowCount {
    WindowCount { kind, used, reserved }
}

/// Returns the credits of each window of a holder.
pub(crate) async fn window_counts(
    credit_store: &SqlCreditStore,
    holder: CreditHolder,
) -> Vec<WindowCount> {
    let credit_windows = credit_store.load_windows(holder).await.unwrap();
    credit_windows
        .windows
        .values()
        .map(|it| WindowCount {
            kind: it.key.kind.name(),
            used: it.used.rounded_up(),
            reserved: it.reserved.rounded_up(),
        })
        .collect()
}

/// Asserts that the reserved amounts equal the reservations of open calls.
pub(crate) async fn assert_no_mismatches(credit_store: &SqlCreditStore) {
    assert_eq!(credit_store.find_mismatches().await.unwrap(), []);
}

pub(crate) fn credits(count: i64) -> Micros {
    Micros::credits(count)
}
