//! Counters of the outbox sender.

use std::sync::atomic::{AtomicU64, Ordering};

/// Counters of delivery outcomes, for the metrics.
#[derive(Debug, Default)]
pub struct Tally {
    sent: AtomicU64,
    postponed: AtomicU64,
    abandoned: AtomicU64,
    waiting: AtomicU64,
}

impl Tally {
    /// Returns the number of emails that the relay accepted.
    pub fn all_sent(&self) -> u64 {
        self.sent.load(Ordering::Relaxed)
    }

    /// Returns the number of failed attempts that are retried.
    pub fn all_postponed(&self) -> u64 {
        self.postponed.load(Ordering::Relaxed)
    }

    /// Returns the number of abandoned emails.
    pub fn all_abandoned(&self) -> u64 {
        self.abandoned.load(Ordering::Relaxed)
    }

    /// Returns the number of emails that waited at the last count, whichever
    /// server is to send them.
    pub fn waiting(&self) -> u64 {
        self.waiting.load(Ordering::Relaxed)
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

    pub(super) fn set_waiting(&self, waiting: u64) {
        self.waiting.store(waiting, Ordering::Relaxed);
    }
}
