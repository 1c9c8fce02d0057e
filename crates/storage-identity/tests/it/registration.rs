//! Contract tests of registrations.

use futures_util::future::join_all;
use pia_identity::{AccountCreationOutcome, AccountStore};
use pia_kernel::SideEffects;
use pia_storage::Database;
use pia_storage_identity::SqlAccounts;

use crate::people::{START, count_audited, create_person, deactivate, newcomer};

pia_testkit::contract! {
    one_of_concurrent_registrations_of_one_address_is_stored,
    concurrent_registrations_do_not_exceed_the_seats,
    a_deactivated_account_takes_no_seat_but_keeps_its_address,
    an_account_is_stored_with_its_effects,
    a_refused_registration_leaves_no_effects,
}

async fn one_of_concurrent_registrations_of_one_address_is_stored(db: Database) {
    let accounts = SqlAccounts::new(db);
    let spellings = ["jürgen@example.org", "JÜRGEN@example.org", " Jürgen@EXAMPLE.org "];

    let calls = spellings
        .into_iter()
        .cycle()
        .take(64)
        .map(|it| accounts.register(newcomer(it), Some(1000), SideEffects::default()));
    let outcomes: Vec<_> = join_all(calls).await.into_iter().map(Result::unwrap).collect();

    let stored_count = outcomes.iter().filter(|it| **it == AccountCreationOutcome::Stored).count();
    let taken_count =
        outcomes.iter().filter(|it| **it == AccountCreationOutcome::EmailTaken).count();
    assert_eq!(stored_count, 1);
    assert_eq!(taken_count, 63);
}

async fn concurrent_registrations_do_not_exceed_the_seats(db: Database) {
    let accounts = SqlAccounts::new(db);

    let calls = (0..64).map(|n| {
        accounts.register(newcomer(&format!("{n}@example.org")), Some(10), SideEffects::default())
    });
    let outcomes: Vec<_> = join_all(calls).await.into_iter().map(Result::unwrap).collect();

    let stored_count = outcomes.iter().filter(|it| **it == AccountCreationOutcome::Stored).count();
    let full_count =
        outcomes.iter().filter(|it| **it == AccountCreationOutcome::SeatsTaken).count();
    assert_eq!(stored_count, 10);
    assert_eq!(full_count, 54);
}

async fn a_deactivated_account_takes_no_seat_but_keeps_its_address(db: Database) {
    let accounts = SqlAccounts::new(db.clone());
    let former_user = create_person(&db, "gone@example.org").await;
    deactivate(&db, former_user).await;

    let taken_address =
        accounts.register(newcomer("gone@example.org"), Some(1), SideEffects::default()).await;
    let new_address =
        accounts.register(newcomer("new@example.org"), Some(1), SideEffects::default()).await;

    assert_eq!(taken_address.unwrap(), AccountCreationOutcome::EmailTaken);
    assert_eq!(new_address.unwrap(), AccountCreationOutcome::Stored);
}

async fn an_account_is_stored_with_its_effects(db: Database) {
    let accounts = SqlAccounts::new(db.clone());
    let new_account = newcomer("Ada@Example.org");
    let account = new_account.account.clone();
    let user = new_account.account.user;

    accounts.register(new_account, None, SideEffects::audit(START, user, "made")).await.unwrap();

    assert_eq!(accounts.find(user).await.unwrap(), Some(account));
    assert_eq!(count_audited(&db, user, "made").await, 1);
}

async fn a_refused_registration_leaves_no_effects(db: Database) {
    let accounts = SqlAccounts::new(db.clone());
    create_person(&db, "ada@example.org").await;
    let namesake = newcomer("ADA@example.org");
    let latecomer = newcomer("late@example.org");
    let namesake_id = namesake.account.user;
    let latecomer_id = latecomer.account.user;

    let effects = SideEffects::audit(START, namesake_id, "made");
    let taken = accounts.register(namesake, None, effects).await;
    let effects = SideEffects::audit(START, latecomer_id, "made");
    let full = accounts.register(latecomer, Some(1), effects).await;

    assert_eq!(taken.unwrap(), AccountCreationOutcome::EmailTaken);
    assert_eq!(full.unwrap(), AccountCreationOutcome::SeatsTaken);
    assert_eq!(count_audited(&db, namesake_id, "made").await, 0);
    assert_eq!(count_audited(&db, latecomer_id, "made").await, 0);
    assert_eq!(accounts.find(latecomer_id).await.unwrap(), None);
}
