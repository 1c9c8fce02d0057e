//! Tests of the views of people's credits.

use pia_kernel::{ApiKeyId, CreditLimits};
use pia_testkit::FixedClock;

use super::*;
use crate::credits::credit_store::MockCreditStore;
use crate::credits::settings::FreeTier;
use crate::credits::week::Weeks;
use crate::credits::window::Window;
use crate::rules::{ApiKeyBudget, GroupRules, MockRules};

fn now() -> Timestamp {
    serde_json::from_value("2026-11-18T12:00:00Z".into()).unwrap()
}

async fn view_json(
    limits: CreditLimits,
    suspended: bool,
    spent: impl Fn(&mut Window) + Send + Sync + 'static,
) -> CreditView {
    reported_with(None, limits, suspended, spent).await
}

async fn reported_with(
    key: Option<ApiKeyBudget>,
    limits: CreditLimits,
    suspended: bool,
    spent: impl Fn(&mut Window) + Send + Sync + 'static,
) -> CreditView {
    let mut rules = MockRules::new();
    let message = Arc::new(GroupRules { credits: limits, free: true, ..GroupRules::default() });
    rules.expect_rules_of().returning(move |_| Ok(Arc::clone(&message)));
    let mut credit_store = MockCreditStore::new();
    credit_store.expect_load_windows().returning(move |holder| {
        let windows = holder.windows().map(|key| {
            let mut window = Window::new(key);
            window.roll_over(Weeks::UTC, now());
            window.fill(Micros(0));
            spent(&mut window);
            (key, window)
        });
        Ok(CreditWindows { windows: windows.collect(), weeks: Weeks::UTC, now: now() })
    });
    let settings = CreditSettings {
        free_tier: FreeTier { suspended, group: None },
        ..CreditSettings::default()
    };
    let clock = Arc::new(FixedClock(now()));
    let credits =
        Credits::new(Arc::new(rules), Arc::new(credit_store), LiveSetting::new(settings), clock);
    credits.view(UserId::generate(), GroupId::generate(), key).await.unwrap()
}

#[tokio::test]
async fn where_nothing_is_limited_nothing_else_is_reported() {
    let pool = CreditLimits { pool: true, ..CreditLimits::default() };

    assert_eq!(
        view_json(pool, false, |_| panic!("nothing is counted")).await,
        CreditView::default()
    );
    assert!(view_json(pool, true, |_| {}).await.suspended);
}

#[tokio::test]
async fn only_what_is_limited_is_reported() {
    let daily = CreditLimits { daily: 9, ..CreditLimits::default() };

    let view = view_json(daily, false, |it| it.spend(Micros(1), now())).await;

    let daily = Some(Gauge { limit: 9, used: 1 });
    assert_eq!(view, CreditView { limited: true, daily, ..CreditView::default() });
}

#[tokio::test]
async fn all_that_is_limited_is_reported_without_what_open_calls_may_spend() {
    let limits = CreditLimits {
        hourly: 5,
        daily: 6,
        weekly: 7,
        group_daily: 8,
        group_weekly: 9,
        pool: true,
    };

    let view = view_json(limits, false, |it| {
        it.total = Micros::credits(4);
        it.spend(Micros::credits(3), now());
        it.reserved = Micros::credits(1);
    })
    .await;

    let ends = Weeks::UTC.end(now());
    let gauge = |limit| Some(Gauge { limit, used: 3 });
    let week = |limit| gauge(limit).map(|gauge| WeekGauge { gauge, resets_at: ends });
    let stock = CreditStock { total: 4, used: 3, remaining: 1 };
    let expected = CreditView {
        limited: true,
        suspended: false,
        hourly: gauge(5),
        daily: gauge(6),
        weekly: week(7),
        pool: Some((stock, ends)),
        top_up: Some(stock),
        group_daily: gauge(8),
        group_weekly: week(9),
        key: None,
    };
    assert_eq!(view, expected);
}

#[tokio::test]
async fn a_pool_may_be_empty_and_a_group_that_bought_nothing_has_no_top_ups() {
    let limits = CreditLimits { weekly: 7, pool: true, ..CreditLimits::default() };

    let view = view_json(limits, false, |_| {}).await;

    assert_eq!(view.pool.unwrap().0, CreditStock { total: 0, used: 0, remaining: 0 });
    assert_eq!(view.top_up, None);
}

#[test]
fn fractions_of_a_pool_are_reported_that_they_add_up() {
    let reported = |total, used| {
        let CreditStock { total, used, remaining } = stock(Micros(total), Micros(used));
        [total, used, remaining]
    };

    assert_eq!(reported(7_500_000, 7_200_000), [7, 7, 0]);
    assert_eq!(reported(7_500_000, 6_100_000), [7, 7, 0]);
    assert_eq!(reported(7_500_000, 5_900_000), [7, 6, 1]);
    assert_eq!(reported(900_000, 0), [0, 0, 0]);
    // Tokens that were hidden until the end.
    assert_eq!(reported(7_000_000, 9_000_000), [7, 7, 0]);
    assert_eq!(reported(-1, 0), [0, 0, 0]);
}

#[tokio::test]
async fn whoever_calls_with_a_key_is_reported_of_its_purse_too() {
    let key = |weekly| Some(ApiKeyBudget { key: ApiKeyId::generate(), weekly });
    let spend = |it: &mut Window| it.spend(Micros::credits(3), now());
    let daily = CreditLimits { daily: 9, ..CreditLimits::default() };

    let both = reported_with(key(5), daily, false, spend).await;
    let key_alone = reported_with(key(5), CreditLimits::default(), false, spend).await;
    let no_purse = reported_with(key(0), daily, false, spend).await;

    let gauge = |limit| Gauge { limit, used: 3 };
    let purse = Some(WeekGauge { gauge: gauge(5), resets_at: Weeks::UTC.end(now()) });
    let limited = CreditView { limited: true, daily: Some(gauge(9)), ..CreditView::default() };
    assert_eq!(both, CreditView { key: purse, ..limited.clone() });
    // The group limits nothing.
    assert_eq!(key_alone, CreditView { key: purse, ..CreditView::default() });
    assert_eq!(no_purse, limited);
}

#[test]
fn a_key_without_a_purse_limits_nothing() {
    let purse = |weekly| CreditHolder {
        member: UserId::generate(),
        group: GroupId::generate(),
        key: Some(ApiKeyBudget { key: ApiKeyId::generate(), weekly }),
        limits: CreditLimits::default(),
    };

    assert!(purse(0).is_unlimited());
    assert!(!purse(1).is_unlimited());
}
