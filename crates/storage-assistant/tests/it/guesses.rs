//! Contract tests of admission by cached windows.

use pia_assistant::{AdmissionOutcome, CreditHolder, CreditStore};
use pia_kernel::{CreditLimits, SideEffects};
use pia_storage::{Database, DatabaseKind};
use pia_storage_assistant::SqlCreditStore;
use tokio_util::task::TaskTracker;

use crate::credit_stores::{
    admitted, counted, credits, member, refused, request, settled, sound, start,
};

pia_testkit::contract! {
    undisturbed_calls_are_admitted_in_one_statement,
    a_window_that_another_instance_changed_is_read_again,
    alternating_instances_never_exceed_the_limit,
    a_top_up_by_another_instance_is_available_at_once,
}

const GROUPS: CreditLimits =
    CreditLimits { hourly: 20, group_weekly: 20, daily: 0, weekly: 0, group_daily: 0, pool: false };

async fn reserved(credit_store: &SqlCreditStore, holder: CreditHolder) -> i64 {
    counted(credit_store, holder).await.into_iter().map(|it| it.2).max().unwrap()
}

async fn undisturbed_calls_are_admitted_in_one_statement(db: Database) {
    let credit_store = start(&db, &TaskTracker::new());
    let ada = member(&db, GROUPS).await;

    let mut reservations = Vec::new();
    for _ in 0..5 {
        reservations.push(admitted(&credit_store, request(ada, 2)).await);
    }

    let guessed = if db.provider() == DatabaseKind::Postgres { 4 } else { 0 };
    assert_eq!(credit_store.counts().guessed, guessed);
    assert_eq!(reserved(&credit_store, ada).await, 10);
    sound(&credit_store).await;
    for reservation in reservations {
        reservation.settle(credits(1), None);
    }
    settled(&credit_store).await;
    assert!(counted(&credit_store, ada).await.iter().all(|it| (it.1, it.2) == (5, 0)));

    drop(admitted(&credit_store, request(ada, 2)).await);
    settled(&credit_store).await;
    assert_eq!(credit_store.counts().guessed, guessed + u64::from(guessed > 0));
    sound(&credit_store).await;
}

async fn a_window_that_another_instance_changed_is_read_again(db: Database) {
    let tasks = TaskTracker::new();
    let one = start(&db, &tasks);
    let other = start(&db, &tasks);
    let ada = member(&db, GROUPS).await;
    let bob = member(&db, GROUPS).await;
    let _first = admitted(&one, request(ada, 2)).await;
    let _second = admitted(&other, request(bob, 2)).await;
    let before = one.counts().guessed;

    // The group's window has changed, though the caller's has not.
    let _third = admitted(&one, request(ada, 2)).await;

    assert_eq!(one.counts().guessed, before);
    assert_eq!((reserved(&one, ada).await, reserved(&one, bob).await), (6, 6));
    sound(&one).await;
}

async fn alternating_instances_never_exceed_the_limit(db: Database) {
    let tasks = TaskTracker::new();
    let stores = [start(&db, &tasks), start(&db, &tasks), start(&db, &tasks)];
    let ada = member(&db, GROUPS).await;

    let mut reservations = Vec::new();
    // Some take turns, some come several times, and so know what they wrote.
    for at in [0, 1, 0, 0, 1, 2, 2, 2, 0, 1, 1, 2, 0] {
        match stores[at].admit(request(ada, 2)).await.unwrap() {
            AdmissionOutcome::Granted { reservation, output, .. } => {
                reservations.push((reservation, output));
            }
            AdmissionOutcome::Refused(_) => {}
        }
        sound(&stores[0]).await;
    }

    assert_eq!(reservations.len(), 10);
    assert!(reservations.iter().all(|(_, output)| *output == 2000));
    assert_eq!(reserved(&stores[1], ada).await, 20);
}

async fn a_top_up_by_another_instance_is_available_at_once(db: Database) {
    let tasks = TaskTracker::new();
    let one = start(&db, &tasks);
    let other = start(&db, &tasks);
    let ada = member(&db, CreditLimits { weekly: 4, ..CreditLimits::default() }).await;
    let _all = [admitted(&one, request(ada, 2)).await, admitted(&one, request(ada, 2)).await];
    refused(&one, request(ada, 2)).await;

    other.top_up(ada.group, credits(4), SideEffects::default()).await.unwrap();

    let _more = [admitted(&one, request(ada, 2)).await, admitted(&one, request(ada, 2)).await];
    refused(&one, request(ada, 2)).await;
    sound(&one).await;
}
