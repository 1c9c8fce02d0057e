//! Admission and settlement of calls against a snapshot of spending windows.
//!
//! A call must fit twice: in each rate window (hour, day, group, key), and in the sum of
//! the balances (allowance, pool, top-ups), which are drawn from in this order. `admit`
//! shortens the response to what fits, `settle` charges what was spent. Both change only
//! this snapshot: `storage-assistant` locks the rows, calls them, and writes the result.

use std::collections::BTreeMap;
use std::time::Duration;

use pia_kernel::{BudgetPeriod, Timestamp};

use super::admission_request::{AdmissionRequest, CreditHolder};
use super::refusal::{BudgetRefusal, Gauge, Period, until};
use super::reservation::ReservationLine;
use super::truncation_cause::TruncationCause;
use super::week::Weeks;
use super::window::{Window, WindowKey, WindowKind};
use crate::credits::rates::Micros;

/// Retry delay if only open calls block, which may end at any time.
const OPEN_CALL_RETRY: Duration = Duration::from_mins(1);

/// Spending windows at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CreditWindows {
    /// Windows as of that moment.
    pub windows: BTreeMap<WindowKey, Window>,
    /// Calendar of the weekly windows.
    pub weeks: Weeks,
    /// Time as of which they were rolled over.
    pub now: Timestamp,
}

/// Amount that a call may spend.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallGrant {
    /// Lines of the reservation, which its settlement ends.
    pub lines: Vec<ReservationLine>,
    /// Maximum length of its response in tokens.
    pub output: i64,
    /// Facts about the budget that shortens the requested response.
    pub truncation_cause: Option<Box<TruncationCause>>,
}

/// Window that blocks a call, and the time from which it no longer does.
struct BlockingWindow {
    kind: WindowKind,
    available_at: Timestamp,
}

impl CreditWindows {
    /// Admits a call and reserves its cost, or refuses it.
    pub fn admit(&mut self, request: &AdmissionRequest) -> Result<CallGrant, BudgetRefusal> {
        let holder = &request.holder;
        let min_cost = request.min_cost();
        let remaining_amount = self.remaining(holder);
        if remaining_amount < min_cost {
            return Err(self.refusal(holder, min_cost, min_cost));
        }

        let output = request.affordable(remaining_amount);
        let lines = self.reservation_lines(holder, request.cost(output));
        for line in &lines {
            if let Some(window) = self.windows.get_mut(&line.window) {
                window.reserved = window.reserved.plus(line.amount);
            }
        }

        let truncation_cause = (output < request.output).then(|| {
            let credit_windows = self.for_holder(holder);
            Box::new(TruncationCause {
                credit_windows,
                request: *request,
                output,
                lines: lines.clone(),
            })
        });

        Ok(CallGrant { lines, output, truncation_cause })
    }

    /// Returns the windows of one holder.
    fn for_holder(&self, holder: &CreditHolder) -> Self {
        let windows = holder.windows().filter_map(|it| Some((it, self.windows.get(&it)?.clone())));
        Self { windows: windows.collect(), weeks: self.weeks, now: self.now }
    }

    /// Charges the spending of a call to the windows of its reservation, and
    /// ends the reservations in `released`; `lines` that it lacks have expired
    /// before. Spending beyond the reservation is charged to the last balance.
    pub fn settle(
        &mut self,
        lines: &[ReservationLine],
        spent: Micros,
        released: &[ReservationLine],
    ) {
        for (window, spent) in allocate_spending(lines, spent) {
            if let Some(window) = self.windows.get_mut(&window) {
                window.spend(spent, self.now);
            }
        }
        for line in released {
            if let Some(window) = self.windows.get_mut(&line.window) {
                window.reserved = window.reserved.minus(line.amount);
            }
        }
    }

    pub(crate) fn window(&self, holder: &CreditHolder, kind: WindowKind) -> Option<&Window> {
        let key = holder.windows().find(|it| it.kind == kind)?;
        self.windows.get(&key)
    }

    /// Returns the amount that the holder may still spend: the minimum of all
    /// rate windows and of the sum of the balances.
    fn remaining(&self, holder: &CreditHolder) -> Micros {
        let min_remaining = WindowKind::ALL
            .into_iter()
            .filter(|it| !it.is_balance())
            .filter_map(|it| self.remaining_in(holder, it))
            .min();
        let balance = holder.limit(WindowKind::ALLOWANCE).map(|_| self.remaining_balance(holder));
        min_remaining.into_iter().chain(balance).min().unwrap_or(Micros(i64::MAX))
    }

    fn remaining_in(&self, holder: &CreditHolder, kind: WindowKind) -> Option<Micros> {
        Some(self.window(holder, kind)?.remaining(holder.limit(kind)?))
    }

    /// Returns the sum of allowance, pool and top-ups that remain. An overdrawn
    /// balance counts as empty and does not reduce the next.
    fn remaining_balance(&self, holder: &CreditHolder) -> Micros {
        self.balances(holder).map(|(_, remaining)| remaining).fold(Micros(0), Micros::plus)
    }

    /// Returns the balances and their remaining amounts, in the order in which
    /// they are drawn down.
    fn balances<'a>(
        &'a self,
        holder: &'a CreditHolder,
    ) -> impl Iterator<Item = (WindowKey, Micros)> + 'a {
        [WindowKind::ALLOWANCE, WindowKind::Pool, WindowKind::TopUp].into_iter().filter_map(
            |kind| {
                let window = self.window(holder, kind)?;
                let remaining = window.remaining(holder.limit(kind).unwrap_or(window.total));
                Some((window.key, remaining.max(Micros(0))))
            },
        )
    }

    /// Returns the lines that reserve the amount: all of it in every rate window, and shares of
    /// it in the balances.
    fn reservation_lines(&self, holder: &CreditHolder, amount: Micros) -> Vec<ReservationLine> {
        let mut lines: Vec<ReservationLine> = holder
            .windows()
            .filter(|it| !it.kind.is_balance())
            .map(|window| ReservationLine { window, amount })
            .collect();
        let mut unreserved = amount;
        for (window, remaining) in self.balances(holder) {
            let share = unreserved.min(remaining);
            if share.0 > 0 {
                lines.push(ReservationLine { window, amount: share });
                unreserved = unreserved.minus(share);
            }
        }

        // Without a line the guard would settle nothing, and the usage would be lost.
        if amount.0 == 0 {
            let allowance = holder.windows().filter(|it| it.kind == WindowKind::ALLOWANCE);
            lines.extend(allowance.map(|window| ReservationLine { window, amount }));
        }

        lines
    }

    /// Returns the refusal of the window that blocks `min_cost` the longest, with the time at
    /// which `full_cost` fits.
    pub(super) fn refusal(
        &self,
        holder: &CreditHolder,
        min_cost: Micros,
        full_cost: Micros,
    ) -> BudgetRefusal {
        let longest_block = self
            .blocking_rate_windows(holder, min_cost, full_cost)
            .chain(self.blocking_balance(holder, min_cost, full_cost))
            .reduce(|a, b| if b.available_at > a.available_at { b } else { a });
        let Some(BlockingWindow { kind, available_at }) = longest_block else {
            // Unreachable: this is called only if a window blocks.
            return BudgetRefusal::suspended(self.weeks.end(self.now), self.now);
        };

        let period = kind.period();
        let committed = self.window(holder, kind).map_or(Micros(0), Window::committed_amount);
        BudgetRefusal {
            period: Period::Budget(period),
            gauge: holder.limit(kind).map(|limit| gauge(limit, committed)),
            pool: if period == BudgetPeriod::Weekly {
                self.committed_stock(holder, WindowKind::Pool)
            } else {
                None
            },
            top_up: self.committed_stock(holder, WindowKind::TopUp).filter(|it| it.limit > 0),
            resets_at: available_at,
            retry_after: until(available_at, self.now),
        }
    }

    /// Returns the gauge of a stock, of which reserved credits are used.
    fn committed_stock(&self, holder: &CreditHolder, kind: WindowKind) -> Option<Gauge> {
        let window = self.window(holder, kind)?;
        Some(stock_gauge(window.total, window.committed_amount()))
    }

    /// Returns the time to retry if only open calls block.
    fn after_open_calls(&self) -> Timestamp {
        self.now + OPEN_CALL_RETRY
    }

    /// Returns the rate windows that lack `min_cost`, each with the time when `full_cost` fits.
    fn blocking_rate_windows<'a>(
        &'a self,
        holder: &'a CreditHolder,
        min_cost: Micros,
        full_cost: Micros,
    ) -> impl Iterator<Item = BlockingWindow> + 'a {
        let rate_windows = WindowKind::ALL.into_iter().filter(|it| !it.is_balance());
        rate_windows.filter_map(move |kind| {
            let remaining = self.remaining_in(holder, kind)?;
            let window = self.window(holder, kind)?;
            let available_at = if remaining.plus(window.reserved) >= full_cost {
                self.after_open_calls()
            } else {
                window.available_at(full_cost.minus(remaining), self.weeks, self.now)
            };
            (remaining < min_cost).then_some(BlockingWindow { kind, available_at })
        })
    }

    /// Returns the allowance as the window that blocks, if the balances together lack `min_cost`.
    fn blocking_balance(
        &self,
        holder: &CreditHolder,
        min_cost: Micros,
        full_cost: Micros,
    ) -> Option<BlockingWindow> {
        holder.limit(WindowKind::ALLOWANCE)?;
        let remaining = self.remaining_balance(holder);
        let reserved =
            self.balances(holder).filter_map(|(key, _)| Some(self.windows.get(&key)?.reserved));
        let available_at = if reserved.fold(remaining, Micros::plus) >= full_cost {
            self.after_open_calls()
        } else {
            self.weeks.end(self.now)
        };
        let kind = WindowKind::ALLOWANCE;
        (remaining < min_cost).then_some(BlockingWindow { kind, available_at })
    }
}

pub(crate) fn gauge(limit: Micros, used: Micros) -> Gauge {
    Gauge { limit: limit.rounded_down(), used: used.rounded_up() }
}

/// Returns the gauge of a stock in whole credits; the used part never exceeds
/// the total.
pub(crate) fn stock_gauge(total: Micros, used: Micros) -> Gauge {
    let limit = total.rounded_down().max(0);
    Gauge { limit, used: used.rounded_up().min(limit) }
}

/// Divides the spent amount among the windows of a reservation: all of it to each rate
/// window, and shares to the balances, of which the last takes what exceeds the others.
fn allocate_spending(lines: &[ReservationLine], spent: Micros) -> Vec<(WindowKey, Micros)> {
    let mut by_window: Vec<_> = lines
        .iter()
        .filter(|it| !it.window.kind.is_balance())
        .map(|it| (it.window, spent))
        .collect();
    let mut undivided = spent;
    let mut balances = lines.iter().filter(|it| it.window.kind.is_balance()).peekable();
    while let Some(line) = balances.next() {
        let is_last = balances.peek().is_none();
        let share = if is_last { undivided } else { undivided.min(line.amount) };
        by_window.push((line.window, share));
        undivided = undivided.minus(share);
    }
    by_window
}

#[cfg(test)]
#[path = "windows_tests.rs"]
mod tests;
