//! Tests of the administration of roles.

use pia_kernel::SessionId;
use pia_testkit::FixedClock;

use super::*;
use crate::people::account::CallerState;
use crate::ports::{MockAccountStore, MockRoleStore, MockSeats};
use crate::sessions::access_tokens::SessionRef;

const NOW: Timestamp = Timestamp::UNIX_EPOCH;

fn roles(store: MockRoleStore) -> Roles {
    let mut accounts = MockAccountStore::new();
    accounts
        .expect_caller_state()
        .returning(|user, session, _| Ok(Some(CallerState::new(user, session))));
    let mut seats = MockSeats::new();
    seats.expect_limit().return_const(Some(25));
    seats.expect_admins().return_const(Some(2));
    let clock = Arc::new(FixedClock(NOW));
    let caller_cache = CallerCache::new(Arc::new(accounts), Arc::<FixedClock>::clone(&clock));
    Roles::new(Arc::new(store), Arc::new(seats), caller_cache, clock)
}

async fn cached_caller(roles: &Roles) -> SessionRef {
    let session_ref = SessionRef { user: UserId::generate(), session: SessionId::generate() };
    roles.caller_cache.fresh(session_ref).await.unwrap();
    assert!(roles.caller_cache.cached(session_ref).is_some());
    session_ref
}

#[tokio::test]
async fn a_role_is_granted_within_the_licence_with_an_audit_entry() {
    let by = UserId::generate();
    let user = UserId::generate();
    let mut store = MockRoleStore::new();
    store
        .expect_set_role()
        .withf(move |it, role, max, effects| {
            (*it, *role, *max) == (user, Role::Admin, Some(2))
                && *effects == audit_effects(NOW, Some(by), user, "role.admin_granted")
        })
        .once()
        .returning(|_, _, _, _| Ok(RoleChangeOutcome::Done));

    roles(store).grant(Some(by), user, Role::Admin).await.unwrap();
}

#[tokio::test]
async fn every_change_clears_the_users_cache() {
    let mut store = MockRoleStore::new();
    store.expect_set_role().returning(|_, _, _, _| Ok(RoleChangeOutcome::Done));
    store.expect_deactivate().returning(|_, _, _| Ok(DeactivationOutcome::Done));
    store.expect_reactivate().returning(|_, _, _| Ok(ReactivationOutcome::Done));
    let roles = roles(store);
    let callers =
        [cached_caller(&roles).await, cached_caller(&roles).await, cached_caller(&roles).await];

    roles.grant(None, callers[0].user, Role::User).await.unwrap();
    roles.deactivate(None, callers[1].user).await.unwrap();
    roles.reactivate(None, callers[2].user).await.unwrap();

    assert!(callers.iter().all(|it| roles.caller_cache.cached(*it).is_none()));
}

#[tokio::test]
async fn a_deactivated_user_is_emailed() {
    let user = UserId::generate();
    let mut store = MockRoleStore::new();
    store
        .expect_deactivate()
        .withf(move |_, _, effects| {
            let email = QueuedEmail::new("account-deactivated").to_user(NOW, user);
            effects.mail == [email] && effects.audit[0].action == "account.deactivated"
        })
        .once()
        .returning(|_, _, _| Ok(DeactivationOutcome::Done));

    roles(store).deactivate(None, user).await.unwrap();
}

#[tokio::test]
async fn every_refusal_has_its_error_and_limit() {
    let user = UserId::generate();
    let mut store = MockRoleStore::new();
    store.expect_set_role().returning(|_, _, _, _| Ok(RoleChangeOutcome::AdminsTaken));
    store.expect_deactivate().returning(|_, _, _| Ok(DeactivationOutcome::LastAdmin));
    store.expect_reactivate().returning(|_, _, _| Ok(ReactivationOutcome::SeatsTaken));
    store.expect_member().returning(|_| Ok(None));
    let roles = roles(store);

    let grant_error = roles.grant(None, user, Role::Admin).await.unwrap_err();
    let deactivated = roles.deactivate(None, user).await.unwrap_err();
    let reactivated = roles.reactivate(None, user).await.unwrap_err();
    let member_error = roles.member("ada@example.org").await.unwrap_err();

    assert!(matches!(grant_error, RoleError::AdminsTaken { limit: 2 }), "{grant_error}");
    assert!(matches!(deactivated, RoleError::LastAdmin), "{deactivated}");
    assert!(matches!(reactivated, RoleError::SeatsTaken { limit: 25 }), "{reactivated}");
    assert!(matches!(member_error, RoleError::Unknown), "{member_error}");
}
