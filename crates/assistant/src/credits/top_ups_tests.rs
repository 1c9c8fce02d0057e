//! Tests of refusals with pool and top-ups.

use super::*;
use pia_kernel::{BudgetPeriod, CreditLimits};

#[test]
fn a_week_that_is_used_up_tells_of_pool_and_top_ups() {
    let (holder, mut books) = pooled();
    window(&mut books, WindowKind::Limit(BudgetPeriod::Weekly)).spend(Micros::credits(10), now());
    window(&mut books, WindowKind::Pool).spend(Micros::credits(5), now());
    window(&mut books, WindowKind::TopUp).spend(Micros(99_999_999), now());

    let refusal = books.admit(&ask(holder, 1)).unwrap_err();

    assert_eq!(refusal.gauge, Some(Gauge { limit: 10, used: 10 }));
    assert_eq!(refusal.pool, Some(Gauge { limit: 5, used: 5 }));
    assert_eq!(refusal.top_up, Some(Gauge { limit: 100, used: 100 }));
    assert_eq!(refusal.resets_at, week_ends());
}

#[test]
fn every_refusal_tells_of_top_ups_that_were_bought() {
    let (holder, mut books) = pooled();
    let limits = CreditLimits { hourly: 1, ..holder.limits };
    let holder = Holder { limits, ..holder };
    let hour =
        holder.windows().find(|it| it.kind == WindowKind::Limit(BudgetPeriod::Hourly)).unwrap();
    books.windows.insert(hour, Window::new(hour));

    window(&mut books, WindowKind::Limit(BudgetPeriod::Hourly)).spend(Micros::credits(1), now());

    let refusal = books.admit(&ask(holder, 1)).unwrap_err();

    assert_eq!((refusal.period, refusal.pool), (Period::Budget(BudgetPeriod::Hourly), None));
    assert_eq!(refusal.top_up, Some(Gauge { limit: 100, used: 0 }));
}
