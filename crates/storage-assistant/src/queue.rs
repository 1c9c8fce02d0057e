//! What waits to be written.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use pia_assistant::UsageRecord;
use tokio::sync::Notify;

/// Records in memory, of which the oldest go when there are too many.
#[derive(Debug)]
pub(crate) struct UsageQueue {
    records: Mutex<Records>,
    most: usize,
    /// There is something to write.
    news: Notify,
    /// There is nothing left to write.
    empty: Notify,
    written: AtomicU64,
    dropped: AtomicU64,
    failures: AtomicU64,
}

#[derive(Debug, Default)]
struct Records {
    waiting: VecDeque<UsageRecord>,
    /// So many are being written.
    in_hand: usize,
}

impl UsageQueue {
    /// A queue that holds at most so many.
    pub(crate) fn new(most: usize) -> Self {
        Self {
            records: Mutex::default(),
            most,
            news: Notify::new(),
            empty: Notify::new(),
            written: AtomicU64::new(0),
            dropped: AtomicU64::new(0),
            failures: AtomicU64::new(0),
        }
    }

    pub(crate) fn push(&self, record: UsageRecord) {
        let mut records = self.lock();
        records.waiting.push_back(record);
        self.trim(&mut records);
        drop(records);
        self.news.notify_one();
    }

    /// The oldest, at most so many.
    pub(crate) fn take(&self, most: usize) -> Vec<UsageRecord> {
        let mut records = self.lock();
        let some = records.waiting.len().min(most);
        records.in_hand = some;
        records.waiting.drain(..some).collect()
    }

    /// What was taken is written.
    pub(crate) fn settle(&self) {
        let mut records = self.lock();
        self.written.fetch_add(records.in_hand as u64, Ordering::Relaxed);
        records.in_hand = 0;
        if records.waiting.is_empty() {
            self.empty.notify_waiters();
        }
    }

    /// What was taken could not be written. It goes behind what waits, since
    /// their order means nothing, and one record that the database refuses
    /// should not stand before all others.
    pub(crate) fn put_back(&self, taken: Vec<UsageRecord>) {
        let mut records = self.lock();
        records.in_hand = 0;
        records.waiting.extend(taken);
        self.trim(&mut records);
        self.failures.fetch_add(1, Ordering::Relaxed);
    }

    /// Waits until there is something to take.
    pub(crate) async fn filled(&self) {
        while self.lock().waiting.is_empty() {
            self.news.notified().await;
        }
    }

    /// Waits until everything is written.
    pub(crate) async fn emptied(&self) {
        loop {
            let empty = self.empty.notified();
            if self.waiting() == 0 {
                return;
            }
            empty.await;
        }
    }

    /// How many are not written yet, those just being written included.
    pub(crate) fn waiting(&self) -> u64 {
        let records = self.lock();
        (records.waiting.len() + records.in_hand) as u64
    }

    pub(crate) fn written(&self) -> u64 {
        self.written.load(Ordering::Relaxed)
    }

    pub(crate) fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }

    pub(crate) fn failures(&self) -> u64 {
        self.failures.load(Ordering::Relaxed)
    }

    fn trim(&self, records: &mut Records) {
        let surplus = records.waiting.len().saturating_sub(self.most);
        records.waiting.drain(..surplus);
        self.dropped.fetch_add(surplus as u64, Ordering::Relaxed);
    }

    /// Nothing in here panics half-way, so that a poisoned lock is still good.
    fn lock(&self) -> MutexGuard<'_, Records> {
        self.records.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use pia_assistant::{Mode, Outcome, Usage};
    use pia_kernel::{Timestamp, UserId};
    use uuid::Uuid;

    use super::*;

    fn record(model: &str) -> UsageRecord {
        UsageRecord {
            id: Uuid::now_v7(),
            at: Timestamp::UNIX_EPOCH,
            user: UserId::generate(),
            mode: Mode::Assistant,
            provider: "OpenAI",
            model: model.to_owned(),
            tokens: Usage::default(),
            estimated: false,
            outcome: Outcome::Completed,
        }
    }

    fn models(records: &[UsageRecord]) -> Vec<&str> {
        records.iter().map(|it| it.model.as_str()).collect()
    }

    #[test]
    fn beyond_the_bound_the_oldest_go_and_are_counted() {
        let queue = UsageQueue::new(2);

        for model in ["a", "b", "c"] {
            queue.push(record(model));
        }

        assert_eq!(queue.dropped(), 1);
        assert_eq!(models(&queue.take(9)), ["b", "c"]);
    }

    #[test]
    fn what_could_not_be_written_goes_behind_what_waits_and_keeps_the_bound() {
        let queue = UsageQueue::new(3);
        for model in ["a", "b", "c"] {
            queue.push(record(model));
        }

        let taken = queue.take(2);
        queue.push(record("d"));
        queue.put_back(taken);

        assert_eq!((queue.dropped(), queue.failures(), queue.waiting()), (1, 1, 3));
        assert_eq!(models(&queue.take(9)), ["d", "a", "b"]);
    }

    #[test]
    fn what_is_being_written_still_waits() {
        let queue = UsageQueue::new(9);
        queue.push(record("a"));

        queue.take(9);
        let before = (queue.waiting(), queue.written());
        queue.settle();

        assert_eq!(before, (1, 0));
        assert_eq!((queue.waiting(), queue.written()), (0, 1));
    }
}
