//! Counters of the outbox sender.

use std::sync::atomic::{AtomicU64, Ordering};

/// Counts what became of mails, for those who measure.
#[derive(Debug, Default)]
pub struct Tally {
    sent: AtomicU64,
    postponed: AtomicU64,
    abandoned: AtomicU64,
    left: AtomicU64,
}

impl Tally {
    /// Mails that the relay took.
    pub fn all_sent(&self) -> u64 {
        self.sent.load(Ordering::Relaxed)
    }

    /// Tries that came to nothing, and are made again.
    pub fn all_postponed(&self) -> u64 {
        self.postponed.load(Ordering::Relaxed)
    }

    /// Mails that will never be sent.
    pub fn all_abandoned(&self) -> u64 {
        self.abandoned.load(Ordering::Relaxed)
    }

    /// Mails that waited when the postman last looked, whoever is to send them.
    pub fn waiting(&self) -> u64 {
        self.left.load(Ordering::Relaxed)
    }

    pub(super) fn sent(&self) {
        self.sent.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn postponed(&self) {
        self.postponed.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn abandoned(&self) {
        self.abandoned.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn leave(&self, waiting: u64) {
        self.left.store(waiting, Ordering::Relaxed);
    }
}
