//! Admitting calls by what windows were when they were last seen.

use pia_assistant::{Admission, CreditHolder, CreditStore};
use pia_kernel::{CreditLimits, SideEffects};
use pia_storage::{Database, DatabaseKind};
use pia_storage_assistant::SqlCreditStore;
use tokio_util::task::TaskTracker;

use crate::banks::{admitted, ask, counted, credits, member, refused, settled, sound, start};

pia_testkit::contract! {
    calls_are_admitted_in_one_statement_where_nobody_disturbs_them,
    a_window_that_another_instance_changed_is_read_again,
    instances_that_take_turns_never_pass_the_limit,
    what_was_topped_up_elsewhere_is_there_at_once,
}

const GROUPS: CreditLimits =
    CreditLimits { hourly: 20, group_weekly: 20, daily: 0, weekly: 0, group_daily: 0, pool: false };

async fn reserved(credit_store: &SqlCreditStore, holder: CreditHolder) -> i64 {
    counted(credit_store, holder).await.into_iter().map(|it| it.2).max().unwrap()
}

async fn calls_are_admitted_in_one_statement_where_nobody_disturbs_them(db: Database) {
    let credit_store = start(&db, &TaskTracker::new());
    let ada = member(&db, GROUPS).await;

    let mut holds = Vec::new();
    for _ in 0..5 {
        holds.push(admitted(&credit_store, ask(ada, 2)).await);
    }

    let guessed = if db.provider() == DatabaseKind::Postgres { 4 } else { 0 };
    assert_eq!(credit_store.counts().guessed, guessed);
    assert_eq!(reserved(&credit_store, ada).await, 10);
    sound(&credit_store).await;
    for hold in holds {
        hold.settle(credits(1), None);
    }
    settled(&credit_store).await;
    assert!(counted(&credit_store, ada).await.iter().all(|it| (it.1, it.2) == (5, 0)));

    drop(admitted(&credit_store, ask(ada, 2)).await);
    settled(&credit_store).await;
    assert_eq!(credit_store.counts().guessed, guessed + u64::from(guessed > 0));
    sound(&credit_store).await;
}

async fn a_window_that_another_instance_changed_is_read_again(db: Database) {
    let tasks = TaskTracker::new();
    let (one, other) = (start(&db, &tasks), start(&db, &tasks));
    let ada = member(&db, GROUPS).await;
    let bob = member(&db, GROUPS).await;
    let _first = admitted(&one, ask(ada, 2)).await;
    let _second = admitted(&other, ask(bob, 2)).await;
    let before = one.counts().guessed;

    // The group's window is not what it was, though its own caller's is.
    let _third = admitted(&one, ask(ada, 2)).await;

    assert_eq!(one.counts().guessed, before);
    assert_eq!((reserved(&one, ada).await, reserved(&one, bob).await), (6, 6));
    sound(&one).await;
}

async fn instances_that_take_turns_never_pass_the_limit(db: Database) {
    let tasks = TaskTracker::new();
    let banks = [start(&db, &tasks), start(&db, &tasks), start(&db, &tasks)];
    let ada = member(&db, GROUPS).await;

    let mut holds = Vec::new();
    // Some take turns, some come several times, and so know what they wrote.
    for at in [0, 1, 0, 0, 1, 2, 2, 2, 0, 1, 1, 2, 0] {
        match banks[at].admit(ask(ada, 2)).await.unwrap() {
            Admission::Granted { reservation: hold, output, .. } => holds.push((hold, output)),
            Admission::Refused(_) => {}
        }
        sound(&banks[0]).await;
    }

    assert_eq!(holds.len(), 10);
    assert!(holds.iter().all(|(_, output)| *output == 2000));
    assert_eq!(reserved(&banks[1], ada).await, 20);
}

async fn what_was_topped_up_elsewhere_is_there_at_once(db: Database) {
    let tasks = TaskTracker::new();
    let (one, other) = (start(&db, &tasks), start(&db, &tasks));
    let ada = member(&db, CreditLimits { weekly: 4, ..CreditLimits::default() }).await;
    let _all = [admitted(&one, ask(ada, 2)).await, admitted(&one, ask(ada, 2)).await];
    refused(&one, ask(ada, 2)).await;

    other.top_up(ada.group, credits(4), SideEffects::default()).await.unwrap();

    let _more = [admitted(&one, ask(ada, 2)).await, admitted(&one, ask(ada, 2)).await];
    refused(&one, ask(ada, 2)).await;
    sound(&one).await;
}
