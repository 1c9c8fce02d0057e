//! Tests of admissions and refusals.

use std::time::Duration;

use pia_kernel::{ApiKeyId, BudgetPeriod, CreditLimits, GroupId, Timestamp, UserId};

use super::*;
use crate::credits::rates::Rates;
use crate::credits::reservation::Charge;
use crate::credits::usage::Usage;
use crate::rules::ApiKeyBudget;

const HOURLY: WindowKind = WindowKind::Limit(BudgetPeriod::Hourly);
const DAILY: WindowKind = WindowKind::Limit(BudgetPeriod::Daily);
const WEEKLY: WindowKind = WindowKind::Limit(BudgetPeriod::Weekly);
const GROUP_DAILY: WindowKind = WindowKind::Limit(BudgetPeriod::GroupDaily);
const GROUP_WEEKLY: WindowKind = WindowKind::Limit(BudgetPeriod::GroupWeekly);

fn now() -> Timestamp {
    serde_json::from_value("2026-11-18T12:00:00Z".into()).unwrap()
}

fn week_ends() -> Timestamp {
    Weeks::UTC.end(now())
}

fn holder(limits: CreditLimits) -> CreditHolder {
    CreditHolder { member: UserId::generate(), group: GroupId::generate(), key: None, limits }
}

/// Returns a request with an empty prompt and this many output tokens. A
/// thousand tokens cost a credit.
fn request(holder: CreditHolder, output: i64) -> AdmissionRequest {
    AdmissionRequest { holder, rates: Rates::default(), fee: Micros(0), prompt: 0, output }
}

fn credit_windows(holder: &CreditHolder) -> CreditWindows {
    let mut windows: BTreeMap<_, _> = holder.windows().map(|key| (key, Window::new(key))).collect();
    for window in windows.values_mut() {
        window.roll_over(Weeks::UTC, now());
    }
    CreditWindows { windows, weeks: Weeks::UTC, now: now() }
}

fn window(credit_windows: &mut CreditWindows, kind: WindowKind) -> &mut Window {
    credit_windows.windows.values_mut().find(|it| it.key.kind == kind).unwrap()
}

/// Returns the credits that a grant reserves in each window.
fn credits(grant: &CallGrant) -> Vec<(WindowKind, i64)> {
    grant.lines.iter().map(|it| (it.window.kind, it.amount.rounded_up())).collect()
}

#[test]
fn a_call_is_reserved_in_every_applicable_window() {
    let key = Some(ApiKeyBudget { key: ApiKeyId::generate(), weekly: 50 });
    let limits = CreditLimits {
        hourly: 10,
        daily: 20,
        weekly: 30,
        group_daily: 40,
        group_weekly: 60,
        pool: false,
    };
    let holder = CreditHolder { key, ..holder(limits) };
    let mut credit_windows = credit_windows(&holder);

    let grant = credit_windows.admit(&request(holder, 4_000)).unwrap();

    let kinds = [HOURLY, DAILY, WindowKind::ApiKey, GROUP_DAILY, GROUP_WEEKLY, WEEKLY];
    assert_eq!(credits(&grant), kinds.map(|it| (it, 4)));
    assert_eq!(grant.output, 4_000);
    assert_eq!(grant.truncation_cause, None);
    let has_reservation = |it: &&Window| it.reserved == Micros::credits(4);
    assert_eq!(credit_windows.windows.values().filter(has_reservation).count(), kinds.len());
}

#[test]
fn the_tightest_window_limits_a_response() {
    let limits = CreditLimits { hourly: 10, daily: 7, weekly: 30, ..CreditLimits::default() };
    let holder = holder(limits);
    let mut credit_windows = credit_windows(&holder);
    window(&mut credit_windows, DAILY).spend(Micros::credits(2), now());

    let grant =
        credit_windows.admit(&AdmissionRequest { prompt: 500, ..request(holder, 90_000) }).unwrap();

    assert_eq!(grant.output, 4_500);
    assert_eq!(credits(&grant)[0], (HOURLY, 5));
    assert!(grant.truncation_cause.is_some());
}

#[test]
fn the_budget_that_shortened_a_response_is_reported_as_of_the_end() {
    let limits = CreditLimits { hourly: 3, daily: 90, weekly: 90, ..CreditLimits::default() };
    let holder = holder(limits);
    let mut credit_windows = credit_windows(&holder);
    window(&mut credit_windows, HOURLY).spend(Micros(400_000), now() - Duration::from_mins(30));
    let grant = credit_windows.admit(&request(holder, 2_700)).unwrap();
    assert_eq!(grant.output, 2_600);

    let end = now() + Duration::from_mins(2);
    let tokens = Usage { output: 2_600, ..Usage::default() };
    let refusal = grant
        .truncation_cause
        .unwrap()
        .after(Charge::new(&Rates::default(), &tokens, Micros(0)), end);

    assert_eq!(refusal.period, Period::Budget(BudgetPeriod::Hourly));
    assert_eq!(refusal.gauge, Some(Gauge { limit: 3, used: 3 }));
    // Earlier spending alone does not free the requested amount.
    assert_eq!(refusal.resets_at, end + Duration::from_mins(61));
    assert_eq!(refusal.retry_after, Duration::from_mins(61));
}

#[test]
fn a_call_beyond_a_budget_reports_the_end_of_the_window() {
    let end_of_hour = now() + Duration::from_mins(61);
    let end_of_day = now() + Duration::from_hours(24) + Duration::from_mins(15);
    for (limits, end) in [
        (CreditLimits { hourly: 3, ..CreditLimits::default() }, end_of_hour),
        (CreditLimits { daily: 3, ..CreditLimits::default() }, end_of_day),
        (CreditLimits { weekly: 3, ..CreditLimits::default() }, week_ends()),
    ] {
        let holder = holder(limits);

        let refusal = credit_windows(&holder)
            .admit(&AdmissionRequest { prompt: 5_000, ..request(holder, 9) })
            .unwrap_err();

        assert_eq!(refusal.resets_at, end, "{limits:?}");
        assert_eq!(refusal.gauge, Some(Gauge { limit: 3, used: 0 }));
    }
}

#[test]
fn with_less_than_a_thousand_tokens_left_a_call_is_refused() {
    let holder = holder(CreditLimits { hourly: 10, ..CreditLimits::default() });
    let admit = |balance: i64, prompt: i64, output: i64| {
        let mut credit_windows = credit_windows(&holder);
        window(&mut credit_windows, HOURLY).spend(Micros(10_000_000 - balance), now());
        credit_windows.admit(&AdmissionRequest { prompt, ..request(holder, output) })
    };

    assert!(admit(1_000_000, 100, 50).is_ok());
    assert_eq!(admit(999_999, 100, 50).unwrap_err().period, Period::Budget(BudgetPeriod::Hourly));
    // The prompt and a short response must fit, too.
    assert_eq!(admit(1_156_000, 900, 5000).unwrap().output, 256);
    assert_eq!(
        admit(1_155_999, 900, 5000).unwrap_err().period,
        Period::Budget(BudgetPeriod::Hourly)
    );
}

#[test]
fn a_call_that_only_open_calls_block_can_retry_soon() {
    let limits = CreditLimits { weekly: 10, daily: 10, ..CreditLimits::default() };
    let holder = holder(limits);
    let mut credit_windows = credit_windows(&holder);
    window(&mut credit_windows, DAILY).spend(Micros::credits(1), now() - Duration::from_hours(1));
    credit_windows.admit(&request(holder, 9_000)).unwrap();
    window(&mut credit_windows, WEEKLY).reserved = Micros::credits(10);

    let refusal = credit_windows.admit(&request(holder, 5_000)).unwrap_err();

    assert_eq!(refusal.resets_at, now() + Duration::from_mins(1));
}

#[test]
fn a_rolling_budget_is_available_when_enough_has_expired() {
    let holder = holder(CreditLimits { hourly: 10, ..CreditLimits::default() });
    let mut credit_windows = credit_windows(&holder);
    window(&mut credit_windows, HOURLY).spend(Micros(500_000), now() - Duration::from_mins(40));
    window(&mut credit_windows, HOURLY).spend(Micros::credits(9), now() - Duration::from_mins(20));

    let refusal = credit_windows.admit(&request(holder, 5_000)).unwrap_err();

    assert_eq!(refusal.period, Period::Budget(BudgetPeriod::Hourly));
    assert_eq!(refusal.gauge, Some(Gauge { limit: 10, used: 10 }));
    assert_eq!(refusal.resets_at, now() + Duration::from_mins(21));
    assert_eq!(refusal.retry_after, Duration::from_mins(21));
    assert_eq!(refusal.pool, None);
    assert_eq!(refusal.top_up, None);
}

#[test]
fn a_budget_reserved_by_open_calls_is_available_soon() {
    let holder = holder(CreditLimits { daily: 3, ..CreditLimits::default() });
    let mut credit_windows = credit_windows(&holder);
    credit_windows.admit(&request(holder, 3_000)).unwrap();

    let refusal = credit_windows.admit(&request(holder, 3_000)).unwrap_err();

    assert_eq!(refusal.period, Period::Budget(BudgetPeriod::Daily));
    assert_eq!(refusal.resets_at, now() + Duration::from_mins(1));
    assert_eq!(refusal.gauge, Some(Gauge { limit: 3, used: 3 }));
}

#[test]
fn each_budget_is_reported_with_its_name_and_the_end_of_its_week() {
    for (limits, period) in [
        (CreditLimits { weekly: 1, ..CreditLimits::default() }, BudgetPeriod::Weekly),
        (CreditLimits { group_weekly: 1, ..CreditLimits::default() }, BudgetPeriod::GroupWeekly),
    ] {
        let holder = holder(limits);
        let mut credit_windows = credit_windows(&holder);
        window(&mut credit_windows, WindowKind::Limit(period)).spend(Micros(1), now());

        let refusal = credit_windows.admit(&request(holder, 1)).unwrap_err();

        assert_eq!(refusal.period, Period::Budget(period));
        assert_eq!(refusal.resets_at, week_ends());
        assert_eq!(refusal.gauge, Some(Gauge { limit: 1, used: 1 }));
        assert_eq!(refusal.pool, None);
        assert_eq!(refusal.top_up, None);
    }
}

#[test]
fn a_groups_day_is_a_rolling_window() {
    let holder = holder(CreditLimits { group_daily: 5, ..CreditLimits::default() });
    let mut credit_windows = credit_windows(&holder);
    window(&mut credit_windows, GROUP_DAILY).spend(Micros::credits(5), now());

    let refusal = credit_windows.admit(&request(holder, 1)).unwrap_err();

    let expiry = now() + Duration::from_hours(24) + Duration::from_mins(15);
    assert_eq!(refusal.period, Period::Budget(BudgetPeriod::GroupDaily));
    assert_eq!(refusal.resets_at, expiry);
}

#[test]
fn of_two_exhausted_budgets_the_longer_blocked_is_reported() {
    let limits = CreditLimits { hourly: 5, weekly: 5, ..CreditLimits::default() };
    let holder = holder(limits);
    let mut credit_windows = credit_windows(&holder);
    window(&mut credit_windows, HOURLY).spend(Micros::credits(5), now());
    window(&mut credit_windows, WEEKLY).spend(Micros::credits(5), now());

    let refusal = credit_windows.admit(&request(holder, 1)).unwrap_err();

    assert_eq!(refusal.period, Period::Budget(BudgetPeriod::Weekly));
}

#[test]
fn a_keys_budget_is_weekly_and_reports_the_pool_too() {
    let key = Some(ApiKeyBudget { key: ApiKeyId::generate(), weekly: 2 });
    let limits = CreditLimits { weekly: 50, pool: true, ..CreditLimits::default() };
    let holder = CreditHolder { key, ..holder(limits) };
    let mut credit_windows = credit_windows(&holder);
    window(&mut credit_windows, WindowKind::Pool).fill(Micros::credits(100));
    window(&mut credit_windows, WindowKind::ApiKey).spend(Micros::credits(2), now());

    let refusal = credit_windows.admit(&request(holder, 1)).unwrap_err();

    assert_eq!(refusal.period, Period::Budget(BudgetPeriod::Weekly));
    assert_eq!(refusal.gauge, Some(Gauge { limit: 2, used: 2 }));
    assert_eq!(refusal.pool, Some(Gauge { limit: 100, used: 0 }));
    assert_eq!(refusal.top_up, None);
}

fn holder_with_pool() -> (CreditHolder, CreditWindows) {
    let limits = CreditLimits { weekly: 10, pool: true, ..CreditLimits::default() };
    let holder = holder(limits);
    let mut credit_windows = credit_windows(&holder);
    window(&mut credit_windows, WindowKind::Pool).fill(Micros::credits(5));
    window(&mut credit_windows, WindowKind::TopUp).total = Micros::credits(100);
    (holder, credit_windows)
}

#[test]
fn allowance_pool_and_top_ups_are_drawn_from_one_after_the_other() {
    let (holder, mut credit_windows) = holder_with_pool();
    window(&mut credit_windows, WEEKLY).spend(Micros::credits(8), now());

    let grant = credit_windows.admit(&request(holder, 20_000)).unwrap();
    credit_windows.settle(&grant.lines, Micros::credits(6), &grant.lines);

    assert_eq!(credits(&grant), [(WEEKLY, 2), (WindowKind::Pool, 5), (WindowKind::TopUp, 13)]);
    let mut used_credits = |kind| window(&mut credit_windows, kind).used.rounded_up();
    assert_eq!(used_credits(WEEKLY), 8 + 2);
    assert_eq!(used_credits(WindowKind::Pool), 6 - 2);
    assert_eq!(used_credits(WindowKind::TopUp), 0);
    assert!(credit_windows.windows.values().all(|it| it.reserved.0 == 0));
}

#[test]
fn hidden_tokens_are_charged_to_the_last_balance() {
    let (holder, mut credit_windows) = holder_with_pool();
    window(&mut credit_windows, WEEKLY).spend(Micros::credits(8), now());

    let grant = credit_windows.admit(&request(holder, 3_000)).unwrap();
    credit_windows.settle(&grant.lines, Micros::credits(9), &grant.lines);

    let mut used_credits = |kind| window(&mut credit_windows, kind).used.rounded_up();
    assert_eq!(used_credits(WEEKLY), 8 + 2);
    assert_eq!(used_credits(WindowKind::Pool), 9 - 2);
    assert_eq!(used_credits(WindowKind::TopUp), 0);
    // An overdrawn pool does not reduce the top-ups.
    assert_eq!(
        credits(&credit_windows.admit(&request(holder, 2_000)).unwrap()),
        [(WindowKind::TopUp, 2)]
    );
}

#[test]
fn an_expired_reservation_is_charged_and_not_released_again() {
    let holder = holder(CreditLimits { hourly: 10, ..CreditLimits::default() });
    let mut credit_windows = credit_windows(&holder);
    let grant = credit_windows.admit(&request(holder, 3_000)).unwrap();
    window(&mut credit_windows, HOURLY).reserved = Micros(0);

    credit_windows.settle(&grant.lines, Micros::credits(2), &[]);

    let hour = window(&mut credit_windows, HOURLY);
    assert_eq!(hour.used, Micros::credits(2));
    assert_eq!(hour.reserved, Micros(0));
}

#[test]
fn free_tokens_are_never_blocked() {
    let holder = holder(CreditLimits { weekly: 1, ..CreditLimits::default() });
    let mut credit_windows = credit_windows(&holder);
    window(&mut credit_windows, WEEKLY).spend(Micros::credits(1), now());
    let free = Rates { input: 0, output: 0, cached_input: 0, connector: 0 };

    let grant = credit_windows
        .admit(&AdmissionRequest { rates: free, prompt: 9, ..request(holder, 77) })
        .unwrap();

    assert_eq!(grant.output, 77);
    assert_eq!(credits(&grant), [(WEEKLY, 0)]);
}

#[path = "top_ups_tests.rs"]
mod top_ups;

#[path = "random_calls_tests.rs"]
mod random_calls;
