//! Making the first administrator.

use futures_util::future::join_all;
use pia_identity::{
    Account, AccountStore, FirstAdminOutcome, FirstAdminStore, NewAccount, Role, RoleStore,
    SeatLimits,
};
use pia_kernel::SideEffects;
use pia_storage::Database;
use pia_storage_identity::{SqlAccounts, SqlFirstAdmin, SqlRoles};

use crate::people::{START, audited, newcomer, person};

pia_testkit::contract! {
    of_many_first_administrators_at_once_one_is_made,
    there_is_a_first_administrator_once_one_was_made_or_granted,
    the_first_administrator_takes_nobodys_address_and_no_seat_that_is_not_there,
    beside_a_concurrent_grant_no_more_administrators_are_made_than_allowed,
}

fn admin(email: &str) -> NewAccount {
    let new = newcomer(email);
    let account =
        Account { role: Role::Admin, email_verified_at: Some(START), ..new.account.clone() };
    NewAccount { account, ..new }
}

async fn of_many_first_administrators_at_once_one_is_made(db: Database) {
    let store = SqlFirstAdmin::new(db.clone());
    assert!(!store.exists().await.unwrap());

    let all = (0..16).map(|n| {
        let new = admin(&format!("{n}@example.org"));
        let effects = SideEffects::audit(START, new.account.user, "made");
        store.create_first_admin(new, SeatLimits::default(), effects)
    });
    let outcomes: Vec<_> = join_all(all).await.into_iter().map(Result::unwrap).collect();

    let stored = outcomes.iter().filter(|it| **it == FirstAdminOutcome::Stored).count();
    let late = outcomes.iter().filter(|it| **it == FirstAdminOutcome::AlreadySetUp).count();
    let admins = SqlRoles::new(db.clone()).admins().await.unwrap();
    assert_eq!((stored, late, admins.len()), (1, 15, 1));
    assert!(store.exists().await.unwrap());
    assert_eq!(audited(&db, admins[0].user, "made").await, 1);
}

async fn there_is_a_first_administrator_once_one_was_made_or_granted(db: Database) {
    let (store, roles) = (SqlFirstAdmin::new(db.clone()), SqlRoles::new(db.clone()));
    let user = person(&db, "ada@example.org").await;

    roles.set_role(user, Role::OrgManager, None, SideEffects::default()).await.unwrap();
    let before = store.exists().await.unwrap();
    roles.set_role(user, Role::Admin, None, SideEffects::default()).await.unwrap();
    let after = store.exists().await.unwrap();
    let late = store.create_first_admin(
        admin("b@example.org"),
        SeatLimits::default(),
        SideEffects::default(),
    );

    assert_eq!((before, after), (false, true));
    assert_eq!(late.await.unwrap(), FirstAdminOutcome::AlreadySetUp);
}

async fn the_first_administrator_takes_nobodys_address_and_no_seat_that_is_not_there(db: Database) {
    let store = SqlFirstAdmin::new(db.clone());
    let user = person(&db, "ada@example.org").await;
    let limits = |accounts, admins| SeatLimits { accounts: Some(accounts), admins: Some(admins) };
    let appoint = async |email, limits| {
        store.create_first_admin(admin(email), limits, SideEffects::default()).await.unwrap()
    };

    let taken = appoint("ADA@example.org", limits(9, 9)).await;
    let full = appoint("b@example.org", limits(1, 9)).await;
    let none = appoint("b@example.org", limits(9, 0)).await;
    let made = appoint("b@example.org", limits(2, 1)).await;

    assert_eq!((taken, made), (FirstAdminOutcome::EmailTaken, FirstAdminOutcome::Stored));
    assert_eq!((full, none), (FirstAdminOutcome::SeatsTaken, FirstAdminOutcome::SeatsTaken));
    let ada = SqlAccounts::new(db.clone()).find(user).await.unwrap().unwrap();
    assert_eq!(ada.role, Role::User);
}

async fn beside_a_concurrent_grant_no_more_administrators_are_made_than_allowed(db: Database) {
    let (store, roles) = (SqlFirstAdmin::new(db.clone()), SqlRoles::new(db.clone()));
    let user = person(&db, "ada@example.org").await;

    let limits = SeatLimits { accounts: None, admins: Some(1) };
    let appoint = store.create_first_admin(admin("b@example.org"), limits, SideEffects::default());
    let grant = roles.set_role(user, Role::Admin, Some(1), SideEffects::default());
    let (appointed, granted) = futures_util::join!(appoint, grant);

    appointed.unwrap();
    granted.unwrap();
    assert_eq!(roles.admins().await.unwrap().len(), 1);
}
