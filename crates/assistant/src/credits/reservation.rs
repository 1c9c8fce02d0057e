//! Reservation for a call, and its settlement.

use std::fmt;
use std::sync::Arc;

use uuid::Uuid;

use super::window::WindowKey;
use crate::credits::rates::{Micros, Rates};
use crate::credits::usage::{Usage, UsageRecord};

/// Amount reserved in one window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReservationLine {
    /// Window that the line is reserved in.
    pub window: WindowKey,
    /// Reserved amount.
    pub amount: Micros,
}

/// Settlement of the reservation of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settlement {
    /// Id of the reservation that ends.
    pub reservation: Uuid,
    /// Lines, in the order in which they are drawn from.
    pub lines: Vec<ReservationLine>,
    /// Spent amount.
    pub spent: Micros,
    /// Usage record of the call, if there is one.
    pub usage: Option<UsageRecord>,
}

impl Settlement {
    /// Returns the amount spent beyond the reservation: tokens that no cap
    /// limits and that are known only at the end.
    pub fn hidden(&self) -> Micros {
        self.spent.minus(reserved_amount(&self.lines)).max(Micros(0))
    }

    /// Returns the part of the cost that was charged to no budget.
    pub fn uncharged_cost(&self) -> Micros {
        let cost = self.usage.as_ref().map_or(self.spent, |it| it.spent);
        cost.minus(self.spent).max(Micros(0))
    }
}

/// Returns the reserved amount: that of any plain window, which equals the sum
/// of the balances.
fn reserved_amount(lines: &[ReservationLine]) -> Micros {
    match lines.iter().find(|it| !it.window.kind.is_balance()) {
        Some(plain) => plain.amount,
        None => lines.iter().map(|it| it.amount).fold(Micros(0), Micros::plus),
    }
}

/// Cost of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Charge {
    /// Cost of the hidden tokens.
    hidden: Micros,
    /// Cost of everything else.
    expected: Micros,
}

impl Charge {
    /// Returns the charge for these tokens and this tool fee.
    pub(crate) fn new(rates: &Rates, tokens: &Usage, fee: Micros) -> Self {
        let hidden = rates.price_of_hidden(tokens);
        Self { hidden, expected: rates.price(tokens).minus(hidden).plus(fee) }
    }

    /// Returns the amount to spend. However many tokens the upstream counts for
    /// the prompt or writes beyond its cap, it is at most the reservation, so
    /// that no budget is exceeded; only hidden tokens are added.
    pub(super) fn spent(self, lines: &[ReservationLine]) -> Micros {
        self.expected.min(reserved_amount(lines)).plus(self.hidden)
    }
}

/// Sink of settlements.
#[cfg_attr(any(test, feature = "mock"), mockall::automock)]
pub trait SettlementSink: Send + Sync {
    /// Ends a reservation and records its usage. Never waits; the adapter
    /// writes it soon after, and retries while the database is unavailable.
    fn settle(&self, settlement: Settlement);
}

/// Reservation of a call. It is settled when the guard is dropped, so that no path
/// can forget to.
pub struct ReservationGuard {
    reservation: Uuid,
    lines: Vec<ReservationLine>,
    sink: Arc<dyn SettlementSink>,
}

impl ReservationGuard {
    /// Creates a guard that settles these lines in a sink.
    pub fn new(
        reservation: Uuid,
        lines: Vec<ReservationLine>,
        sink: Arc<dyn SettlementSink>,
    ) -> Self {
        Self { reservation, lines, sink }
    }

    /// Returns the id of the reservation.
    pub fn reservation(&self) -> Uuid {
        self.reservation
    }

    /// Settles the reservation with the spent amount.
    pub fn settle(mut self, spent: Micros, usage: Option<UsageRecord>) {
        self.end(spent, usage);
    }

    /// Settles the reservation with the usage of a call.
    pub(crate) fn settle_call(mut self, usage: UsageRecord, charge: Charge) {
        self.end(charge.spent(&self.lines), Some(usage));
    }

    fn end(&mut self, spent: Micros, usage: Option<UsageRecord>) {
        let lines = std::mem::take(&mut self.lines);
        if !lines.is_empty() {
            self.sink.settle(Settlement { reservation: self.reservation, lines, spent, usage });
        }
    }
}

/// Settles a call that was never made, or that cost nothing.
impl Drop for ReservationGuard {
    fn drop(&mut self) {
        self.end(Micros(0), None);
    }
}

impl fmt::Debug for ReservationGuard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReservationGuard")
            .field("reservation", &self.reservation)
            .field("lines", &self.lines)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use pia_kernel::BudgetPeriod;

    use super::*;
    use crate::credits::window::WindowKind;

    #[derive(Default)]
    struct TestSink(Mutex<Vec<Settlement>>);

    impl SettlementSink for TestSink {
        fn settle(&self, settlement: Settlement) {
            self.0.lock().unwrap().push(settlement);
        }
    }

    fn reserve(sink: &Arc<TestSink>) -> ReservationGuard {
        let window =
            WindowKey { kind: WindowKind::Limit(BudgetPeriod::Hourly), owner: Uuid::nil() };
        let lines = vec![ReservationLine { window, amount: Micros(9) }];
        ReservationGuard::new(Uuid::now_v7(), lines, Arc::clone(sink) as Arc<dyn SettlementSink>)
    }

    #[test]
    fn a_reservation_is_settled_once_and_with_nothing_if_it_is_dropped() {
        let sink = Arc::new(TestSink::default());

        drop(reserve(&sink));
        reserve(&sink).settle(Micros(4), None);

        let spent: Vec<_> = sink.0.lock().unwrap().iter().map(|it| it.spent).collect();
        assert_eq!(spent, [Micros(0), Micros(4)]);
    }
}
