//! Tests of sessions and their tokens, over a mocked store.

use pia_testkit::FixedClock;

use super::*;
use crate::people::account::{CallerState, CredentialsEpoch};
use crate::ports::{MockAccountStore, MockSessionStore};
use crate::sessions::access_tokens::TokenNames;
use crate::sessions::signing_keys::SigningKeys;

struct Fixture {
    sessions: Sessions,
    caller_cache: CallerCache,
    access: AccessTokens,
}

const PASSWORD: SignInMethod = SignInMethod::Password;

/// A device with a version that needs tidying.
fn device() -> SignInDevice {
    SignInDevice { app_version: Some("1.4\0".to_owned()), ..SignInDevice::default() }
}

fn tidied() -> SignInDevice {
    SignInDevice { app_version: Some("1.4".to_owned()), ..SignInDevice::default() }
}

fn account(user: UserId) -> Account {
    let account = Account::local(user, "ada@example.org".to_owned(), Timestamp::UNIX_EPOCH);
    Account { epoch: CredentialsEpoch(7), ..account }
}

fn secret(text: &str) -> Secret<String> {
    Secret::new(text.to_owned())
}

/// Returns sessions over this store; every caller is valid.
fn fixture(store: MockSessionStore, previous_key: Option<&str>) -> Fixture {
    let clock: Arc<dyn Clock> = Arc::new(FixedClock(Timestamp::UNIX_EPOCH));
    let keys = SigningKeys {
        current: secret("an example of thirty-two letters"),
        previous: previous_key.map(secret),
    };
    let names = TokenNames { issuer: "issuer".to_owned(), audience: "audience".to_owned() };
    let settings = LiveSetting::new(SessionSettings::default());
    let access = AccessTokens::new(&keys, names, settings.clone(), Arc::clone(&clock));
    let mut accounts = MockAccountStore::new();
    accounts
        .expect_caller_state()
        .returning(|user, session, _| Ok(Some(CallerState::new(user, session))));
    let caller_cache = CallerCache::new(Arc::new(accounts), Arc::clone(&clock));
    let ports = SessionPorts {
        store: Arc::new(store),
        caller_cache: caller_cache.clone(),
        access_tokens: access.clone(),
        refresh_keys: RefreshKeys::derive(&keys),
    };
    let sessions = Sessions::new(ports, settings, clock);
    Fixture { sessions, caller_cache, access }
}

async fn refresh_when(
    rotation: fn() -> Result<RotationOutcome, Unavailable>,
) -> Result<SessionTokens, RefreshError> {
    let mut store = MockSessionStore::new();
    store.expect_rotate().returning(move |_, _| rotation());
    fixture(store, None).sessions.refresh(&secret("a token"), device()).await
}

fn new_session_ref() -> SessionRef {
    SessionRef { user: UserId::generate(), session: SessionId::generate() }
}

fn rotated() -> RotationOutcome {
    RotationOutcome::Rotated { user: UserId::generate(), session: SessionId::generate() }
}

#[tokio::test]
async fn a_session_starts_with_its_limits_and_its_audit_entry() {
    let mut store = MockSessionStore::new();
    let user = UserId::generate();
    let email = QueuedEmail::new("new-device").to_user(Timestamp::UNIX_EPOCH, user);
    store
        .expect_begin()
        .withf(move |new_session, max_sessions, effects, conditional| {
            let at = Timestamp::UNIX_EPOCH;
            let evicted = SideEffects::about(at, user, "session.evicted");
            new_session.user == user
                && new_session.epoch == CredentialsEpoch(7)
                && new_session.expires_at == at + SessionSettings::default().refresh_lifetime
                && *max_sessions == SessionSettings::default().max_sessions
                && new_session.method == PASSWORD
                && new_session.device == tidied()
                && *effects == SideEffects::audit(at, user, "session.started")
                && (conditional.if_ended)(user, at) == evicted
                && (conditional.if_new_device)(user, at).mail == [email.clone()]
        })
        .once()
        .returning(|_, _, _, _| Ok(SessionStartOutcome::Done));
    let fixture = fixture(store, None);

    let grant = fixture.sessions.start(&account(user), PASSWORD, device()).await.unwrap();

    let session_ref = fixture.access.verify(grant.access.expose());
    assert_eq!(session_ref, Some(SessionRef { user, session: grant.session }));
    assert_eq!(grant.expires_in, Duration::from_mins(15));
}

#[tokio::test]
async fn only_a_keyed_hash_of_the_token_reaches_the_store() {
    let mut store = MockSessionStore::new();
    store.expect_begin().returning(|_, _, _, _| Ok(SessionStartOutcome::Done));
    let sessions = fixture(store, None).sessions;

    let grant = sessions.start(&account(UserId::generate()), PASSWORD, device()).await.unwrap();

    let plain_digest =
        ring::digest::digest(&ring::digest::SHA256, grant.refresh.expose().as_bytes());
    assert_ne!(sessions.ports.refresh_keys.hash(&grant.refresh).0, plain_digest.as_ref());
}

#[tokio::test]
async fn stale_credentials_start_no_session() {
    let mut store = MockSessionStore::new();
    store.expect_begin().returning(|_, _, _, _| Ok(SessionStartOutcome::Stale));
    let sessions = fixture(store, None).sessions;

    let outcome = sessions.start(&account(UserId::generate()), PASSWORD, device()).await;

    assert!(matches!(outcome, Err(StartError::Stale)), "{outcome:?}");
}

#[tokio::test]
async fn a_token_presented_again_has_the_very_same_successor() {
    let tokens = refresh_when(|| Ok(rotated())).await.unwrap();
    let repeated_tokens = refresh_when(|| Ok(rotated())).await.unwrap();

    assert_eq!(repeated_tokens.refresh.expose(), tokens.refresh.expose());
}

#[tokio::test]
async fn a_presented_token_has_the_grace_period_and_the_new_lifetime() {
    let mut store = MockSessionStore::new();
    store
        .expect_rotate()
        .withf(|presented, if_reused| {
            let user = UserId::generate();
            let at = Timestamp::UNIX_EPOCH;
            presented.grace == Duration::from_secs(30)
                && presented.lifetime == SessionSettings::default().refresh_lifetime
                && presented.hash != presented.successor
                && presented.device == tidied()
                && if_reused(user, at) == SideEffects::about(at, user, "session.reuse_detected")
        })
        .once()
        .returning(|_, _| Ok(rotated()));

    fixture(store, None).sessions.refresh(&secret("a token"), device()).await.unwrap();
}

#[tokio::test]
async fn a_token_used_twice_is_refused_as_reused() {
    let outcome = refresh_when(|| Ok(RotationOutcome::Reused)).await;

    assert!(matches!(outcome, Err(RefreshError::Reused)));
}

#[tokio::test]
async fn an_unknown_token_is_refused() {
    let outcome = refresh_when(|| Ok(RotationOutcome::Refused)).await;

    assert!(matches!(outcome, Err(RefreshError::Invalid)));
}

#[tokio::test]
async fn an_outage_is_not_mistaken_for_a_bad_token() {
    let outcome = refresh_when(|| Err(Unavailable::new("storage", "down"))).await;

    assert!(matches!(outcome, Err(RefreshError::Unavailable(_))));
}

#[tokio::test]
async fn a_malformed_token_never_reaches_the_store() {
    let sessions = fixture(MockSessionStore::new(), Some("the key before")).sessions;

    let refreshed = sessions.refresh(&secret(&"x".repeat(10_000)), device()).await;
    let outcome = sessions.end(&secret("")).await;
    let session = sessions.session_of(&secret("")).await;

    assert!(matches!(refreshed, Err(RefreshError::Invalid)));
    assert!(outcome.is_ok());
    assert!(session.unwrap().is_none());
}

#[tokio::test]
async fn a_token_of_the_previous_key_is_tried_too() {
    let mut store = MockSessionStore::new();
    store.expect_session_of().returning(|_| Ok(None));
    let mut calls = 0;
    store.expect_rotate().times(2).returning(move |_, _| {
        calls += 1;
        Ok(if calls == 1 { RotationOutcome::Refused } else { rotated() })
    });

    let outcome =
        fixture(store, Some("the key before")).sessions.refresh(&secret("a token"), device()).await;

    assert!(outcome.is_ok());
}

#[tokio::test]
async fn a_response_lost_during_a_key_change_can_be_repeated() {
    let token = secret("a token");
    let previous_keys = SigningKeys { current: secret("the key before"), previous: None };
    let refresh_keys = RefreshKeys::derive(&previous_keys);
    let lost_response = refresh_keys.hashes_of(&token).next().unwrap();
    let hash = lost_response.hash;
    let stored_hash = lost_response.successor_hash;
    let mut store = MockSessionStore::new();
    store
        .expect_session_of()
        .returning(move |requested| Ok((requested == stored_hash).then(SessionId::generate)));
    store.expect_rotate().returning(move |presented, _| {
        let is_repeated = presented.hash == hash && presented.successor == stored_hash;
        Ok(if is_repeated { rotated() } else { RotationOutcome::Refused })
    });

    let outcome = fixture(store, Some("the key before")).sessions.refresh(&token, device()).await;

    assert_eq!(outcome.unwrap().refresh.expose(), lost_response.successor.expose());
}

#[tokio::test]
async fn signing_out_removes_the_session_from_the_cache() {
    let session_ref = new_session_ref();
    let mut store = MockSessionStore::new();
    store
        .expect_end()
        .withf(|_, at, effects| {
            let user = UserId::generate();
            effects(user, *at) == SideEffects::audit(*at, user, "session.ended")
        })
        .once()
        .returning(move |_, _, _| Ok(Some(session_ref)));
    let fixture = fixture(store, None);
    fixture.caller_cache.fresh(session_ref).await.unwrap();

    fixture.sessions.end(&secret("a token")).await.unwrap();

    assert_eq!(fixture.caller_cache.cached(session_ref), None);
}

#[tokio::test]
async fn a_reused_token_clears_the_cache() {
    let session_ref = new_session_ref();
    let mut store = MockSessionStore::new();
    store.expect_rotate().returning(|_, _| Ok(RotationOutcome::Reused));
    let fixture = fixture(store, None);
    fixture.caller_cache.fresh(session_ref).await.unwrap();

    fixture.sessions.refresh(&secret("a token"), device()).await.unwrap_err();

    assert_eq!(fixture.caller_cache.cached(session_ref), None);
}

#[tokio::test]
async fn a_new_session_removes_the_users_others_from_the_cache() {
    let session_ref = new_session_ref();
    let mut store = MockSessionStore::new();
    store.expect_begin().returning(|_, _, _, _| Ok(SessionStartOutcome::Done));
    let fixture = fixture(store, None);
    fixture.caller_cache.fresh(session_ref).await.unwrap();

    fixture.sessions.start(&account(session_ref.user), PASSWORD, device()).await.unwrap();

    assert_eq!(fixture.caller_cache.cached(session_ref), None);
}

/// Returns the outcome of ending all other sessions, and the cached state of one of them.
async fn revoke_others_when(ended: Option<u64>) -> (Result<u64, RevokeError>, Option<CallerState>) {
    let caller = new_session_ref();
    let other_session = SessionRef { session: SessionId::generate(), ..caller };
    let mut store = MockSessionStore::new();
    store
        .expect_revoke()
        .withf(move |by, targets, at, effects| {
            let user = caller.user;
            *by == caller
                && *targets == Revoked::Others
                && effects(user, *at) == SideEffects::audit(*at, user, "session.revoked")
        })
        .once()
        .returning(move |_, _, _, _| Ok(ended));
    let fixture = fixture(store, None);
    fixture.caller_cache.fresh(other_session).await.unwrap();

    let outcome = fixture.sessions.revoke_others(caller).await;

    (outcome, fixture.caller_cache.cached(other_session))
}

#[tokio::test]
async fn ending_the_others_removes_them_from_the_cache() {
    let (outcome, cached) = revoke_others_when(Some(3)).await;

    assert!(matches!(outcome, Ok(3)));
    assert_eq!(cached, None);
}

#[tokio::test]
async fn a_session_that_is_over_ends_no_others() {
    let (outcome, _) = revoke_others_when(None).await;

    assert!(matches!(outcome, Err(RevokeError::Gone)));
}

#[tokio::test]
async fn an_unknown_session_is_distinguished_from_the_callers_ended_one() {
    let revoke = async |ended| {
        let caller = new_session_ref();
        let mut store = MockSessionStore::new();
        store.expect_revoke().returning(move |_, _, _, _| Ok(ended));
        fixture(store, None).sessions.revoke(caller, SessionId::generate()).await
    };

    assert!(matches!(revoke(Some(1)).await, Ok(())));
    assert!(matches!(revoke(Some(0)).await, Err(RevokeError::Unknown)));
    assert!(matches!(revoke(None).await, Err(RevokeError::Gone)));
}

#[tokio::test]
async fn sessions_are_listed_in_pages() {
    let entry = |micros| SessionEntry {
        session: SessionId::generate(),
        began_at: Timestamp::from_micros(micros),
        used_at: Timestamp::from_micros(micros),
        method: PASSWORD.name().to_owned(),
        signed_in_from: None,
        device: tidied(),
        console: false,
    };
    let newest_entry = entry(2);
    let mut store = MockSessionStore::new();
    let stored_sessions = vec![newest_entry.clone(), entry(1)];
    store
        .expect_page()
        .withf(|_, now, page| *now == Timestamp::UNIX_EPOCH && page.limit == 2)
        .returning(move |_, _, _| Ok(stored_sessions.clone()));

    let request = PageRequest { after: None, limit: 1 };
    let page = fixture(store, None).sessions.page(UserId::generate(), request).await.unwrap();

    let cursor = Cursor { at: newest_entry.began_at, id: newest_entry.session.0 };
    assert_eq!(page.next, Some(cursor));
    assert_eq!(page.items, [newest_entry]);
}
