//! Counters of admissions, for the operator.
//!
//! They count in this process only, since its start; the server exports them as metrics.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

/// Counters of admissions, as documented at `Counts`. The tasks of a store increment them.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    pub(crate) open: AtomicI64,
    pub(crate) admitted: AtomicU64,
    pub(crate) refused: AtomicU64,
    pub(crate) late_settlements: AtomicU64,
    pub(crate) hidden_cost: AtomicU64,
    pub(crate) uncharged: AtomicU64,
    pub(crate) reaped_reservations: AtomicU64,
    pub(crate) batches: AtomicU64,
    pub(crate) booked_entries: AtomicU64,
    pub(crate) optimistic_transactions: AtomicU64,
}

pub(crate) fn add(counter: &AtomicU64, count: u64) {
    counter.fetch_add(count, Ordering::Relaxed);
}

/// Values of the admission counters since the start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Calls with an open reservation.
    pub open: u64,
    /// Calls that were admitted out of a budget.
    pub admitted: u64,
    /// Calls that a budget refused.
    pub refused: u64,
    /// Calls that ended after their reservation had been released.
    pub late_settlements: u64,
    /// Millionths of a credit that calls cost beyond their reservations.
    pub hidden_cost: u64,
    /// Millionths of a credit that calls cost without charge to a budget.
    pub uncharged: u64,
    /// Reservations of dead instances that were released, one a window.
    pub reaped_reservations: u64,
    /// Transactions that booked something.
    pub batches: u64,
    /// Booked entries: requests, ends of calls, and usage.
    pub booked_entries: u64,
    /// Transactions that took one statement, since no other instance had changed the budgets.
    pub optimistic_transactions: u64,
}

impl Tally {
    pub(crate) fn counts(&self) -> Counts {
        let load = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Counts {
            open: u64::try_from(self.open.load(Ordering::Relaxed)).unwrap_or(0),
            admitted: load(&self.admitted),
            refused: load(&self.refused),
            late_settlements: load(&self.late_settlements),
            hidden_cost: load(&self.hidden_cost),
            uncharged: load(&self.uncharged),
            reaped_reservations: load(&self.reaped_reservations),
            batches: load(&self.batches),
            booked_entries: load(&self.booked_entries),
            optimistic_transactions: load(&self.optimistic_transactions),
        }
    }
}
