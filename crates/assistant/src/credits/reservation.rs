//! Reservation for a call, and its settlement.
//!
//! A reservation books its amount once in every rate window, and once more split over the balances
//! (allowance, pool, top-up). For example, a call of at most 9 credits by a member whose allowance
//! has 5 left:
//!
//! | window | reserved | spent, if the call costs 7 |
//! |---|---|---|
//! | hourly | 9 | 7 |
//! | daily | 9 | 7 |
//! | allowance | 5 | 5 |
//! | pool | 4 | 2 |

use std::fmt;
use std::sync::Arc;

use uuid::Uuid;

use super::window::WindowKey;
use crate::credits::rates::{Micros, Rates};
use crate::credits::usage::{Usage, UsageRecord};

/// Amount reserved in one window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReservationLine {
    /// Window whose limit or balance it reduces.
    pub window: WindowKey,
    /// Reserved amount: all of it in a rate window, a share in a balance.
    pub amount: Micros,
}

/// Settlement of the reservation of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settlement {
    /// Id of the reservation that ends.
    pub reservation: Uuid,
    /// Lines of the reservation, balances in the order in which they are drawn from.
    pub lines: Vec<ReservationLine>,
    /// Amount charged to the windows; may exceed the reservation by the cost of hidden tokens.
    pub spent: Micros,
    /// Usage record of the call; `None` if it was never made.
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

/// Returns the reserved amount.
///
/// A reservation books it once in every rate window, and once more split over the balances. So any
/// line of a rate window has the full amount; without one, the lines of the balances add up to it.
fn reserved_amount(lines: &[ReservationLine]) -> Micros {
    match lines.iter().find(|it| !it.window.kind.is_balance()) {
        Some(rate_line) => rate_line.amount,
        None => lines.iter().map(|it| it.amount).fold(Micros(0), Micros::plus),
    }
}

/// Cost of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Charge {
    /// Cost of the hidden tokens, which no cap limits.
    hidden_cost: Micros,
    /// Cost of the other tokens, and the fees of tools.
    visible_cost: Micros,
}

impl Charge {
    /// Returns the charge for these tokens and this tool fee.
    pub(crate) fn new(rates: &Rates, tokens: &Usage, fee: Micros) -> Self {
        let hidden_cost = rates.price_of_hidden(tokens);
        let visible_cost = rates.price(tokens).minus(hidden_cost).plus(fee);
        Self { hidden_cost, visible_cost }
    }

    /// Returns the amount to spend. However many tokens the upstream counts for
    /// the prompt or writes beyond its cap, it is at most the reservation, so
    /// that no budget is exceeded; only hidden tokens are added.
    pub(super) fn amount_to_spend(self, lines: &[ReservationLine]) -> Micros {
        self.visible_cost.min(reserved_amount(lines)).plus(self.hidden_cost)
    }
}

/// Port of settlements; implemented in `storage-assistant`.
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
        self.end(charge.amount_to_spend(&self.lines), Some(usage));
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
