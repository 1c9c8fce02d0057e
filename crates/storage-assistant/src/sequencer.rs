//! Booking of queued entries and requests in batches: those that arrive while one is booked
//! are the next.
//!
//! A caller that finds no booking under way starts one (`spawn_booking`), in a task of its own
//! runtime. A task of the main runtime (`run`) books those that arrive meanwhile, and entries,
//! which must not be lost when a caller's runtime ends. Both call `settle_and_admit`: entries
//! that fail are requeued, while requests are answered at once (`requests.rs`), if need be
//! with an error.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use pia_assistant::{Micros, Settlement};
use pia_storage::DbError;
use tokio::sync::{Mutex, OwnedMutexGuard};
use tokio::time::Instant;

use crate::booking::window_cache::WindowCache;
use crate::booking::{AdmissionVerdict, Batch};
use crate::context::BookingContext;
use crate::queue::{Entry, PendingRequest};
use crate::requests::{NumberedRequest, answer_requests, open_requests, refuse_requests};
use crate::tally::add;
use crate::usage_row::UsageRow;

/// Maximum number of requests, and of entries, in one transaction.
pub(crate) const MAX_BATCH_ENTRIES: usize = 256;
/// Time for which entries are gathered before they are written, unless a
/// request needs more than is available without them. No caller waits for them,
/// and writing a few with each admitted call would delay all of those.
const GATHERED_FOR: Duration = Duration::from_millis(50);
const MIN_RETRY_DELAY: Duration = Duration::from_millis(100);
const MAX_RETRY_DELAY: Duration = Duration::from_secs(30);

/// Booking state of an instance. The task that holds its lock books.
pub(crate) struct Sequencer {
    window_cache: WindowCache,
    /// Number of entries booked at once.
    batch_size: usize,
    /// Delay before the next retry, which doubles with each failure.
    retry_delay: Duration,
    /// Time until which entries wait after a failure.
    retry_at: Option<Instant>,
    /// Time since which entries wait.
    gathering_since: Option<Instant>,
    /// Set when entries must not wait any longer.
    is_urgent: bool,
}

/// Outcome of booking a batch.
enum BookingOutcome {
    Booked(Vec<AdmissionVerdict>),
    /// The balance is too low for a request, and further entries may release credits: nothing
    /// was booked.
    Short,
}

impl Default for Sequencer {
    fn default() -> Self {
        Self {
            window_cache: WindowCache::default(),
            batch_size: MAX_BATCH_ENTRIES,
            retry_delay: MIN_RETRY_DELAY,
            retry_at: None,
            gathering_since: None,
            is_urgent: false,
        }
    }
}

/// Books until the store stops. Only waits are cancelled, never a running statement.
pub(crate) async fn run(context: BookingContext, sequencer: Arc<Mutex<Sequencer>>) {
    let stop = context.stop.clone();
    while stop.run_until_cancelled(context.queue.wait_for_work()).await.is_some() {
        if stop.run_until_cancelled(gather(&context, &sequencer)).await.is_none() {
            break;
        }
        sequencer.lock().await.book_round(&context).await;
    }
    context.queue.close();
}

/// Admits queued requests, unless a booking is under way.
pub(crate) fn spawn_booking(context: &BookingContext, sequencer: &Arc<Mutex<Sequencer>>) {
    let Ok(sequencer) = Arc::clone(sequencer).try_lock_owned() else { return };
    let mut task = BookingTask { sequencer: Some(sequencer), context: context.clone() };
    // Continues if its caller leaves.
    context.tasks.spawn(async move {
        let BookingTask { sequencer: Some(sequencer), context } = &mut task else { return };
        if !sequencer.is_write_due(context) {
            sequencer.admit(context).await;
        }
    });
}

/// Task that books. Once it ends, even with its runtime, another task is notified of
/// requests that arrived meanwhile.
struct BookingTask {
    sequencer: Option<OwnedMutexGuard<Sequencer>>,
    context: BookingContext,
}

impl Drop for BookingTask {
    fn drop(&mut self) {
        drop(self.sequencer.take());
        if self.context.queue.has_requests() {
            self.context.queue.wake();
        }
    }
}

/// Waits until entries are due, a request arrives, or the store is drained.
async fn gather(context: &BookingContext, sequencer: &Mutex<Sequencer>) {
    let Some(deadline) = sequencer.lock().await.gathering_deadline(context) else {
        return;
    };
    let is_urgent = tokio::select! {
        () = context.queue.wait_for_request() => return,
        () = tokio::time::sleep_until(deadline) => false,
        () = context.hurry.notified() => true,
    };
    sequencer.lock().await.end_gathering(is_urgent);
}

impl Sequencer {
    /// Returns the time until which entries may wait; `None` if they have
    /// waited long enough.
    fn gathering_deadline(&mut self, context: &BookingContext) -> Option<Instant> {
        let waiting = context.queue.waiting_count();
        if waiting > 0 {
            self.gathering_since.get_or_insert_with(Instant::now);
        }
        match self.retry_at {
            Some(retry_at) => Some(retry_at),
            None if waiting >= MAX_BATCH_ENTRIES as u64 => None,
            None => Some(self.gathering_since.unwrap_or_else(Instant::now) + GATHERED_FOR),
        }
    }

    fn end_gathering(&mut self, is_urgent: bool) {
        self.retry_at = None;
        self.is_urgent |= is_urgent;
        if is_urgent {
            self.retry_delay = MIN_RETRY_DELAY;
        }
    }

    /// Books requests only.
    async fn admit(&mut self, context: &BookingContext) {
        let requests = open_requests(context).await;
        if requests.is_empty() {
            return;
        }
        if let Some(requests) = self.settle_and_admit(context, requests, Vec::new()).await {
            let pending = requests
                .into_iter()
                .map(|NumberedRequest { request, reply, .. }| PendingRequest { request, reply });
            context.queue.requeue_requests(pending);
        }
    }

    /// Books requests, and entries if they are due or a request needs what they release.
    async fn book_round(&mut self, context: &BookingContext) {
        let requests = open_requests(context).await;
        let entries =
            if self.is_write_due(context) { self.take_entries(context) } else { Vec::new() };
        if entries.is_empty() && requests.is_empty() {
            return;
        }
        if let Some(requests) = self.settle_and_admit(context, requests, entries).await {
            let entries = self.take_entries(context);
            // A shortage is final now.
            drop(self.settle_and_admit(context, requests, entries).await);
        }
    }

    /// Returns whether entries are to be booked now, and not only requests.
    fn is_write_due(&self, context: &BookingContext) -> bool {
        let was_gathered = self.gathering_since.is_some_and(|it| it.elapsed() >= GATHERED_FOR);
        let fills_batch = context.queue.waiting_count() >= MAX_BATCH_ENTRIES as u64;
        !self.is_retry_pending() && (was_gathered || fills_batch || self.is_urgent)
    }

    fn is_retry_pending(&self) -> bool {
        self.retry_at.is_some_and(|it| it > Instant::now())
    }

    fn take_entries(&mut self, context: &BookingContext) -> Vec<Entry> {
        self.gathering_since = None;
        self.is_urgent = false;
        context.queue.take_entries(self.batch_size)
    }

    /// Books entries and requests. Returns the requests, and books nothing, if the balance is
    /// too low for one of them and further entries are waiting.
    async fn settle_and_admit(
        &mut self,
        context: &BookingContext,
        requests: Vec<NumberedRequest>,
        entries: Vec<Entry>,
    ) -> Option<Vec<NumberedRequest>> {
        let rows = EntryRows::of(&entries);
        let records = rows.usage.len() as u64;
        let others_ended =
            entries.is_empty() && !self.is_retry_pending() && context.queue.waiting_count() > 0;
        match self.book(context, rows, &requests, others_ended).await {
            Ok(BookingOutcome::Short) => return Some(requests),
            Ok(BookingOutcome::Booked(verdicts)) => {
                answer_requests(context, requests, verdicts);
                if !entries.is_empty() {
                    count_entries(context, &entries);
                    context.queue.mark_booked(records);
                    self.reset_after_success();
                }
            }
            Err(err) if entries.is_empty() => refuse_requests(context, requests, &err),
            Err(err) => {
                self.requeue(context, entries, &err);
                self.admit_without_entries(context, requests).await;
            }
        }

        None
    }

    /// Books requests after their entries could not be booked: an entry may be the cause, and
    /// requests must not suffer.
    async fn admit_without_entries(
        &mut self,
        context: &BookingContext,
        requests: Vec<NumberedRequest>,
    ) {
        if requests.is_empty() {
            return;
        }
        match self.book(context, EntryRows::default(), &requests, false).await {
            Ok(BookingOutcome::Booked(verdicts)) => answer_requests(context, requests, verdicts),
            // Does not happen, since no other entries are considered.
            Ok(BookingOutcome::Short) => {}
            Err(err) => refuse_requests(context, requests, &err),
        }
    }

    async fn book(
        &mut self,
        context: &BookingContext,
        rows: EntryRows,
        requests: &[NumberedRequest],
        others_ended: bool,
    ) -> Result<BookingOutcome, DbError> {
        let batch = Batch {
            instance: context.lease.instance,
            now: context.clock.now(),
            weeks: *context.weeks.get(),
            settlements: rows.settlements,
            usage: rows.usage,
            requests: requests.iter().map(|it| (it.id, it.request)).collect(),
            others_ended,
        };

        let Some(result) = Arc::new(batch).book(&context.db, &mut self.window_cache).await? else {
            return Ok(BookingOutcome::Short);
        };

        add(&context.tally.batches, 1);
        add(&context.tally.late_settlements, result.late_settlements);
        add(&context.tally.optimistic_transactions, u64::from(result.is_optimistic));

        Ok(BookingOutcome::Booked(result.verdicts))
    }

    fn reset_after_success(&mut self) {
        self.batch_size = (self.batch_size * 2).min(MAX_BATCH_ENTRIES);
        self.retry_delay = MIN_RETRY_DELAY;
        self.retry_at = None;
    }

    /// Returns entries that could not be booked to the queue, where they wait for a retry.
    fn requeue(&mut self, context: &BookingContext, entries: Vec<Entry>, err: &DbError) {
        context.queue.requeue_entries(entries);
        let waiting = context.queue.waiting_count();
        let cause = source_message(err);
        tracing::warn!(error = %err, cause, waiting, "failed to store usage");
        // A record may be the cause: smaller batches find it.
        self.batch_size = (self.batch_size / 2).max(1);
        self.retry_at = Some(Instant::now() + self.retry_delay);
        self.retry_delay = (self.retry_delay * 2).min(MAX_RETRY_DELAY);
    }
}

/// Settlements among entries, and the usage of them all.
#[derive(Default)]
struct EntryRows {
    settlements: Vec<Settlement>,
    usage: Vec<UsageRow>,
}

impl EntryRows {
    fn of(entries: &[Entry]) -> Self {
        let mut rows = Self::default();
        for entry in entries {
            match entry {
                Entry::Used(record) => rows.usage.push(record.into()),
                Entry::Settled(settlement) => {
                    rows.usage.extend(settlement.usage.as_ref().map(UsageRow::from));
                    rows.settlements.push(settlement.clone());
                }
            }
        }
        rows
    }
}

fn count_entries(context: &BookingContext, entries: &[Entry]) {
    add(&context.tally.booked_entries, entries.len() as u64);
    for entry in entries {
        if let Entry::Settled(settlement) = entry {
            let micros = |amount: Micros| u64::try_from(amount.0).unwrap_or(0);
            add(&context.tally.hidden_cost, micros(settlement.hidden()));
            add(&context.tally.uncharged, micros(settlement.uncharged_cost()));
            context.tally.open.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

/// Returns the message of the error's source, for the log.
pub(crate) fn source_message(err: &DbError) -> Option<String> {
    std::error::Error::source(err).map(ToString::to_string)
}
