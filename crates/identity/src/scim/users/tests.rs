//! Users of SCIM clients: creation, changes, deactivation.

use pia_kernel::{GroupId, Timestamp};
use pia_testkit::FixedClock;

use super::*;
use crate::people::account::CallerState;
use crate::ports::{
    ActivationChange, DeactivationOutcome, MockAccountStore, MockRoleStore, MockScimUserStore,
    MockSeats,
};
use crate::sessions::caller_cache::CallerCache;

const NOW: Timestamp = Timestamp::UNIX_EPOCH;

fn users(store: MockScimUserStore, role_store: MockRoleStore) -> ScimUsers {
    let clock = Arc::new(FixedClock(NOW));
    let mut accounts = MockAccountStore::new();
    accounts.expect_caller_state().returning(|user, it, _| Ok(Some(CallerState::new(user, it))));
    let cache = CallerCache::new(Arc::new(accounts), Arc::<FixedClock>::clone(&clock));
    let mut seats = MockSeats::new();
    seats.expect_limit().return_const(Some(10));
    seats.expect_admins().return_const(Some(2));
    let seats: Arc<dyn Seats> = Arc::new(seats);
    let roles = Roles::new(
        Arc::new(role_store),
        Arc::clone(&seats),
        cache,
        Arc::<FixedClock>::clone(&clock),
    );
    let rules = LiveSetting::new(RegistrationRules::default());
    ScimUsers::new(ScimUserPorts { store: Arc::new(store), seats, rules, roles, clock })
}

fn ada(user: UserId, is_active: bool) -> ScimUser {
    let attributes = ScimUserAttributes::new(&[name("ada@example.org")]).unwrap();
    ScimUser {
        user,
        attributes,
        is_active,
        group: GroupId::generate(),
        group_name: "Default".to_owned(),
        created_at: NOW,
        updated_at: NOW,
    }
}

fn name(name: &str) -> ScimUserChange {
    ScimUserChange::UserName(name.to_owned())
}

fn update(is_active: Option<bool>) -> ScimUserUpdate {
    ScimUserUpdate { changes: vec![name("ada@example.org")], is_active }
}

#[tokio::test]
async fn a_user_is_deactivated_as_administrators_do_and_with_the_other_changes() {
    let user = UserId::generate();
    let mut store = MockScimUserStore::new();
    let change = store.expect_change().withf(move |edit| {
        let Some(ActivationChange::Deactivate(effects)) = &edit.activation else { return false };
        edit.changes == [name("ada@example.org")]
            && effects.audit[0].action == "account.deactivated"
            && effects.mail.len() == 1
    });
    change.once().returning(move |_| Ok(ScimUserChangeOutcome::Done(Box::new(ada(user, false)))));

    let users = users(store, MockRoleStore::new());
    let changed_user = users.change(user, None, update(Some(false))).await.unwrap();

    assert!(!changed_user.is_active);
}

#[tokio::test]
async fn a_user_is_reactivated_within_the_licence() {
    let mut store = MockScimUserStore::new();
    let limits = SeatLimits { accounts: Some(10), admins: Some(2) };
    store
        .expect_change()
        .withf(move |edit| {
            let Some(ActivationChange::Reactivate(actual, _)) = &edit.activation else {
                return false;
            };
            *actual == limits
        })
        .returning(|_| Ok(ScimUserChangeOutcome::SeatsTaken));

    let users = users(store, MockRoleStore::new());
    let outcome = users.change(UserId::generate(), None, update(Some(true))).await;

    assert!(matches!(outcome, Err(ScimUserError::SeatsTaken { limit: 10 })), "{outcome:?}");
}

#[tokio::test]
async fn a_user_created_again_is_reactivated_with_their_data() {
    let user = UserId::generate();
    let mut store = MockScimUserStore::new();
    store.expect_create().returning(move |_, _, _| Ok(ScimUserCreationOutcome::Restored(user)));
    let change = store.expect_change().withf(move |edit| {
        edit.user == user && matches!(edit.activation, Some(ActivationChange::Reactivate(..)))
    });
    change.once().returning(move |_| Ok(ScimUserChangeOutcome::Done(Box::new(ada(user, true)))));

    let new_user = users(store, MockRoleStore::new()).create(update(None)).await.unwrap();

    assert_eq!(new_user.user, user);
}

#[tokio::test]
async fn the_last_administrator_is_not_deleted() {
    let mut store = MockScimUserStore::new();
    store.expect_find().returning(|it| Ok(Some(ada(it, true))));
    store.expect_withdraw().never();
    let mut roles = MockRoleStore::new();
    roles.expect_deactivate().returning(|_, _, _| Ok(DeactivationOutcome::LastAdmin));

    let result = users(store, roles).delete(UserId::generate()).await;

    assert!(matches!(result, Err(ScimUserError::Role(RoleError::LastAdmin))), "{result:?}");
}

#[tokio::test]
async fn suspended_registration_and_seats_bind_provisioning_too() {
    let mut store = MockScimUserStore::new();
    store
        .expect_create()
        .withf(|_, seats, _| *seats == Some(10))
        .returning(|_, _, _| Ok(ScimUserCreationOutcome::SeatsTaken));
    let users = users(store, MockRoleStore::new());

    let outcome = users.create(update(None)).await;
    users.0.rules.set(RegistrationRules { suspended: true, ..RegistrationRules::default() });
    let suspended = users.create(update(None)).await;

    assert!(matches!(outcome, Err(ScimUserError::SeatsTaken { limit: 10 })), "{outcome:?}");
    assert!(matches!(suspended, Err(ScimUserError::Suspended)), "{suspended:?}");
}
