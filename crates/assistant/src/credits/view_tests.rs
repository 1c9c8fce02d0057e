//! Tests of the views of users' credits.

use pia_kernel::{ApiKeyId, CreditLimits};
use pia_testkit::FixedClock;

use super::*;
use crate::credits::credit_store::MockCreditStore;
use crate::credits::settings::FreeTier;
use crate::credits::week::Weeks;
use crate::credits::window::WindowKey;
use crate::rules::{ApiKeyBudget, GroupRules, MockRules};

fn now() -> Timestamp {
    serde_json::from_value("2026-11-18T12:00:00Z".into()).unwrap()
}

async fn view_of(
    limits: CreditLimits,
    suspended: bool,
    spent: impl Fn(&mut Window) + Send + Sync + 'static,
) -> CreditView {
    view_with_key(None, limits, suspended, spent).await
}

async fn view_with_key(
    key: Option<ApiKeyBudget>,
    limits: CreditLimits,
    suspended: bool,
    spent: impl Fn(&mut Window) + Send + Sync + 'static,
) -> CreditView {
    let mut rules = MockRules::new();
    let group_rules = Arc::new(GroupRules { credits: limits, free: true, ..GroupRules::default() });
    rules.expect_rules_of().returning(move |_| Ok(Arc::clone(&group_rules)));
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
async fn without_limits_only_the_suspension_is_reported() {
    let pool = CreditLimits { pool: true, ..CreditLimits::default() };

    assert_eq!(view_of(pool, false, |_| panic!("nothing is counted")).await, CreditView::default());
    assert!(view_of(pool, true, |_| {}).await.suspended);
}

#[tokio::test]
async fn only_limited_budgets_are_reported() {
    let daily = CreditLimits { daily: 9, ..CreditLimits::default() };

    let view = view_of(daily, false, |it| it.spend(Micros(1), now())).await;

    let daily = Some(Gauge { limit: 9, used: 1 });
    assert_eq!(view, CreditView { limited: true, daily, ..CreditView::default() });
}

#[tokio::test]
async fn all_budgets_are_reported_without_reserved_amounts() {
    let limits = CreditLimits {
        hourly: 5,
        daily: 6,
        weekly: 7,
        group_daily: 8,
        group_weekly: 9,
        pool: true,
    };

    let view = view_of(limits, false, |it| {
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
        pool: Some(PoolStock { stock, resets_at: ends }),
        top_up: Some(stock),
        group_daily: gauge(8),
        group_weekly: week(9),
        key: None,
    };
    assert_eq!(view, expected);
}

#[tokio::test]
async fn the_members_who_used_most_are_listed_for_each_limited_budget() {
    let limits = CreditLimits { hourly: 4, weekly: 8, group_daily: 9, ..CreditLimits::default() };
    let mut rules = MockRules::new();
    let group_rules = Arc::new(GroupRules { credits: limits, ..GroupRules::default() });
    rules.expect_rules_of().returning(move |_| Ok(Arc::clone(&group_rules)));
    let members: Vec<UserId> = (0..12).map(|_| UserId::generate()).collect();
    let owners = members.clone();
    let mut credit_store = MockCreditStore::new();
    credit_store.expect_load_member_windows().returning(move |_, period| {
        let count = if period == BudgetPeriod::Weekly { 2 } else { owners.len() };
        let kind = WindowKind::Limit(period);
        let windows = owners.iter().zip(0..).take(count).map(|(owner, used)| Window {
            used: Micros::credits(used),
            ..Window::new(WindowKey { kind, owner: owner.0 })
        });
        Ok(windows.collect())
    });
    let settings = LiveSetting::new(CreditSettings::default());
    let clock = Arc::new(FixedClock(now()));
    let credits = Credits::new(Arc::new(rules), Arc::new(credit_store), settings, clock);

    let budgets = credits.top_members(GroupId::generate()).await.unwrap();

    let budget =
        |at: usize, limit, used| MemberBudget { member: members[at], gauge: Gauge { limit, used } };
    let hourly: Vec<_> =
        (2..12).rev().zip((2..12).rev()).map(|(at, it)| budget(at, 4, it)).collect();
    assert_eq!(hourly[0].gauge.percent(), 275);
    let weekly = vec![budget(1, 8, 1)];
    assert_eq!(budgets, [(BudgetPeriod::Hourly, hourly), (BudgetPeriod::Weekly, weekly)]);
}

#[tokio::test]
async fn a_pool_may_be_empty_and_a_group_that_bought_nothing_has_no_top_ups() {
    let limits = CreditLimits { weekly: 7, pool: true, ..CreditLimits::default() };

    let view = view_of(limits, false, |_| {}).await;

    assert_eq!(view.pool.unwrap().stock, CreditStock { total: 0, used: 0, remaining: 0 });
    assert_eq!(view.top_up, None);
}

#[test]
fn used_and_remaining_credits_of_a_pool_add_up() {
    let rounded = |total, used| {
        let CreditStock { total, used, remaining } = stock(Micros(total), Micros(used));
        [total, used, remaining]
    };

    assert_eq!(rounded(7_500_000, 7_200_000), [7, 7, 0]);
    assert_eq!(rounded(7_500_000, 6_100_000), [7, 7, 0]);
    assert_eq!(rounded(7_500_000, 5_900_000), [7, 6, 1]);
    assert_eq!(rounded(900_000, 0), [0, 0, 0]);
    // Hidden tokens.
    assert_eq!(rounded(7_000_000, 9_000_000), [7, 7, 0]);
    assert_eq!(rounded(-1, 0), [0, 0, 0]);
}

#[tokio::test]
async fn the_budget_of_the_callers_key_is_reported() {
    let key = |weekly| Some(ApiKeyBudget { key: ApiKeyId::generate(), weekly });
    let spend = |it: &mut Window| it.spend(Micros::credits(3), now());
    let daily = CreditLimits { daily: 9, ..CreditLimits::default() };

    let both = view_with_key(key(5), daily, false, spend).await;
    let key_alone = view_with_key(key(5), CreditLimits::default(), false, spend).await;
    let no_budget = view_with_key(key(0), daily, false, spend).await;

    let gauge = |limit| Gauge { limit, used: 3 };
    let budget = Some(WeekGauge { gauge: gauge(5), resets_at: Weeks::UTC.end(now()) });
    let limited = CreditView { limited: true, daily: Some(gauge(9)), ..CreditView::default() };
    assert_eq!(both, CreditView { key: budget, ..limited.clone() });
    // The group limits nothing.
    assert_eq!(key_alone, CreditView { key: budget, ..CreditView::default() });
    assert_eq!(no_budget, limited);
}

#[test]
fn a_key_without_a_budget_limits_nothing() {
    let budget = |weekly| CreditHolder {
        member: UserId::generate(),
        group: GroupId::generate(),
        key: Some(ApiKeyBudget { key: ApiKeyId::generate(), weekly }),
        limits: CreditLimits::default(),
    };

    assert!(budget(0).is_unlimited());
    assert!(!budget(1).is_unlimited());
}
