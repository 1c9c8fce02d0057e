//! Contract tests of the budgets of groups that are nearly used up.

use std::sync::Arc;
use std::time::Duration;

use pia_assistant::{CreditStore, GroupBudget, Micros};
use pia_kernel::{BudgetPeriod, CreditLimits, Timestamp};
use pia_storage::Database;
use pia_testkit::ManualClock;
use tokio_util::task::TaskTracker;

use crate::credit_stores::{
    admit, create_member, credits, default_group, execute, request, start_at, wait_until_settled,
};

pia_testkit::contract! {
    budgets_are_found_while_they_are_nearly_used_up,
}

async fn budgets_are_found_while_they_are_nearly_used_up(db: Database) {
    let clock = Arc::new(ManualClock::new(Timestamp::from_micros(1_800_000_000_000_000)));
    let store = start_at(&db, Arc::<ManualClock>::clone(&clock), &TaskTracker::new());
    let limits =
        CreditLimits { hourly: 10, group_daily: 10, group_weekly: 11, ..CreditLimits::default() };
    let ada = create_member(&db, limits).await;
    let group = default_group();
    let insert = "INSERT INTO group_settings (group_id, credits_hourly, credits_daily, \
                  credits_weekly, credits_group_daily, credits_group_weekly, credits_pool, \
                  mode_entries, persona_entries, models) \
                  SELECT id, 1, 0, 0, 10, 11, FALSE, '{}', '{}', '[]' FROM user_groups";
    execute(&db, insert).await;
    let find = async || {
        let budgets = store.load_group_budgets(Micros(800_000)).await.unwrap();
        let columns = |it: GroupBudget| (it.group, it.period, it.limit, it.percent());
        budgets.into_iter().map(columns).collect::<Vec<_>>()
    };
    let daily = BudgetPeriod::GroupDaily;
    let weekly = BudgetPeriod::GroupWeekly;

    admit(&store, request(ada, 7)).await.settle(credits(7), None);
    wait_until_settled(&store).await;
    let below = find().await;
    admit(&store, request(ada, 1)).await.settle(credits(1), None);
    wait_until_settled(&store).await;
    let reached = find().await;
    clock.advance(Duration::from_mins(61));
    admit(&store, request(ada, 2)).await.settle(credits(2), None);
    wait_until_settled(&store).await;
    let both = find().await;
    clock.advance(Duration::from_hours(25));
    let next_day = find().await;
    clock.advance(Duration::from_hours(7 * 24));
    let next_week = find().await;

    assert_eq!(below, []);
    assert_eq!(reached, [(group, daily, 10, 80)]);
    assert_eq!(both, [(group, daily, 10, 100), (group, weekly, 11, 90)]);
    assert_eq!(next_day, [(group, weekly, 11, 90)]);
    assert_eq!(next_week, []);
    execute(&db, "UPDATE group_settings SET credits_group_daily = 0").await;
    assert_eq!(find().await, []);
}
