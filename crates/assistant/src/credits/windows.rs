//! Deciding about a call, by windows that nobody else changes meanwhile.

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

/// Time after which an open call may have ended.
const OPEN_CALL_RETRY: Duration = Duration::from_mins(1);

/// Windows at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CreditWindows {
    /// The windows, each as of that moment.
    pub windows: BTreeMap<WindowKey, Window>,
    /// The weeks that are counted by.
    pub weeks: Weeks,
    /// The moment.
    pub now: Timestamp,
}

/// Amount that a call may spend.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallGrant {
    /// Out of which windows, and how much of each at most.
    pub parts: Vec<ReservationLine>,
    /// Maximum length of its answer, in tokens.
    pub output: i64,
    /// Facts about the budget that shortens the requested answer.
    pub truncation_cause: Option<Box<TruncationCause>>,
}

/// Reason why a window is in the way.
struct BlockingWindow {
    kind: WindowKind,
    frees: Timestamp,
}

impl CreditWindows {
    /// Decides whether a call may be made. Where it may, what it may spend is
    /// reserved.
    pub fn admit(&mut self, ask: &AdmissionRequest) -> Result<CallGrant, BudgetRefusal> {
        let holder = &ask.holder;
        let least = ask.least();
        let left = self.left(holder);
        if left < least {
            return Err(self.refusal(holder, least, least));
        }
        let output = ask.affordable(left);
        let parts = self.parts(holder, ask.cost(output));
        for part in &parts {
            if let Some(window) = self.windows.get_mut(&part.window) {
                window.reserved = window.reserved.plus(part.amount);
            }
        }
        let short = (output < ask.output).then(|| {
            let credit_windows = self.for_holder(holder);
            Box::new(TruncationCause { credit_windows, ask: *ask, output, parts: parts.clone() })
        });
        Ok(CallGrant { parts, output, truncation_cause: short })
    }

    /// Returns the windows of one holder alone.
    fn for_holder(&self, holder: &CreditHolder) -> Self {
        let own = holder.windows().filter_map(|it| Some((it, self.windows.get(&it)?.clone())));
        Self { windows: own.collect(), weeks: self.weeks, now: self.now }
    }

    /// Counts what a call spent out of what was reserved for it, in the order
    /// in which it is drawn. What is more than that is drawn from where the
    /// rest came from. Of what `released` names the reservation ends; the
    /// other reservations ended before.
    pub fn settle(
        &mut self,
        parts: &[ReservationLine],
        spent: Micros,
        released: &[ReservationLine],
    ) {
        for (window, spent) in allocate_spending(parts, spent) {
            if let Some(window) = self.windows.get_mut(&window) {
                window.spend(spent, self.now);
            }
        }
        for part in released {
            if let Some(window) = self.windows.get_mut(&part.window) {
                window.reserved = window.reserved.minus(part.amount);
            }
        }
    }

    pub(crate) fn window(&self, holder: &CreditHolder, kind: WindowKind) -> Option<&Window> {
        let key = holder.windows().find(|it| it.kind == kind)?;
        self.windows.get(&key)
    }

    /// Returns the rest of the tightest window.
    fn left(&self, holder: &CreditHolder) -> Micros {
        let plain = WindowKind::ALL.into_iter().filter(|it| !it.is_drawn());
        let tightest = plain.filter_map(|it| self.left_of(holder, it)).min();
        let drawn = holder.limit(WindowKind::ALLOWANCE).map(|_| self.drawn(holder));
        tightest.into_iter().chain(drawn).min().unwrap_or(Micros(i64::MAX))
    }

    fn left_of(&self, holder: &CreditHolder, kind: WindowKind) -> Option<Micros> {
        Some(self.window(holder, kind)?.left_of(holder.limit(kind)?))
    }

    /// Returns the rest of allowance, pool and top-ups together. A debt of one
    /// is not paid by the next: it was charged where it belongs.
    fn drawn(&self, holder: &CreditHolder) -> Micros {
        let left = self.draws(holder).map(|(_, left)| left);
        left.fold(Micros(0), Micros::plus)
    }

    fn draws<'a>(
        &'a self,
        holder: &'a CreditHolder,
    ) -> impl Iterator<Item = (WindowKey, Micros)> + 'a {
        [WindowKind::ALLOWANCE, WindowKind::Pool, WindowKind::TopUp].into_iter().filter_map(
            |kind| {
                let window = self.window(holder, kind)?;
                let left = window.left_of(holder.limit(kind).unwrap_or(window.total));
                Some((window.key, left.max(Micros(0))))
            },
        )
    }

    /// Lines that reserve the amount: the whole of it in every rate window, and shares of the
    /// balances that are drawn down in turn.
    fn parts(&self, holder: &CreditHolder, amount: Micros) -> Vec<ReservationLine> {
        let plain = holder.windows().filter(|it| !it.kind.is_drawn());
        let mut parts: Vec<ReservationLine> =
            plain.map(|window| ReservationLine { window, amount }).collect();
        let mut rest = amount;
        for (window, left) in self.draws(holder) {
            let some = rest.min(left);
            if some.0 > 0 {
                parts.push(ReservationLine { window, amount: some });
                rest = rest.minus(some);
            }
        }
        if amount.0 == 0 {
            let own = holder.windows().filter(|it| it.kind == WindowKind::ALLOWANCE);
            parts.extend(own.map(|window| ReservationLine { window, amount }));
        }
        parts
    }

    /// Refusal of the window that blocks `min_cost` the longest, with the time at which
    /// `full_cost` fits.
    pub(super) fn refusal(
        &self,
        holder: &CreditHolder,
        least: Micros,
        wanted: Micros,
    ) -> BudgetRefusal {
        let plain = self.plain_shorts(holder, least, wanted);
        let short = plain.chain(self.drawn_short(holder, least, wanted));
        let worst = short.reduce(|worst, it| if it.frees > worst.frees { it } else { worst });
        let Some(BlockingWindow { kind, frees }) = worst else {
            // Something was in the way, or nobody would have asked.
            return BudgetRefusal::suspended(self.weeks.end(self.now), self.now);
        };
        let period = kind.period();
        let total =
            |kind| self.window(holder, kind).map(|it| stock_gauge(it.total, it.committed()));
        let taken = self.window(holder, kind).map_or(Micros(0), Window::committed);
        BudgetRefusal {
            period: Period::Budget(period),
            gauge: holder.limit(kind).map(|limit| gauge(limit, taken)),
            pool: total(WindowKind::Pool).filter(|_| period == BudgetPeriod::Weekly),
            top_up: total(WindowKind::TopUp).filter(|it| it.limit > 0),
            resets_at: frees,
            retry_after: until(frees, self.now),
        }
    }

    /// Returns the time to retry where only open calls are in the way.
    fn soon(&self) -> Timestamp {
        self.now + OPEN_CALL_RETRY
    }

    fn plain_shorts<'a>(
        &'a self,
        holder: &'a CreditHolder,
        least: Micros,
        wanted: Micros,
    ) -> impl Iterator<Item = BlockingWindow> + 'a {
        let plain = WindowKind::ALL.into_iter().filter(|it| !it.is_drawn());
        plain.filter_map(move |kind| {
            let (left, window) = (self.left_of(holder, kind)?, self.window(holder, kind)?);
            let frees = if left.plus(window.reserved) >= wanted {
                self.soon()
            } else {
                window.available_at(wanted.minus(left), self.weeks, self.now)
            };
            (left < least).then_some(BlockingWindow { kind, frees })
        })
    }

    fn drawn_short(
        &self,
        holder: &CreditHolder,
        least: Micros,
        wanted: Micros,
    ) -> Option<BlockingWindow> {
        holder.limit(WindowKind::ALLOWANCE)?;
        let short = self.drawn(holder) < least;
        let open = self.draws(holder).filter_map(|(key, _)| Some(self.windows.get(&key)?.reserved));
        let with_open = open.fold(self.drawn(holder), Micros::plus);
        let frees = if with_open >= wanted { self.soon() } else { self.weeks.end(self.now) };
        short.then_some(BlockingWindow { kind: WindowKind::ALLOWANCE, frees })
    }
}

pub(crate) fn gauge(limit: Micros, used: Micros) -> Gauge {
    Gauge { limit: limit.rounded_down(), used: used.rounded_up() }
}

/// Returns the gauge of a stock, counted in fractions of a credit, too: it
/// never shows more used than there was.
pub(crate) fn stock_gauge(total: Micros, used: Micros) -> Gauge {
    let limit = total.rounded_down().max(0);
    Gauge { limit, used: used.rounded_up().min(limit) }
}

/// Returns the amounts that were spent by window.
fn allocate_spending(parts: &[ReservationLine], spent: Micros) -> Vec<(WindowKey, Micros)> {
    let plain = parts.iter().filter(|it| !it.window.kind.is_drawn());
    let mut spread: Vec<_> = plain.map(|it| (it.window, spent)).collect();
    let mut rest = spent;
    let mut drawn = parts.iter().filter(|it| it.window.kind.is_drawn()).peekable();
    while let Some(part) = drawn.next() {
        let some = if drawn.peek().is_some() { rest.min(part.amount) } else { rest };
        spread.push((part.window, some));
        rest = rest.minus(some);
    }
    spread
}

#[cfg(test)]
#[path = "windows_tests.rs"]
mod tests;
