//! Contract tests of admission by cached windows.

use pia_assistant::{AdmissionOutcome, CreditHolder, CreditStore};
use pia_kernel::{CreditLimits, SideEffects};
use pia_storage::{Database, DatabaseKind};
use pia_storage_assistant::SqlCreditStore;
use tokio_util::task::TaskTracker;

use crate::credit_stores::{
    admit, assert_no_mismatches, create_member, credits, refusal_of, request, start,
    wait_until_settled, window_counts,
};

pia_testkit::contract! {
    undisturbed_calls_are_admitted_in_one_statement,
    a_window_that_another_instance_changed_is_read_again,
    alternating_instances_never_exceed_the_limit,
    a_top_up_by_another_instance_is_available_at_once,
}

const GROUPS: CreditLimits =
    CreditLimits { hourly: 20, group_weekly: 20, daily: 0, weekly: 0, group_daily: 0, pool: false };

async fn max_reserved(credit_store: &SqlCreditStore, holder: CreditHolder) -> i64 {
    window_counts(credit_store, holder).await.into_iter().map(|it| it.reserved).max().unwrap()
}

async fn undisturbed_calls_are_admitted_in_one_statement(db: Database) {
    let credit_store = start(&db, &TaskTracker::new());
    let ada = create_member(&db, GROUPS).await;

    let mut reservations = Vec::new();
    for _ in 0..5 {
        reservations.push(admit(&credit_store, request(ada, 2)).await);
    }

    // The first call reads the windows, which the others find in the cache.
    let optimistic_count = if db.provider() == DatabaseKind::Postgres { 4 } else { 0 };
    assert_eq!(credit_store.counts().optimistic_transactions, optimistic_count);
    assert_eq!(max_reserved(&credit_store, ada).await, 10);
    assert_no_mismatches(&credit_store).await;

    for reservation in reservations {
        reservation.settle(credits(1), None);
    }
    wait_until_settled(&credit_store).await;
    let counts = window_counts(&credit_store, ada).await;
    assert!(counts.iter().all(|it| it.used == 5 && it.reserved == 0), "{counts:?}");

    drop(admit(&credit_store, request(ada, 2)).await);
    wait_until_settled(&credit_store).await;
    assert_eq!(
        credit_store.counts().optimistic_transactions,
        optimistic_count + u64::from(optimistic_count > 0)
    );
    assert_no_mismatches(&credit_store).await;
}

async fn a_window_that_another_instance_changed_is_read_again(db: Database) {
    let tasks = TaskTracker::new();
    let first_store = start(&db, &tasks);
    let second_store = start(&db, &tasks);
    let ada = create_member(&db, GROUPS).await;
    let bob = create_member(&db, GROUPS).await;
    let _open_calls =
        [admit(&first_store, request(ada, 2)).await, admit(&second_store, request(bob, 2)).await];
    let count_before = first_store.counts().optimistic_transactions;

    // The group's window has changed, though the caller's has not.
    let _third_call = admit(&first_store, request(ada, 2)).await;

    assert_eq!(first_store.counts().optimistic_transactions, count_before);
    assert_eq!(max_reserved(&first_store, ada).await, 6);
    assert_eq!(max_reserved(&first_store, bob).await, 6);
    assert_no_mismatches(&first_store).await;
}

async fn alternating_instances_never_exceed_the_limit(db: Database) {
    let tasks = TaskTracker::new();
    let stores = [start(&db, &tasks), start(&db, &tasks), start(&db, &tasks)];
    let ada = create_member(&db, GROUPS).await;

    let mut reservations = Vec::new();
    // Some take turns, some come several times, and so know what they wrote.
    for at in [0, 1, 0, 0, 1, 2, 2, 2, 0, 1, 1, 2, 0] {
        match stores[at].admit(request(ada, 2)).await.unwrap() {
            AdmissionOutcome::Granted { reservation, output, .. } => {
                reservations.push((reservation, output));
            }
            AdmissionOutcome::Refused(_) => {}
        }
        assert_no_mismatches(&stores[0]).await;
    }

    assert_eq!(reservations.len(), 10);
    assert!(reservations.iter().all(|(_, output)| *output == 2000));
    assert_eq!(max_reserved(&stores[1], ada).await, 20);
}

async fn a_top_up_by_another_instance_is_available_at_once(db: Database) {
    let tasks = TaskTracker::new();
    let store = start(&db, &tasks);
    let store_of_top_up = start(&db, &tasks);
    let ada = create_member(&db, CreditLimits { weekly: 4, ..CreditLimits::default() }).await;
    let _calls_of_allowance =
        [admit(&store, request(ada, 2)).await, admit(&store, request(ada, 2)).await];
    refusal_of(&store, request(ada, 2)).await;

    store_of_top_up.top_up(ada.group, credits(4), None, SideEffects::default()).await.unwrap();

    let _calls_of_top_up =
        [admit(&store, request(ada, 2)).await, admit(&store, request(ada, 2)).await];
    refusal_of(&store, request(ada, 2)).await;
    assert_no_mismatches(&store).await;
}
