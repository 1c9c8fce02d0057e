//! Contract tests of creating the first administrator.

use futures_util::future::join_all;
use pia_identity::{
    Account, AccountStore, FirstAdminOutcome, FirstAdminStore, NewAccount, Role, RoleStore,
    SeatLimits,
};
use pia_kernel::SideEffects;
use pia_storage::Database;
use pia_storage_identity::{SqlAccounts, SqlFirstAdmin, SqlRoles};

use crate::people::{START, count_audited, create_person, newcomer};

pia_testkit::contract! {
    one_of_concurrent_first_administrators_is_created,
    a_first_administrator_exists_once_created_or_granted,
    the_first_administrator_needs_a_free_address_and_seat,
    a_concurrent_grant_does_not_exceed_the_limit_of_administrators,
}

fn admin(email: &str) -> NewAccount {
    let new_account = newcomer(email);
    let account = Account {
        role: Role::Admin,
        email_verified_at: Some(START),
        ..new_account.account.clone()
    };
    NewAccount { account, ..new_account }
}

async fn one_of_concurrent_first_administrators_is_created(db: Database) {
    let store = SqlFirstAdmin::new(db.clone());
    assert!(!store.exists().await.unwrap());

    let calls = (0..16).map(|n| {
        let new_account = admin(&format!("{n}@example.org"));
        let effects = SideEffects::audit(START, new_account.account.user, "made");
        store.create_first_admin(new_account, SeatLimits::default(), effects)
    });
    let outcomes: Vec<_> = join_all(calls).await.into_iter().map(Result::unwrap).collect();

    let stored_count = outcomes.iter().filter(|it| **it == FirstAdminOutcome::Stored).count();
    let late_count = outcomes.iter().filter(|it| **it == FirstAdminOutcome::AlreadySetUp).count();
    let admins = SqlRoles::new(db.clone()).admins().await.unwrap();
    assert_eq!(stored_count, 1);
    assert_eq!(late_count, 15);
    assert_eq!(admins.len(), 1);
    assert!(store.exists().await.unwrap());
    assert_eq!(count_audited(&db, admins[0].user, "made").await, 1);
}

async fn a_first_administrator_exists_once_created_or_granted(db: Database) {
    let store = SqlFirstAdmin::new(db.clone());
    let roles = SqlRoles::new(db.clone());
    let user = create_person(&db, "ada@example.org").await;

    roles.set_role(user, Role::OrgManager, None, SideEffects::default()).await.unwrap();
    let existed_before = store.exists().await.unwrap();
    roles.set_role(user, Role::Admin, None, SideEffects::default()).await.unwrap();
    let exists_after = store.exists().await.unwrap();
    let late_creation = store.create_first_admin(
        admin("b@example.org"),
        SeatLimits::default(),
        SideEffects::default(),
    );

    assert!(!existed_before);
    assert!(exists_after);
    assert_eq!(late_creation.await.unwrap(), FirstAdminOutcome::AlreadySetUp);
}

async fn the_first_administrator_needs_a_free_address_and_seat(db: Database) {
    let store = SqlFirstAdmin::new(db.clone());
    let user = create_person(&db, "ada@example.org").await;
    let limits = |accounts, admins| SeatLimits { accounts: Some(accounts), admins: Some(admins) };
    let create = async |email, limits| {
        store.create_first_admin(admin(email), limits, SideEffects::default()).await.unwrap()
    };

    let conflict_outcome = create("ADA@example.org", limits(9, 9)).await;
    let full_outcome = create("b@example.org", limits(1, 9)).await;
    let empty_outcome = create("b@example.org", limits(9, 0)).await;
    let outcome = create("b@example.org", limits(2, 1)).await;

    assert_eq!(conflict_outcome, FirstAdminOutcome::EmailTaken);
    assert_eq!(outcome, FirstAdminOutcome::Stored);
    assert_eq!(full_outcome, FirstAdminOutcome::SeatsTaken);
    assert_eq!(empty_outcome, FirstAdminOutcome::SeatsTaken);
    let ada = SqlAccounts::new(db.clone()).find(user).await.unwrap().unwrap();
    assert_eq!(ada.role, Role::User);
}

async fn a_concurrent_grant_does_not_exceed_the_limit_of_administrators(db: Database) {
    let store = SqlFirstAdmin::new(db.clone());
    let roles = SqlRoles::new(db.clone());
    let user = create_person(&db, "ada@example.org").await;

    let limits = SeatLimits { accounts: None, admins: Some(1) };
    let create = store.create_first_admin(admin("b@example.org"), limits, SideEffects::default());
    let grant = roles.set_role(user, Role::Admin, Some(1), SideEffects::default());
    let (created, granted) = futures_util::join!(create, grant);

    created.unwrap();
    granted.unwrap();
    assert_eq!(roles.admins().await.unwrap().len(), 1);
}
