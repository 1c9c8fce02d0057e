//! Tests of refusals with pool and top-ups.

use pia_kernel::{BudgetPeriod, CreditLimits};

use super::*;

#[test]
fn an_exhausted_week_reports_pool_and_top_ups() {
    let (holder, mut credit_windows) = holder_with_pool();
    window(&mut credit_windows, WEEKLY).spend(Micros::credits(10), now());
    window(&mut credit_windows, WindowKind::Pool).spend(Micros::credits(5), now());
    window(&mut credit_windows, WindowKind::TopUp).spend(Micros(99_999_999), now());

    let refusal = credit_windows.admit(&request(holder, 1)).unwrap_err();

    assert_eq!(refusal.gauge, Some(Gauge { limit: 10, used: 10 }));
    assert_eq!(refusal.pool, Some(Gauge { limit: 5, used: 5 }));
    assert_eq!(refusal.top_up, Some(Gauge { limit: 100, used: 100 }));
    assert_eq!(refusal.resets_at, week_ends());
}

#[test]
fn every_refusal_reports_bought_top_ups() {
    let (holder, mut credit_windows) = holder_with_pool();
    let limits = CreditLimits { hourly: 1, ..holder.limits };
    let holder = CreditHolder { limits, ..holder };
    let hour = holder.windows().find(|it| it.kind == HOURLY).unwrap();
    credit_windows.windows.insert(hour, Window::new(hour));
    window(&mut credit_windows, HOURLY).spend(Micros::credits(1), now());

    let refusal = credit_windows.admit(&request(holder, 1)).unwrap_err();

    assert_eq!(refusal.period, Period::Budget(BudgetPeriod::Hourly));
    assert_eq!(refusal.pool, None);
    assert_eq!(refusal.top_up, Some(Gauge { limit: 100, used: 0 }));
}
