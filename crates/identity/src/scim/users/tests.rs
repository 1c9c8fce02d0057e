//! Users of SCIM clients: creation, changes, deactivation.

use pia_kernel::{GroupId, Timestamp};
use pia_testkit::FixedClock;

use super::*;
use crate::people::account::CallerState;
use crate::ports::{
    Deactivation, MockAccountStore, MockRoleStore, MockScimUserStore, MockSeats, Reactivation,
};
use crate::sessions::caller_cache::CallerCache;

const NOW: Timestamp = Timestamp::UNIX_EPOCH;

fn users(store: MockScimUserStore, roles: MockRoleStore) -> ScimUsers {
    let clock = Arc::new(FixedClock(NOW));
    let mut accounts = MockAccountStore::new();
    accounts.expect_standing().returning(|user, it, _| Ok(Some(CallerState::new(user, it))));
    let cache = CallerCache::new(Arc::new(accounts), Arc::<FixedClock>::clone(&clock));
    let mut seats = MockSeats::new();
    seats.expect_limit().return_const(Some(10));
    seats.expect_admins().return_const(Some(2));
    let seats: Arc<dyn Seats> = Arc::new(seats);
    let roles =
        Roles::new(Arc::new(roles), Arc::clone(&seats), cache, Arc::<FixedClock>::clone(&clock));
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
async fn a_deactivated_user_is_signed_out_by_the_use_case_of_administrators() {
    let user = UserId::generate();
    let mut store = MockScimUserStore::new();
    store.expect_change().returning(move |_| Ok(ScimUserChanged::Done(Box::new(ada(user, true)))));
    store.expect_find().returning(move |_| Ok(Some(ada(user, false))));
    let mut roles = MockRoleStore::new();
    let deactivate = roles.expect_deactivate().withf(move |it, _, _| *it == user);
    deactivate.once().returning(|_, _, _| Ok(Deactivation::Done));

    let changed = users(store, roles).change(user, None, update(Some(false))).await.unwrap();

    assert!(!changed.is_active);
}

#[tokio::test]
async fn a_stale_version_deactivates_nobody() {
    let mut store = MockScimUserStore::new();
    store.expect_change().returning(|_| Ok(ScimUserChanged::Stale));
    let mut roles = MockRoleStore::new();
    roles.expect_deactivate().never();

    let expected = Some("old".to_owned());
    let changed =
        users(store, roles).change(UserId::generate(), expected, update(Some(false))).await;

    assert!(matches!(changed, Err(ScimUserError::Stale)), "{changed:?}");
}

#[tokio::test]
async fn a_user_created_again_is_reactivated_with_their_data() {
    let user = UserId::generate();
    let mut store = MockScimUserStore::new();
    store.expect_create().returning(move |_, _, _| Ok(ScimUserCreated::Restored(user)));
    store.expect_find().returning(move |it| Ok(Some(ada(it, true))));
    let mut roles = MockRoleStore::new();
    let reactivate = roles.expect_reactivate().withf(move |it, _, _| *it == user);
    reactivate.once().returning(|_, _, _| Ok(Reactivation::Done));

    let created = users(store, roles).create(update(None)).await.unwrap();

    assert_eq!(created.user, user);
}

#[tokio::test]
async fn the_last_administrator_is_not_deleted() {
    let mut store = MockScimUserStore::new();
    store.expect_find().returning(|it| Ok(Some(ada(it, true))));
    store.expect_withdraw().never();
    let mut roles = MockRoleStore::new();
    roles.expect_deactivate().returning(|_, _, _| Ok(Deactivation::LastAdmin));

    let deleted = users(store, roles).delete(UserId::generate()).await;

    assert!(matches!(deleted, Err(ScimUserError::Role(RoleError::LastAdmin))), "{deleted:?}");
}

#[tokio::test]
async fn suspended_registration_and_seats_bind_provisioning_too() {
    let mut store = MockScimUserStore::new();
    store
        .expect_create()
        .withf(|_, seats, _| *seats == Some(10))
        .returning(|_, _, _| Ok(ScimUserCreated::SeatsTaken));
    let users = users(store, MockRoleStore::new());

    let full = users.create(update(None)).await;
    users.0.rules.set(RegistrationRules { suspended: true, ..RegistrationRules::default() });
    let suspended = users.create(update(None)).await;

    assert!(matches!(full, Err(ScimUserError::SeatsTaken { limit: 10 })), "{full:?}");
    assert!(matches!(suspended, Err(ScimUserError::Suspended)), "{suspended:?}");
}
