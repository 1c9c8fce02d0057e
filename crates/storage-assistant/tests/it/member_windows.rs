//! Contract tests of the windows of a group's members.

use std::sync::Arc;
use std::time::Duration;

use pia_assistant::{CreditStore, Window};
use pia_kernel::{BudgetPeriod, CreditLimits, GroupId, Timestamp};
use pia_storage::Database;
use pia_testkit::ManualClock;
use tokio_util::task::TaskTracker;

use crate::credit_stores::{
    admit, create_member, credits, default_group, execute, request, start_at, wait_until_settled,
};

pia_testkit::contract! {
    current_windows_of_members_who_called_lately_are_loaded,
}

/// Start of the test in seconds since 1970: 15 January 2027, a Friday.
const START: i64 = 1_800_000_000;

async fn current_windows_of_members_who_called_lately_are_loaded(db: Database) {
    let clock = Arc::new(ManualClock::new(Timestamp::from_micros(START * 1_000_000)));
    let store = start_at(&db, Arc::<ManualClock>::clone(&clock), &TaskTracker::new());
    let limits =
        CreditLimits { hourly: 10, weekly: 20, group_daily: 30, ..CreditLimits::default() };
    let ada = create_member(&db, limits).await;
    let bob = create_member(&db, limits).await;
    let eve = create_member(&db, limits).await;
    for (holder, spent) in [(ada, 2), (bob, 3), (eve, 4)] {
        admit(&store, request(holder, spent)).await.settle(credits(spent), None);
    }
    wait_until_settled(&store).await;
    // Eve's calls are forgotten, as if they were older.
    let recent_callers = format!(
        "INSERT INTO usage_users SELECT id, {} FROM accounts WHERE email <> '{}'",
        START / 86_400,
        eve.member
    );
    execute(&db, &recent_callers).await;

    let load = async |group, period| {
        let windows = store.load_member_windows(group, period).await.unwrap();
        let columns = |it: Window| (it.key.owner, it.used.rounded_up());
        windows.into_iter().map(columns).collect::<Vec<_>>()
    };
    let owners = [bob.member.0, ada.member.0];
    let used_amounts = |amounts: [i64; 2]| owners.into_iter().zip(amounts).collect::<Vec<_>>();
    let group = default_group();

    assert_eq!(load(group, BudgetPeriod::Hourly).await, used_amounts([3, 2]));
    assert_eq!(load(group, BudgetPeriod::Daily).await, []);
    assert_eq!(load(GroupId::generate(), BudgetPeriod::Hourly).await, []);

    clock.advance(Duration::from_mins(62));
    assert_eq!(load(group, BudgetPeriod::Hourly).await, used_amounts([0, 0]));
    assert_eq!(load(group, BudgetPeriod::Weekly).await, used_amounts([3, 2]));

    clock.advance(Duration::from_hours(9 * 24));
    assert_eq!(load(group, BudgetPeriod::Hourly).await, []);
    assert_eq!(load(group, BudgetPeriod::Weekly).await, []);
}
