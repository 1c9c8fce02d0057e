//! The usage log in SQL.

use std::sync::Arc;
use std::time::Duration;

use diesel::dsl::{exists, not};
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use pia_assistant::{UsageLog, UsageRecord};
use pia_storage::schema::{accounts, ai_usage};
use pia_storage::{Database, DbError, DbUid, InsertAll, in_tx};
use tokio::runtime::Handle;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use uuid::Uuid;

use crate::usage_queue::UsageQueue;
use crate::usage_row::UsageRow;

/// How many are kept while the database is away: some minutes at full load,
/// in about 20 MB.
const MOST_WAITING: usize = 100_000;
/// How many one transaction writes.
const LARGEST_BATCH: usize = 256;
/// How long records are gathered before they are written. Nobody waits for
/// them, and a commit for each few would take more of the machine than the
/// calls they tell of.
const GATHERED_FOR: Duration = Duration::from_millis(50);
/// Whose usage it is where the account is gone.
const NOBODY: DbUid = DbUid(Uuid::nil());
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// Writes usage down soon after it was noted.
///
/// One task writes everything that was gathered over a moment in one
/// transaction. Beyond 100,000 records the oldest are
/// dropped and counted. Every clone is a handle on the same log.
#[derive(Debug, Clone)]
pub struct SqlUsageLog {
    queue: Arc<UsageQueue>,
    hurry: Arc<Notify>,
    stop: CancellationToken,
}

impl SqlUsageLog {
    /// A log that `tasks` keeps writing on the runtime `main`, until
    /// [`drain`](Self::drain) ends it.
    pub fn start(db: Database, tasks: &TaskTracker, main: &Handle) -> Self {
        let log = Self {
            queue: Arc::new(UsageQueue::new(MOST_WAITING)),
            hurry: Arc::default(),
            stop: CancellationToken::new(),
        };
        tasks.spawn_on(Writer { log: log.clone(), db }.run(), main);
        log
    }

    /// Waits until everything noted so far is written, for at most `limit`,
    /// and ends the task that writes. Answers how many records were not
    /// written. Call it when nobody notes any more.
    pub async fn drain(&self, limit: Duration) -> u64 {
        self.hurry.notify_one();
        // Only the waiting is given up, never a statement that runs.
        drop(tokio::time::timeout(limit, self.queue.emptied()).await);
        self.stop.cancel();
        let left = self.waiting();
        if left > 0 {
            tracing::error!(records = left, "Usage was not written down before the end");
        }
        left
    }

    /// How many records were written since the start.
    pub fn written(&self) -> u64 {
        self.queue.written()
    }

    /// How many records are not written yet.
    pub fn waiting(&self) -> u64 {
        self.queue.waiting()
    }

    /// How many records were lost because too many waited.
    pub fn dropped(&self) -> u64 {
        self.queue.dropped()
    }

    /// How many times a batch could not be written and was kept.
    pub fn failures(&self) -> u64 {
        self.queue.failures()
    }
}

impl UsageLog for SqlUsageLog {
    fn note(&self, usage: UsageRecord) {
        self.queue.push(usage);
    }
}

struct Writer {
    log: SqlUsageLog,
    db: Database,
}

impl Writer {
    async fn run(self) {
        let stop = self.log.stop.clone();
        let (mut batch, mut pause) = (LARGEST_BATCH, FIRST_PAUSE);
        // Nothing is cut off that runs: what is given up is only waited for.
        while stop.run_until_cancelled(self.log.queue.filled()).await.is_some() {
            if self.log.waiting() < LARGEST_BATCH as u64 {
                let _in_a_hurry = stop.run_until_cancelled(self.rest(GATHERED_FOR)).await;
            }
            if self.write(batch).await {
                (batch, pause) = ((batch * 2).min(LARGEST_BATCH), FIRST_PAUSE);
            } else {
                // Should it be for one record, smaller batches find it.
                batch = (batch / 2).max(1);
                let hurried = stop.run_until_cancelled(self.rest(pause)).await == Some(true);
                pause = if hurried { FIRST_PAUSE } else { (pause * 2).min(LONGEST_PAUSE) };
            }
        }
    }

    /// Writes what waits, at most so many records, and tells whether it could.
    async fn write(&self, most: usize) -> bool {
        let taken = self.log.queue.take(most);
        let rows: Vec<UsageRow> = taken.iter().map(UsageRow::from).collect();
        match self.insert(rows).await {
            Ok(()) => {
                self.log.queue.settle();
                true
            }
            Err(err) => {
                let cause = std::error::Error::source(&err).map(ToString::to_string);
                self.log.queue.put_back(taken);
                let waiting = self.log.waiting();
                tracing::warn!(error = %err, cause, waiting, "Could not write usage down");
                false
            }
        }
    }

    /// A batch whose commit was not heard of is written again, which changes
    /// nothing. What somebody used whose account was deleted meanwhile is
    /// nobody's.
    async fn insert(&self, rows: Vec<UsageRow>) -> Result<(), DbError> {
        let ids: Vec<DbUid> = rows.iter().map(|it| it.id).collect();
        in_tx!(self.db, async |conn| -> Result<(), DbError> {
            conn.insert_all(rows.clone()).await?;
            let account = accounts::table.filter(accounts::id.eq(ai_usage::user_id));
            let orphaned = ai_usage::id.eq_any(&ids).and(not(exists(account)));
            let orphaned = diesel::update(ai_usage::table.filter(orphaned));
            orphaned.set(ai_usage::user_id.eq(NOBODY)).execute(conn).await?;
            Ok(())
        })
    }

    /// A pause before the next attempt. Ends early, and tells so, when the log
    /// is to be drained.
    async fn rest(&self, pause: Duration) -> bool {
        tokio::time::timeout(pause, self.log.hurry.notified()).await.is_ok()
    }
}
