//! Queue of entries and admission requests to be booked.
//!
//! `SqlCreditStore` fills it, `sequencer.rs` empties it. After `take_entries` call
//! exactly one of `mark_booked` and `requeue_entries`: until then the taken entries
//! count as waiting, so that `wait_until_empty` covers them. Requests have no such
//! count, since their callers wait for the reply themselves.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use pia_assistant::{AdmissionOutcome, AdmissionRequest, Settlement, SettlementSink, UsageRecord};
use pia_kernel::Unavailable;
use tokio::sync::{Notify, oneshot};

/// Result of an admission request.
pub(crate) type AdmissionResult = Result<AdmissionOutcome, Unavailable>;

/// Admission request with the channel of its waiting caller.
#[derive(Debug)]
pub(crate) struct PendingRequest {
    pub(crate) request: AdmissionRequest,
    pub(crate) reply: oneshot::Sender<AdmissionResult>,
}

/// Entry to be written that no caller waits for.
#[derive(Debug)]
pub(crate) enum Entry {
    /// Usage of a call without limits.
    Used(UsageRecord),
    /// End of a call with a reservation.
    Settled(Settlement),
}

/// Requests and entries in memory. The oldest usage is dropped when there is too
/// much; settlements never are, as their reservations would stay.
#[derive(Debug)]
pub(crate) struct Queue {
    waiting: Mutex<Waiting>,
    max_entries: usize,
    /// Signals new entries and requests.
    work_added: Notify,
    /// Signals new requests.
    request_added: Notify,
    /// Signals that no entry waits any more.
    emptied: Notify,
    written: AtomicU64,
    dropped: AtomicU64,
    failures: AtomicU64,
}

#[derive(Debug, Default)]
struct Waiting {
    entries: VecDeque<Entry>,
    requests: VecDeque<PendingRequest>,
    /// Number of entries being booked.
    in_booking: usize,
    closed: bool,
}

impl Queue {
    /// Creates a queue that drops usage beyond `max_entries`.
    pub(crate) fn new(max_entries: usize) -> Self {
        Self {
            waiting: Mutex::default(),
            max_entries,
            work_added: Notify::new(),
            request_added: Notify::new(),
            emptied: Notify::new(),
            written: AtomicU64::new(0),
            dropped: AtomicU64::new(0),
            failures: AtomicU64::new(0),
        }
    }

    /// Adds an entry, even after `close`, and wakes the booking task.
    pub(crate) fn push(&self, entry: Entry) {
        let mut waiting = self.lock();
        waiting.entries.push_back(entry);
        self.trim(&mut waiting);
        drop(waiting);
        self.work_added.notify_one();
    }

    /// Adds a request without waking a task. Returns whether it was accepted: after
    /// [`close`](Self::close) it is dropped.
    pub(crate) fn push_request(&self, request: PendingRequest) -> bool {
        let mut waiting = self.lock();
        if !waiting.closed {
            waiting.requests.push_back(request);
        }
        !waiting.closed
    }

    /// Returns requests to the front of the queue, in their order. After `close`
    /// they are dropped, which their callers notice.
    pub(crate) fn requeue_requests(
        &self,
        requests: impl DoubleEndedIterator<Item = PendingRequest>,
    ) {
        let mut waiting = self.lock();
        if !waiting.closed {
            requests.rev().for_each(|it| waiting.requests.push_front(it));
        }
    }

    /// Returns whether an admission request is waiting.
    pub(crate) fn has_requests(&self) -> bool {
        !self.lock().requests.is_empty()
    }

    /// Wakes the tasks that wait for requests.
    pub(crate) fn wake(&self) {
        self.work_added.notify_one();
        self.request_added.notify_one();
    }

    /// Takes the oldest requests, at most `max`.
    pub(crate) fn take_requests(&self, max: usize) -> Vec<PendingRequest> {
        let mut waiting = self.lock();
        let count = waiting.requests.len().min(max);
        waiting.requests.drain(..count).collect()
    }

    /// Takes the oldest entries, at most `max`.
    pub(crate) fn take_entries(&self, max: usize) -> Vec<Entry> {
        let mut waiting = self.lock();
        let count = waiting.entries.len().min(max);
        waiting.in_booking = count;
        waiting.entries.drain(..count).collect()
    }

    /// Marks the taken entries as booked, with this number of usage records
    /// among them.
    pub(crate) fn mark_booked(&self, records: u64) {
        let mut waiting = self.lock();
        self.written.fetch_add(records, Ordering::Relaxed);
        waiting.in_booking = 0;
        if waiting.entries.is_empty() {
            self.emptied.notify_waiters();
        }
    }

    /// Returns entries that could not be booked to the end of the queue: their
    /// order has no meaning, and an entry that the database refuses should not
    /// block all others.
    pub(crate) fn requeue_entries(&self, taken: Vec<Entry>) {
        let mut waiting = self.lock();
        waiting.in_booking = 0;
        waiting.entries.extend(taken);
        self.trim(&mut waiting);
        self.failures.fetch_add(1, Ordering::Relaxed);
    }

    /// Waits for an entry or a request.
    pub(crate) async fn wait_for_work(&self) {
        while !self.has_work() {
            self.work_added.notified().await;
        }
    }

    /// Waits for a request.
    pub(crate) async fn wait_for_request(&self) {
        while !self.has_requests() {
            self.request_added.notified().await;
        }
    }

    /// Waits until everything is booked.
    pub(crate) async fn wait_until_empty(&self) {
        loop {
            // Listens before the check, so that no signal is missed.
            let emptied = self.emptied.notified();
            if self.waiting_count() == 0 {
                return;
            }
            emptied.await;
        }
    }

    /// Closes the queue; no request is answered any more.
    pub(crate) fn close(&self) {
        let mut waiting = self.lock();
        waiting.closed = true;
        let requests = std::mem::take(&mut waiting.requests);
        drop(waiting);
        // Waiting callers notice the closed channel.
        drop(requests);
    }

    /// Returns the number of entries not booked yet, those being booked
    /// included.
    pub(crate) fn waiting_count(&self) -> u64 {
        let waiting = self.lock();
        (waiting.entries.len() + waiting.in_booking) as u64
    }

    pub(crate) fn written_count(&self) -> u64 {
        self.written.load(Ordering::Relaxed)
    }

    pub(crate) fn dropped_count(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }

    pub(crate) fn failure_count(&self) -> u64 {
        self.failures.load(Ordering::Relaxed)
    }

    fn has_work(&self) -> bool {
        let waiting = self.lock();
        !waiting.entries.is_empty() || !waiting.requests.is_empty()
    }

    /// Drops and counts the oldest usage beyond the maximum.
    fn trim(&self, waiting: &mut Waiting) {
        let mut surplus = waiting.entries.len().saturating_sub(self.max_entries);
        if surplus == 0 {
            return;
        }

        let length_before = waiting.entries.len();

        waiting.entries.retain(|it| {
            let is_dropped = surplus > 0 && matches!(it, Entry::Used(_));
            surplus -= usize::from(is_dropped);
            !is_dropped
        });
        let dropped_count = length_before - waiting.entries.len();
        self.dropped.fetch_add(dropped_count as u64, Ordering::Relaxed);
    }

    /// Locks the state. No method panics halfway, so that a poisoned lock is still usable.
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SettlementSink for Queue {
    fn settle(&self, settlement: Settlement) {
        self.push(Entry::Settled(settlement));
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use pia_assistant::{CallOutcome, Micros, Mode, Rates, Usage};
    use pia_kernel::{GroupId, Timestamp, UserId};
    use uuid::Uuid;

    use super::*;

    fn record(model: &str) -> Entry {
        Entry::Used(UsageRecord {
            id: Uuid::now_v7(),
            at: Timestamp::UNIX_EPOCH,
            user: UserId::generate(),
            group: GroupId::generate(),
            key: None,
            mode: Mode::Assistant,
            provider: "OpenAI",
            entry: None,
            model: model.to_owned(),
            tokens: Usage::default(),
            rates: Rates::default(),
            spent: Micros(0),
            estimated: false,
            outcome: CallOutcome::Completed,
            duration: Duration::ZERO,
        })
    }

    fn settlement() -> Entry {
        let reservation = Uuid::now_v7();
        let spent = Micros(0);
        Entry::Settled(Settlement { reservation, lines: Vec::new(), spent, usage: None })
    }

    fn models(entries: &[Entry]) -> Vec<&str> {
        entries
            .iter()
            .map(|entry| match entry {
                Entry::Used(record) => record.model.as_str(),
                Entry::Settled(_) => "settled",
            })
            .collect()
    }

    #[test]
    fn beyond_the_limit_the_oldest_records_are_dropped_and_counted() {
        let queue = Queue::new(2);

        for model in ["a", "b", "c"] {
            queue.push(record(model));
        }

        assert_eq!(queue.dropped_count(), 1);
        assert_eq!(models(&queue.take_entries(9)), ["b", "c"]);
    }

    #[test]
    fn no_reservation_is_ever_dropped() {
        let queue = Queue::new(2);

        for entry in [settlement(), record("a"), settlement(), settlement(), record("b")] {
            queue.push(entry);
        }

        assert_eq!(queue.dropped_count(), 2);
        assert_eq!(models(&queue.take_entries(9)), ["settled"; 3]);
    }

    #[test]
    fn requeued_entries_go_to_the_end_and_respect_the_limit() {
        let queue = Queue::new(3);
        for model in ["a", "b", "c"] {
            queue.push(record(model));
        }

        let taken = queue.take_entries(2);
        queue.push(record("d"));
        queue.requeue_entries(taken);

        assert_eq!(queue.dropped_count(), 1);
        assert_eq!(queue.failure_count(), 1);
        assert_eq!(queue.waiting_count(), 3);
        assert_eq!(models(&queue.take_entries(9)), ["d", "a", "b"]);
    }

    #[test]
    fn entries_being_written_still_count_as_waiting() {
        let queue = Queue::new(9);
        queue.push(record("a"));

        let taken = queue.take_entries(9);

        assert_eq!(taken.len(), 1);
        assert_eq!(queue.waiting_count(), 1);
        assert_eq!(queue.written_count(), 0);

        queue.mark_booked(1);

        assert_eq!(queue.waiting_count(), 0);
        assert_eq!(queue.written_count(), 1);
    }
}
