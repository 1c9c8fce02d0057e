//! Reservation for a call, and its settlement.

use std::fmt;
use std::sync::Arc;

use uuid::Uuid;

use super::window::WindowKey;
use crate::credits::rates::{Micros, Rates};
use crate::credits::usage::{Usage, UsageRecord};

/// Amount that was reserved in one window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReservationLine {
    /// Window that the line is reserved in.
    pub window: WindowKey,
    /// Reserved amount.
    pub amount: Micros,
}

/// The end of a call for which something was reserved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settlement {
    /// Id of the reservation that ends.
    pub reservation: Uuid,
    /// Lines, in the order in which they are drawn from.
    pub lines: Vec<ReservationLine>,
    /// Spent amount.
    pub spent: Micros,
    /// Usage record of the call, where there is one.
    pub usage: Option<UsageRecord>,
}

impl Settlement {
    /// Returns the amount spent beyond the reservation: tokens that no cap
    /// holds back, and that are known at the end alone.
    pub fn hidden(&self) -> Micros {
        self.spent.minus(reserved(&self.lines)).max(Micros(0))
    }

    /// Returns the part of the cost that was charged to no budget.
    pub fn uncharged(&self) -> Micros {
        let cost = self.usage.as_ref().map_or(self.spent, |it| it.spent);
        cost.minus(self.spent).max(Micros(0))
    }
}

/// Returns the reserved amount, in each plain window and in those together that
/// are drawn from one after the other.
fn reserved(lines: &[ReservationLine]) -> Micros {
    let (drawn, plain): (Vec<&ReservationLine>, Vec<&ReservationLine>) =
        lines.iter().partition(|it| it.window.kind.is_balance());
    let drawn = drawn.iter().map(|it| it.amount).fold(Micros(0), Micros::plus);
    plain.first().map_or(drawn, |it| it.amount)
}

/// Cost of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Charge {
    /// Cost that nobody knew of before its end.
    hidden: Micros,
    /// Everything else.
    expected: Micros,
}

impl Charge {
    /// Charge for these tokens and this tool fee.
    pub(crate) fn charge_for(rates: &Rates, tokens: &Usage, fee: Micros) -> Self {
        let hidden = rates.price_of_hidden(tokens);
        Self { hidden, expected: rates.price(tokens).minus(hidden).plus(fee) }
    }

    /// Returns the part that is spent of the reservation. However much its
    /// upstream made of the prompt, or wrote beyond its cap, that is at most
    /// all of it, so that no budget is exceeded; only what was hidden until the
    /// end comes on top.
    pub(super) fn spent(self, lines: &[ReservationLine]) -> Micros {
        self.expected.min(reserved(lines)).plus(self.hidden)
    }
}

/// Sink of settlements.
#[cfg_attr(any(test, feature = "mock"), mockall::automock)]
pub trait SettlementSink: Send + Sync {
    /// Ends a reservation and notes what was used. Never waits; the adapter
    /// books it soon after, and tries again while the database is away.
    fn settle(&self, settlement: Settlement);
}

/// Reservation of a call. Dropping it settles it, so no path can forget to.
pub struct ReservationGuard {
    reservation: Uuid,
    lines: Vec<ReservationLine>,
    to: Arc<dyn SettlementSink>,
}

impl ReservationGuard {
    /// Creates a guard of these lines, which settles them there.
    pub fn new(
        reservation: Uuid,
        lines: Vec<ReservationLine>,
        to: Arc<dyn SettlementSink>,
    ) -> Self {
        Self { reservation, lines, to }
    }

    /// Returns the id of the reservation.
    pub fn reservation(&self) -> Uuid {
        self.reservation
    }

    /// Ends it, with what was spent.
    pub fn settle(mut self, spent: Micros, usage: Option<UsageRecord>) {
        self.end(spent, usage);
    }

    /// Ends it with what a call used.
    pub(crate) fn settle_call(mut self, usage: UsageRecord, charge: Charge) {
        self.end(charge.spent(&self.lines), Some(usage));
    }

    fn end(&mut self, spent: Micros, usage: Option<UsageRecord>) {
        let lines = std::mem::take(&mut self.lines);
        if !lines.is_empty() {
            self.to.settle(Settlement { reservation: self.reservation, lines, spent, usage });
        }
    }
}

/// A call that was never made, or cost nothing.
impl Drop for ReservationGuard {
    fn drop(&mut self) {
        self.end(Micros(0), None);
    }
}

impl fmt::Debug for ReservationGuard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hold")
            .field("reservation", &self.reservation)
            .field("lines", &self.lines)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use pia_kernel::BudgetPeriod;

    use std::sync::Mutex;

    use super::*;
    use crate::credits::window::WindowKind;

    #[derive(Default)]
    struct TestSink(Mutex<Vec<Settlement>>);

    impl SettlementSink for TestSink {
        fn settle(&self, settlement: Settlement) {
            self.0.lock().unwrap().push(settlement);
        }
    }

    fn hold(till: &Arc<TestSink>) -> ReservationGuard {
        let window =
            WindowKey { kind: WindowKind::Limit(BudgetPeriod::Hourly), owner: Uuid::nil() };
        let lines = vec![ReservationLine { window, amount: Micros(9) }];
        ReservationGuard::new(Uuid::now_v7(), lines, Arc::clone(till) as Arc<dyn SettlementSink>)
    }

    #[test]
    fn each_is_settled_once_and_for_nothing_where_nobody_stated_for_what() {
        let till = Arc::new(TestSink::default());

        drop(hold(&till));
        hold(&till).settle(Micros(4), None);

        let spent: Vec<_> = till.0.lock().unwrap().iter().map(|it| it.spent).collect();
        assert_eq!(spent, [Micros(0), Micros(4)]);
    }
}
