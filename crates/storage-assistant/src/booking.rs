//! Booking of the queued entries in one transaction.
//!
//! `Batch::book` is called by `sequencer.rs`. It attempts the batch on the database at
//! hand (`sqlite.rs`, `postgres.rs`): load and lock the windows, `decide`, write. If
//! windows are missing, nothing is written; they are created in a transaction of their
//! own, and a second attempt treats those still missing as deleted. `decide` settles
//! before it admits, so that released credits are available to the requests.

mod hour_sums;
mod optimistic;
mod postgres;
mod sqlite;
mod sums;
pub(crate) mod window_cache;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use pia_assistant::{
    AdmissionRequest, BudgetRefusal, CallGrant, CreditHolder, CreditWindows, Micros,
    ReservationLine, Settlement, Weeks, WindowKey, WindowKind,
};
use pia_kernel::Timestamp;
use pia_storage::{Conn, Database, DbError, DbInstant, DbUid, InsertAll, RetryBackoff, on_conn};
use uuid::Uuid;

use self::window_cache::WindowCache;
use crate::statements::{LastWeek, Statements};
use crate::usage_row::UsageRow;
use crate::window_row::{ReservationRow, WindowRow};

/// Connection that writes windows outside a batch.
pub(crate) trait PutWindows {
    /// Writes the new values of windows.
    fn put_windows(
        &mut self,
        rows: Vec<WindowRow>,
    ) -> impl Future<Output = Result<(), DbError>> + Send;
}

/// User id of usage whose account was deleted.
const DELETED_USER: DbUid = DbUid(Uuid::nil());

/// Entries and admission requests that are booked together.
pub(crate) struct Batch {
    /// Instance that books it.
    pub(crate) instance: Uuid,
    pub(crate) now: Timestamp,
    pub(crate) weeks: Weeks,
    /// Ended calls. They come first: what they release is available to the requests.
    pub(crate) settlements: Vec<Settlement>,
    /// Usage of these calls, and of calls without limits.
    pub(crate) usage: Vec<UsageRow>,
    /// Admission requests, each with the id of its reservation.
    pub(crate) requests: Vec<(Uuid, AdmissionRequest)>,
    /// Set when other calls have ended that are not among the settlements: they
    /// may release the credits that a request lacks.
    pub(crate) others_ended: bool,
}

/// Outcome of an admission request.
#[derive(Debug, Clone)]
pub(crate) enum AdmissionVerdict {
    Granted(CallGrant),
    Refused(BudgetRefusal),
    /// Caller or their group no longer exists.
    Gone,
}

impl AdmissionVerdict {
    /// Returns whether less was granted than requested.
    fn is_short_of(&self, request: &AdmissionRequest) -> bool {
        match self {
            Self::Granted(grant) => grant.output < request.output,
            Self::Refused(_) => true,
            Self::Gone => false,
        }
    }
}

/// Result of a batch.
#[derive(Debug, Default)]
pub(crate) struct BatchResult {
    pub(crate) verdicts: Vec<AdmissionVerdict>,
    /// Number of calls that ended after their reservation had expired.
    pub(crate) late_settlements: u64,
    /// Set when the batch took one statement.
    pub(crate) is_optimistic: bool,
}

/// Outcome of an attempt to book a batch. Only `Booked` has written anything.
enum AttemptOutcome {
    Booked(BatchResult),
    /// Balance is too low for a request, and others have ended: nothing was booked.
    Short,
    /// Windows that must be created first.
    Missing(BTreeSet<WindowKey>),
}

/// Locked windows, and the rows they were read from.
struct LockedWindows {
    rows: BTreeMap<WindowKey, WindowRow>,
    credit_windows: CreditWindows,
}

impl LockedWindows {
    fn new(rows: Vec<WindowRow>, weeks: Weeks, now: Timestamp) -> Result<Self, DbError> {
        let mut locked_windows = Self {
            rows: BTreeMap::new(),
            credit_windows: CreditWindows { windows: BTreeMap::new(), weeks, now },
        };
        for row in rows {
            let mut window = row.window()?;
            window.roll_over(weeks, now);
            locked_windows.rows.insert(window.key, row);
            locked_windows.credit_windows.windows.insert(window.key, window);
        }
        Ok(locked_windows)
    }

    /// Returns the rows that have changed.
    fn changed_rows(&self) -> Vec<WindowRow> {
        self.credit_windows
            .windows
            .iter()
            .filter_map(|(key, window)| {
                let before = self.rows.get(key)?;
                let mut after = before.clone();
                after.set(window);
                (after != *before).then_some(after)
            })
            .collect()
    }
}

/// Rows to be written for a batch.
struct Entries {
    windows: Vec<WindowRow>,
    ended: Vec<DbUid>,
    opened: Vec<ReservationRow>,
}

impl Batch {
    /// Books the batch. Returns `None`, and books nothing, if the balance is too
    /// low for one of the requests and others have ended.
    pub(crate) async fn book(
        self: &Arc<Self>,
        db: &Database,
        window_cache: &mut WindowCache,
    ) -> Result<Option<BatchResult>, DbError> {
        let mut created = false;
        loop {
            // Reservations need not survive a power cut on SQLite: their calls
            // do not either.
            let must_be_durable = !self.settlements.is_empty() || !self.usage.is_empty();
            let conn = if must_be_durable { db.writer().await? } else { db.counter().await? };
            let outcome = match conn {
                Conn::Sqlite(conn) => sqlite::attempt(conn, Arc::clone(self), created).await?,
                Conn::Postgres(conn) => {
                    match postgres::attempt(conn, self, created, window_cache).await {
                        Err(err) if err.is_conflict() => {
                            self.retry(db, created, window_cache, err).await?
                        }
                        outcome => outcome?,
                    }
                }
            };

            match outcome {
                AttemptOutcome::Booked(booked) => return Ok(Some(booked)),
                AttemptOutcome::Short => return Ok(None),
                AttemptOutcome::Missing(missing) => self.create_windows(db, &missing).await?,
            }

            created = true;
        }
    }

    /// Retries after a conflict, which may not happen again.
    async fn retry(
        &self,
        db: &Database,
        created: bool,
        window_cache: &mut WindowCache,
        mut err: DbError,
    ) -> Result<AttemptOutcome, DbError> {
        let mut backoff = RetryBackoff::default();
        while backoff.next().await
            && let Conn::Postgres(conn) = db.writer().await?
        {
            match postgres::attempt(conn, self, created, window_cache).await {
                Err(conflict) if conflict.is_conflict() => err = conflict,
                outcome => return outcome,
            }
        }
        Err(err)
    }

    /// Returns the ids of the reservations that end.
    fn ended_reservations(&self) -> Vec<DbUid> {
        self.settlements.iter().map(|it| DbUid(it.reservation)).collect()
    }

    /// Settles and admits, in locked windows, and returns the result with the rows to be
    /// written; `None` if the balance is too low and others have ended.
    fn decide(
        &self,
        mut locked: LockedWindows,
        missing: &BTreeSet<WindowKey>,
        ended: Vec<ReservationRow>,
        written: &[DbUid],
    ) -> Option<(BatchResult, Entries)> {
        let ended_ids = if ended.is_empty() { Vec::new() } else { self.ended_reservations() };
        let late_settlements = self.settle(&mut locked.credit_windows, ended, written);
        let (verdicts, opened) = self.admit(&mut locked.credit_windows, missing);
        let mut decisions = self.requests.iter().zip(&verdicts);
        let is_short = decisions.any(|((_, request), verdict)| verdict.is_short_of(request));
        if self.others_ended && is_short {
            return None;
        }

        let entries = Entries { windows: locked.changed_rows(), ended: ended_ids, opened };
        Some((BatchResult { verdicts, late_settlements, is_optimistic: false }, entries))
    }

    /// Returns the keys of the windows involved, in locking order.
    fn keys(&self) -> Vec<String> {
        let requested_windows =
            self.requests.iter().flat_map(|(_, request)| request.holder.windows());
        let settled_windows = self.settlements.iter().flat_map(|it| &it.lines).map(|it| it.window);
        let keys: BTreeSet<String> =
            requested_windows.chain(settled_windows).map(|it| it.to_string()).collect();
        keys.into_iter().collect()
    }

    /// Returns the windows that calls need and that do not exist. Top-ups exist
    /// only once some were bought.
    fn missing(&self, locked: &LockedWindows) -> BTreeSet<WindowKey> {
        self.requests
            .iter()
            .flat_map(|(_, request)| request.holder.windows())
            .filter(|it| it.kind != WindowKind::TopUp && !locked.rows.contains_key(it))
            .collect()
    }

    /// Returns a holder for each pool that was not filled yet this week.
    fn holders_of_unfilled_pools(&self, credit_windows: &CreditWindows) -> Vec<CreditHolder> {
        let mut keys = HashSet::new();
        let mut holders = Vec::new();
        for (_, request) in &self.requests {
            let holder = request.holder;
            if let Some(key) = pool_of(&holder, credit_windows)
                && keys.insert(key)
            {
                holders.push(holder);
            }
        }
        holders
    }

    /// Returns the usage of calls to be settled whose reservation is gone: it was
    /// reaped, or this batch was booked before and the answer got lost.
    fn usage_without_reservation(&self, ended: &[ReservationRow]) -> Vec<DbUid> {
        let reservation_ids: HashSet<Uuid> = ended.iter().map(|it| it.id.0).collect();
        self.settlements
            .iter()
            .filter(|it| !reservation_ids.contains(&it.reservation))
            .filter_map(|it| it.usage.as_ref())
            .map(|it| DbUid(it.id))
            .collect()
    }

    /// Settles the ended calls and returns the number of those that had no
    /// reservation any more. Calls in `written` were charged by an earlier attempt.
    fn settle(
        &self,
        credit_windows: &mut CreditWindows,
        ended: Vec<ReservationRow>,
        written: &[DbUid],
    ) -> u64 {
        let mut rows: HashMap<Uuid, Vec<ReservationRow>> = HashMap::new();
        for row in ended {
            rows.entry(row.id.0).or_default().push(row);
        }

        let mut late_settlements = 0;
        for settlement in &self.settlements {
            let usage = settlement.usage.as_ref();
            let is_booked = usage.is_some_and(|it| written.contains(&DbUid(it.id)));

            let released_lines: Vec<ReservationLine> = rows
                .remove(&settlement.reservation)
                .unwrap_or_default()
                .iter()
                .filter_map(|row| row.to_reservation_line(&settlement.lines))
                .collect();

            if !is_booked {
                late_settlements += u64::from(released_lines.is_empty() && usage.is_some());
                credit_windows.settle(&settlement.lines, settlement.spent, &released_lines);
            }
        }

        late_settlements
    }

    /// Decides on the requests in their order, and returns the verdicts and the
    /// reservations of those granted.
    fn admit(
        &self,
        credit_windows: &mut CreditWindows,
        missing: &BTreeSet<WindowKey>,
    ) -> (Vec<AdmissionVerdict>, Vec<ReservationRow>) {
        let mut verdicts = Vec::new();
        let mut opened = Vec::new();
        for (id, request) in &self.requests {
            if request.holder.windows().any(|it| missing.contains(&it)) {
                verdicts.push(AdmissionVerdict::Gone);
                continue;
            }

            verdicts.push(match credit_windows.admit(request) {
                Ok(grant) => {
                    opened.extend(grant.lines.iter().map(|line| ReservationRow {
                        id: DbUid(*id),
                        window_key: line.window.to_string(),
                        instance_id: DbUid(self.instance),
                        amount: line.amount.0,
                        opened_at: DbInstant(self.now),
                    }));
                    AdmissionVerdict::Granted(grant)
                }
                Err(refusal) => AdmissionVerdict::Refused(refusal),
            });
        }

        (verdicts, opened)
    }

    /// Creates windows in a transaction of its own: a key is locked at its
    /// creation, before those that follow it in locking order. Windows of deleted
    /// accounts and groups are not created.
    async fn create_windows(
        &self,
        db: &Database,
        missing: &BTreeSet<WindowKey>,
    ) -> Result<(), DbError> {
        let mut rows: BTreeMap<String, WindowRow> = BTreeMap::new();
        for (_, request) in &self.requests {
            let CreditHolder { member, group, .. } = request.holder;
            for key in request.holder.windows().filter(|it| missing.contains(it)) {
                let is_of_group = key.kind.belongs_to_group();
                let user = (!is_of_group).then_some(DbUid(member.0));
                let group = is_of_group.then_some(DbUid(group.0));
                rows.insert(key.to_string(), WindowRow::new(key, user, group));
            }
        }

        let users: Vec<DbUid> = rows.values().filter_map(|it| it.user_id).collect();
        let groups: Vec<DbUid> = rows.values().filter_map(|it| it.group_id).collect();
        on_conn!(db.writer(), |conn| {
            let existing_ids = conn.existing_ids(&users, &groups).await?;
            let rows_of_existing: Vec<WindowRow> = rows
                .into_values()
                .filter(|row| {
                    row.user_id.or(row.group_id).is_some_and(|it| existing_ids.contains(&it))
                })
                .collect();
            conn.insert_all(rows_of_existing).await?;
        })
    }
}

/// Returns the key of a holder's pool, if it exists and was not filled this week.
pub(crate) fn pool_of(holder: &CreditHolder, credit_windows: &CreditWindows) -> Option<WindowKey> {
    let key = holder.windows().find(|it| it.kind == WindowKind::Pool)?;
    credit_windows.windows.get(&key).filter(|it| it.is_unfilled()).map(|it| it.key)
}

/// Returns the inputs from which the pool of a holder's group is filled.
pub(crate) fn last_week(holder: &CreditHolder, credit_windows: &CreditWindows) -> LastWeek {
    LastWeek {
        group: holder.group.0,
        allowance: Micros::credits(holder.limits.weekly).0,
        start: DbInstant(credit_windows.weeks.before(credit_windows.now)),
        end: DbInstant(credit_windows.weeks.start(credit_windows.now)),
    }
}

/// Fills the pool of a holder's group, unless that was done this week, with the unused
/// millionths of a credit.
pub(crate) fn fill_pool(credit_windows: &mut CreditWindows, holder: &CreditHolder, unused: i64) {
    if let Some(key) = pool_of(holder, credit_windows)
        && let Some(pool) = credit_windows.windows.get_mut(&key)
    {
        pool.fill(Micros(unused));
    }
}
