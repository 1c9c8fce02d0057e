//! Tests of the administration of what secures accounts.

use std::time::Duration;

use pia_kernel::{SessionId, SignInId};
use pia_testkit::FixedClock;

use super::*;
use crate::people::account::{Account, CallerState};
use crate::ports::{
    MockAccountStore, MockPasswordThrottleStore, MockRoleStore, MockSignInLog, SignInEntry,
};
use crate::sessions::access_tokens::SessionRef;
use crate::sign_in::device::SignInDevice;

const NOW: Timestamp = Timestamp::UNIX_EPOCH;
/// User without an account.
const NOBODY: UserId = UserId(uuid::Uuid::nil());

/// Mocks of the ports, without expectations by default.
#[derive(Default)]
struct Mocks {
    store: MockRoleStore,
    throttle: MockPasswordThrottleStore,
    log: MockSignInLog,
}

impl Mocks {
    /// Creates the service over the mocks. Every user but [`NOBODY`] has an account.
    fn into_security(self) -> AccountSecurity {
        let mut accounts = MockAccountStore::new();
        accounts
            .expect_caller_state()
            .returning(|user, session, _| Ok(Some(CallerState::new(user, session))));
        accounts.expect_find().returning(|user| {
            let account = Account::local(user, "ada@example.org".to_owned(), NOW);
            Ok((user != NOBODY).then_some(account))
        });

        let accounts: Arc<dyn AccountStore> = Arc::new(accounts);
        let clock = Arc::new(FixedClock(NOW));
        let callers = CallerCache::new(Arc::clone(&accounts), Arc::<FixedClock>::clone(&clock));
        let ports = AccountSecurityPorts {
            accounts,
            store: Arc::new(self.store),
            throttle: Arc::new(self.throttle),
            log: Arc::new(self.log),
        };
        AccountSecurity::new(ports, callers, clock)
    }
}

fn is_audited(effects: &SideEffects, by: UserId, user: UserId, action: &str) -> bool {
    let [entry] = effects.audit.as_slice() else { return false };
    entry.actor == Some(by) && entry.subject == Some(user) && entry.action == action
}

#[tokio::test]
async fn sessions_end_at_once_with_an_audit_entry() {
    let by = UserId::generate();
    let user = UserId::generate();
    let mut store = MockRoleStore::new();
    store
        .expect_end_sessions()
        .withf(move |it, effects| {
            *it == user && is_audited(effects, by, user, "account.sessions_ended")
        })
        .returning(|_, _| Ok(true));
    let security = Mocks { store, ..Mocks::default() }.into_security();
    let session_ref = SessionRef { user, session: SessionId::generate() };
    security.caller_cache.fresh(session_ref).await.unwrap();

    security.end_sessions(by, user).await.unwrap();

    assert_eq!(security.caller_cache.cached(session_ref), None);
}

#[tokio::test]
async fn a_reset_factor_is_audited_and_its_owner_emailed() {
    let by = UserId::generate();
    let user = UserId::generate();
    let mut store = MockRoleStore::new();
    let mut is_factor_on = true;
    store
        .expect_reset_factor()
        .withf(move |_, effects| {
            is_audited(effects, by, user, "factor.reset") && effects.mail.len() == 1
        })
        .returning(move |_, _| Ok(std::mem::take(&mut is_factor_on)));
    let security = Mocks { store, ..Mocks::default() }.into_security();

    security.reset_factor(by, user).await.unwrap();
    let second_outcome = security.reset_factor(by, user).await;

    assert!(matches!(second_outcome, Err(AccountSecurityError::NoFactor)));
}

#[tokio::test]
async fn the_factor_of_an_unknown_account_is_not_reset() {
    let mut store = MockRoleStore::new();
    store.expect_reset_factor().returning(|_, _| Ok(false));
    let security = Mocks { store, ..Mocks::default() }.into_security();

    let outcome = security.reset_factor(UserId::generate(), NOBODY).await;

    assert!(matches!(outcome, Err(AccountSecurityError::Unknown)));
}

#[tokio::test]
async fn administrators_without_a_second_factor_are_counted() {
    let mut store = MockRoleStore::new();
    store.expect_count_admins_without_factor().returning(|| Ok(2));
    let security = Mocks { store, ..Mocks::default() }.into_security();

    assert_eq!(security.count_admins_without_factor().await.unwrap(), 2);
}

#[tokio::test]
async fn a_wait_is_lifted_for_known_and_unknown_networks() {
    let by = UserId::generate();
    let user = UserId::generate();
    let mut log = MockSignInLog::new();
    log.expect_page().returning(|_, _| {
        let entry = |address: &str| SignInEntry {
            id: SignInId::generate(),
            at: NOW,
            outcome: "signed_in".to_owned(),
            method: "password".to_owned(),
            device: SignInDevice { address: address.parse().ok(), ..SignInDevice::default() },
            session: None,
        };
        Ok(vec![entry("192.0.2.1"), entry("192.0.2.1"), entry("192.0.2.7"), entry("")])
    });
    let mut throttle = MockPasswordThrottleStore::new();
    throttle
        .expect_clear_all()
        .withf(move |counts, effects| {
            counts.len() == 4 && is_audited(effects, by, user, "sign_in.wait_lifted")
        })
        .once()
        .returning(|_, _| Ok(()));

    Mocks { throttle, log, ..Mocks::default() }.into_security().lift_wait(by, user).await.unwrap();
}

#[tokio::test]
async fn a_wait_is_reported_until_it_is_over() {
    let user = UserId::generate();
    let waits_until = async |end: Option<Timestamp>| {
        let mut log = MockSignInLog::new();
        log.expect_page().returning(|_, _| Ok(Vec::new()));
        let mut throttle = MockPasswordThrottleStore::new();
        throttle.expect_waits_until().withf(|it| it.len() == 2).returning(move |_| Ok(end));
        Mocks { throttle, log, ..Mocks::default() }.into_security().waits_until(user).await.unwrap()
    };
    let later = Some(NOW + Duration::from_secs(1));

    assert_eq!(waits_until(later).await, later);
    assert_eq!(waits_until(Some(NOW)).await, None);
    assert_eq!(waits_until(None).await, None);
}
