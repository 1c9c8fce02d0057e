//! Beginning a session, continuing it with a refresh token, and ending it.

use std::sync::Arc;
use std::time::Duration;

use pia_kernel::{
    Clock, Effects, Live, Page, Part, Place, Secret, SessionId, Timestamp, Unavailable, UserId,
};

use crate::access_tokens::{AccessTokens, Claim};
use crate::device::Device;
use crate::ports::{
    NewSession, Presented, Revoked, Rotation, SessionEntry, SessionStore, SignInMethod,
};
use crate::refresh_tokens::{self, RefreshKeys, Shown};
use crate::standings::Standings;

/// How long sessions and their tokens are good, and how many there may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SessionSettings {
    /// How long an access token is good.
    pub access_lifetime: Duration,
    /// How long a session lives without being continued.
    pub refresh_lifetime: Duration,
    /// How long a device that lost the answer may ask for it again.
    pub grace: Duration,
    /// How many live sessions a user may have; the oldest makes room.
    pub most: usize,
}

impl Default for SessionSettings {
    fn default() -> Self {
        Self {
            access_lifetime: Duration::from_mins(15),
            refresh_lifetime: Duration::from_hours(30 * 24),
            grace: Duration::from_secs(30),
            most: 10,
        }
    }
}

/// What a device is handed to go on with.
#[derive(Debug, Clone)]
pub struct Grant {
    /// Shown with each request.
    pub access: Secret<String>,
    /// Good for one refresh.
    pub refresh: Secret<String>,
    /// How long the access token is good.
    pub expires_in: Duration,
    /// The sign-in that these continue.
    pub session: SessionId,
}

/// Why a session was not continued.
#[derive(Debug, thiserror::Error)]
pub enum RefreshError {
    /// The token is unknown or expired, or its session or account is no more.
    #[error("refresh token is not valid")]
    Invalid,
    /// The token was spent before, so someone else may hold it.
    #[error("refresh token was used twice; its session is ended")]
    Reused,
    /// The store did not answer.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
}

/// Why no session was ended at its user's wish.
#[derive(Debug, thiserror::Error)]
pub enum RevokeError {
    /// The user has no such session, or has it no longer.
    #[error("the user has no such session")]
    Unknown,
    /// The session that asked for it is over itself.
    #[error("the session that asked is over")]
    Gone,
    /// The store did not answer.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
}

/// Sessions and the tokens that continue them.
#[derive(Clone)]
pub struct Sessions {
    store: Arc<dyn SessionStore>,
    standings: Standings,
    access: AccessTokens,
    keys: RefreshKeys,
    settings: Live<SessionSettings>,
    clock: Arc<dyn Clock>,
}

impl Sessions {
    /// Sessions over the given store; `standings` is told of those that end.
    pub fn new(
        store: Arc<dyn SessionStore>,
        standings: Standings,
        tokens: (AccessTokens, RefreshKeys),
        settings: Live<SessionSettings>,
        clock: Arc<dyn Clock>,
    ) -> Self {
        let (access, keys) = tokens;
        Self { store, standings, access, keys, settings, clock }
    }

    /// Begins a session of a user who has just proved who they are.
    pub async fn start(
        &self,
        user: UserId,
        method: SignInMethod,
        device: Device,
    ) -> Result<Grant, Unavailable> {
        let settings = *self.settings.get();
        let (session, refresh) = (SessionId::generate(), refresh_tokens::fresh()?);
        let at = self.clock.now();
        let new = NewSession {
            session,
            user,
            hash: self.keys.hash(&refresh),
            at,
            expires_at: at + settings.refresh_lifetime,
            method,
            app_password: None,
            device: device.tidy(),
        };
        let started = Effects::audit(at, user, "session.started");
        self.store.begin(new, settings.most, started, evicted).await?;
        // Which session made room is not told, only whose it was.
        self.standings.forget_user(user);
        self.grant(user, session, refresh)
    }

    /// Spends a refresh token for the next one.
    pub async fn refresh(
        &self,
        token: &Secret<String>,
        device: Device,
    ) -> Result<Grant, RefreshError> {
        let device = device.tidy();
        for shown in self.keys.seen(token) {
            let presented = self.presented(&shown, device.clone()).await?;
            match self.store.rotate(presented, reuse_detected).await? {
                Rotation::Rotated { user, session } => {
                    return Ok(self.grant(user, session, shown.successor)?);
                }
                Rotation::Reused => {
                    // Whose session it was is not told; this happens seldom
                    // enough to look at everyone anew.
                    self.standings.forget_everyone();
                    return Err(RefreshError::Reused);
                }
                Rotation::Refused => {}
            }
        }
        Err(RefreshError::Invalid)
    }

    /// Signs a device out. A token that is no longer good ends nothing, and
    /// that is no error: the device is signed out either way.
    pub async fn end(&self, token: &Secret<String>) -> Result<(), Unavailable> {
        for shown in self.keys.seen(token) {
            let ended = self.store.end(shown.hash, self.clock.now(), ended).await?;
            if let Some((user, session)) = ended {
                self.standings.forget(Claim { user, session });
                break;
            }
        }
        Ok(())
    }

    /// The session that a refresh token belongs to, spent or not, so that
    /// what is asked with it can be counted against that session.
    pub async fn session_of(
        &self,
        token: &Secret<String>,
    ) -> Result<Option<SessionId>, Unavailable> {
        for shown in self.keys.seen(token) {
            if let Some(session) = self.store.session_of(shown.hash).await? {
                return Ok(Some(session));
            }
        }
        Ok(None)
    }

    /// A part of a user's live sessions, those that began last first.
    pub async fn page(&self, user: UserId, page: Page) -> Result<Part<SessionEntry>, Unavailable> {
        let live = self.store.page(user, self.clock.now(), page.and_one_more()).await?;
        Ok(page.part_of(live, |it| Place { at: it.began_at, id: it.session.0 }))
    }

    /// Ends one of the caller's sessions, which may be their current one.
    pub async fn revoke(&self, caller: Claim, session: SessionId) -> Result<(), RevokeError> {
        match self.end_all(caller, Revoked::One(session)).await? {
            0 => Err(RevokeError::Unknown),
            _ => Ok(()),
        }
    }

    /// Ends every session of the caller but their current one. Answers how
    /// many they were.
    pub async fn revoke_others(&self, caller: Claim) -> Result<u64, RevokeError> {
        self.end_all(caller, Revoked::Others).await
    }

    async fn end_all(&self, caller: Claim, which: Revoked) -> Result<u64, RevokeError> {
        let ended = self.store.revoke(caller, which, self.clock.now(), revoked).await?;
        // Also where nothing ended here: it may have elsewhere.
        self.standings.forget_user(caller.user);
        ended.ok_or(RevokeError::Gone)
    }

    /// Forgets sessions that have expired. Answers how many they were.
    pub async fn sweep(&self) -> Result<u64, Unavailable> {
        self.store.sweep(self.clock.now()).await
    }

    async fn presented(&self, shown: &Shown, device: Device) -> Result<Presented, Unavailable> {
        let settings = *self.settings.get();
        // A token that lost its answer just when the keys were changed has a
        // successor under the key before, and is not to be taken for stolen.
        let successor = match shown.successor_hash_before {
            Some(before) if self.store.session_of(before).await?.is_some() => before,
            _ => shown.successor_hash,
        };
        Ok(Presented {
            hash: shown.hash,
            successor,
            at: self.clock.now(),
            grace: settings.grace,
            lifetime: settings.refresh_lifetime,
            device,
        })
    }

    fn grant(
        &self,
        user: UserId,
        session: SessionId,
        refresh: Secret<String>,
    ) -> Result<Grant, Unavailable> {
        let access = self.access.issue(user, session)?;
        Ok(Grant { access: access.token, refresh, expires_in: access.expires_in, session })
    }
}

fn evicted(user: UserId, at: Timestamp) -> Effects {
    Effects::about(at, user, "session.evicted")
}

/// What goes with the end of a session whose token someone else may hold.
fn reuse_detected(user: UserId, at: Timestamp) -> Effects {
    Effects::about(at, user, "session.reuse_detected")
}

fn revoked(user: UserId, at: Timestamp) -> Effects {
    Effects::audit(at, user, "session.revoked")
}

fn ended(user: UserId, at: Timestamp) -> Effects {
    Effects::audit(at, user, "session.ended")
}

#[cfg(test)]
mod tests {
    use pia_testkit::FixedClock;

    use super::*;
    use crate::access_tokens::TokenNames;
    use crate::account::Standing;
    use crate::ports::{MockAccountStore, MockSessionStore};
    use crate::signing_keys::SigningKeys;

    struct Fixture {
        sessions: Sessions,
        standings: Standings,
        access: AccessTokens,
    }

    const PASSWORD: SignInMethod = SignInMethod::Password;

    /// A device that says more than can be kept.
    fn device() -> Device {
        Device { app_version: Some("1.4\0".to_owned()), ..Device::default() }
    }

    fn tidied() -> Device {
        Device { app_version: Some("1.4".to_owned()), ..Device::default() }
    }

    fn secret(text: &str) -> Secret<String> {
        Secret::new(text.to_owned())
    }

    /// Sessions of a server where everyone is in good standing.
    fn fixture(store: MockSessionStore, previous_key: Option<&str>) -> Fixture {
        let clock: Arc<dyn Clock> = Arc::new(FixedClock(Timestamp::UNIX_EPOCH));
        let keys = SigningKeys {
            current: secret("an example of thirty-two letters"),
            previous: previous_key.map(secret),
        };
        let names = TokenNames { issuer: "issuer".to_owned(), audience: "audience".to_owned() };
        let settings = Live::new(SessionSettings::default());
        let access = AccessTokens::new(&keys, names, settings.clone(), Arc::clone(&clock));
        let mut accounts = MockAccountStore::new();
        accounts
            .expect_standing()
            .returning(|user, session, _| Ok(Some(Standing::of(user, session))));
        let standings = Standings::new(Arc::new(accounts), Arc::clone(&clock));
        let tokens = (access.clone(), RefreshKeys::derive(&keys));
        let sessions = Sessions::new(Arc::new(store), standings.clone(), tokens, settings, clock);
        Fixture { sessions, standings, access }
    }

    async fn refresh_when(
        rotation: fn() -> Result<Rotation, Unavailable>,
    ) -> Result<Grant, RefreshError> {
        let mut store = MockSessionStore::new();
        store.expect_rotate().returning(move |_, _| rotation());
        fixture(store, None).sessions.refresh(&secret("a token"), device()).await
    }

    fn rotated() -> Rotation {
        Rotation::Rotated { user: UserId::generate(), session: SessionId::generate() }
    }

    #[tokio::test]
    async fn a_session_begins_with_what_it_is_allowed_and_its_audit_entry() {
        let mut store = MockSessionStore::new();
        let user = UserId::generate();
        store
            .expect_begin()
            .withf(move |new, most, effects, if_ended| {
                let at = Timestamp::UNIX_EPOCH;
                new.user == user
                    && new.expires_at == at + Duration::from_hours(720)
                    && *most == 10
                    && (new.method, &new.device) == (PASSWORD, &tidied())
                    && *effects == Effects::audit(at, user, "session.started")
                    && if_ended(user, at) == Effects::about(at, user, "session.evicted")
            })
            .once()
            .returning(|_, _, _, _| Ok(()));
        let fixture = fixture(store, None);

        let grant = fixture.sessions.start(user, PASSWORD, device()).await.unwrap();

        let claim = fixture.access.read(grant.access.expose());
        assert_eq!(claim, Some(Claim { user, session: grant.session }));
        assert_eq!(grant.expires_in, Duration::from_mins(15));
    }

    #[tokio::test]
    async fn only_a_keyed_hash_of_the_token_reaches_the_store() {
        let mut store = MockSessionStore::new();
        store.expect_begin().returning(|_, _, _, _| Ok(()));
        let sessions = fixture(store, None).sessions;

        let grant = sessions.start(UserId::generate(), PASSWORD, device()).await.unwrap();

        let plain = ring::digest::digest(&ring::digest::SHA256, grant.refresh.expose().as_bytes());
        assert_ne!(sessions.keys.hash(&grant.refresh).0, plain.as_ref());
    }

    #[tokio::test]
    async fn a_token_presented_again_has_the_very_same_successor() {
        let first = refresh_when(|| Ok(rotated())).await.unwrap();

        let again = refresh_when(|| Ok(rotated())).await.unwrap();

        assert_eq!(first.refresh.expose(), again.refresh.expose());
    }

    #[tokio::test]
    async fn what_is_presented_carries_the_grace_and_the_new_lifetime() {
        let mut store = MockSessionStore::new();
        store
            .expect_rotate()
            .withf(|presented, if_reused| {
                let (user, at) = (UserId::generate(), Timestamp::UNIX_EPOCH);
                presented.grace == Duration::from_secs(30)
                    && presented.lifetime == Duration::from_hours(720)
                    && presented.hash != presented.successor
                    && presented.device == tidied()
                    && if_reused(user, at) == Effects::about(at, user, "session.reuse_detected")
            })
            .once()
            .returning(|_, _| Ok(rotated()));

        fixture(store, None).sessions.refresh(&secret("a token"), device()).await.unwrap();
    }

    #[tokio::test]
    async fn a_token_used_twice_is_refused_as_reused() {
        assert!(matches!(refresh_when(|| Ok(Rotation::Reused)).await, Err(RefreshError::Reused)));
    }

    #[tokio::test]
    async fn an_unknown_token_is_refused() {
        assert!(matches!(refresh_when(|| Ok(Rotation::Refused)).await, Err(RefreshError::Invalid)));
    }

    #[tokio::test]
    async fn an_outage_is_not_mistaken_for_a_bad_token() {
        let outcome = refresh_when(|| Err(Unavailable::new("storage", "down"))).await;

        assert!(matches!(outcome, Err(RefreshError::Unavailable(_))));
    }

    #[tokio::test]
    async fn a_text_that_cannot_be_a_token_never_reaches_the_store() {
        let sessions = fixture(MockSessionStore::new(), Some("the key before")).sessions;

        let refreshed = sessions.refresh(&secret(&"x".repeat(10_000)), device()).await;
        let ended = sessions.end(&secret("")).await;
        let session = sessions.session_of(&secret("")).await;

        assert!(matches!(refreshed, Err(RefreshError::Invalid)));
        assert!(ended.is_ok() && session.unwrap().is_none());
    }

    #[tokio::test]
    async fn a_token_of_the_previous_key_is_looked_for_too() {
        let mut store = MockSessionStore::new();
        store.expect_session_of().returning(|_| Ok(None));
        let mut asked = 0;
        store.expect_rotate().times(2).returning(move |_, _| {
            asked += 1;
            Ok(if asked == 1 { Rotation::Refused } else { rotated() })
        });

        let outcome = fixture(store, Some("the key before"))
            .sessions
            .refresh(&secret("a token"), device())
            .await;

        assert!(outcome.is_ok());
    }

    #[tokio::test]
    async fn an_answer_lost_while_the_keys_were_changed_is_told_again() {
        let keys = |current: &str| {
            RefreshKeys::derive(&SigningKeys { current: secret(current), previous: None })
        };
        let (token, old) = (secret("a token"), keys("the key before"));
        let shown = old.seen(&token).next().unwrap();
        let (hash, kept) = (shown.hash, shown.successor_hash);
        let mut store = MockSessionStore::new();
        store
            .expect_session_of()
            .returning(move |asked| Ok((asked == kept).then(SessionId::generate)));
        store.expect_rotate().returning(move |presented, _| {
            let again = presented.hash == hash && presented.successor == kept;
            Ok(if again { rotated() } else { Rotation::Refused })
        });

        let outcome =
            fixture(store, Some("the key before")).sessions.refresh(&token, device()).await;

        assert_eq!(outcome.unwrap().refresh.expose(), shown.successor.expose());
    }

    #[tokio::test]
    async fn signing_out_ends_the_session_for_the_gates_at_once() {
        let claim = Claim { user: UserId::generate(), session: SessionId::generate() };
        let mut store = MockSessionStore::new();
        store
            .expect_end()
            .withf(|_, at, effects| {
                let user = UserId::generate();
                effects(user, *at) == Effects::audit(*at, user, "session.ended")
            })
            .once()
            .returning(move |_, _, _| Ok(Some((claim.user, claim.session))));
        let fixture = fixture(store, None);
        fixture.standings.fresh(claim).await.unwrap();

        fixture.sessions.end(&secret("a token")).await.unwrap();

        assert_eq!(fixture.standings.cached(claim), None);
    }

    #[tokio::test]
    async fn a_reused_token_has_everyone_looked_at_anew() {
        let claim = Claim { user: UserId::generate(), session: SessionId::generate() };
        let mut store = MockSessionStore::new();
        store.expect_rotate().returning(|_, _| Ok(Rotation::Reused));
        let fixture = fixture(store, None);
        fixture.standings.fresh(claim).await.unwrap();

        fixture.sessions.refresh(&secret("a token"), device()).await.unwrap_err();

        assert_eq!(fixture.standings.cached(claim), None);
    }

    #[tokio::test]
    async fn a_new_session_has_the_users_others_looked_at_anew() {
        let claim = Claim { user: UserId::generate(), session: SessionId::generate() };
        let mut store = MockSessionStore::new();
        store.expect_begin().returning(|_, _, _, _| Ok(()));
        let fixture = fixture(store, None);
        fixture.standings.fresh(claim).await.unwrap();

        fixture.sessions.start(claim.user, PASSWORD, device()).await.unwrap();

        assert_eq!(fixture.standings.cached(claim), None);
    }

    /// What comes of ending all other sessions, and whether the gates still
    /// remember the caller and another session of theirs.
    async fn revoke_others_when(
        ended: Option<u64>,
    ) -> (Result<u64, RevokeError>, Option<Standing>) {
        let caller = Claim { user: UserId::generate(), session: SessionId::generate() };
        let other = Claim { session: SessionId::generate(), ..caller };
        let mut store = MockSessionStore::new();
        store
            .expect_revoke()
            .withf(move |by, which, at, effects| {
                let (user, revoked) = (caller.user, "session.revoked");
                (*by, *which) == (caller, Revoked::Others)
                    && effects(user, *at) == Effects::audit(*at, user, revoked)
            })
            .once()
            .returning(move |_, _, _, _| Ok(ended));
        let fixture = fixture(store, None);
        fixture.standings.fresh(other).await.unwrap();
        let outcome = fixture.sessions.revoke_others(caller).await;
        (outcome, fixture.standings.cached(other))
    }

    #[tokio::test]
    async fn ending_the_others_ends_them_for_the_gates_at_once() {
        let (outcome, remembered) = revoke_others_when(Some(3)).await;

        assert!(matches!(outcome, Ok(3)));
        assert_eq!(remembered, None);
    }

    #[tokio::test]
    async fn a_session_that_is_over_ends_no_others() {
        let (outcome, _) = revoke_others_when(None).await;

        assert!(matches!(outcome, Err(RevokeError::Gone)));
    }

    #[tokio::test]
    async fn a_session_that_is_not_there_is_told_from_one_that_ended() {
        let revoke = async |ended| {
            let caller = Claim { user: UserId::generate(), session: SessionId::generate() };
            let mut store = MockSessionStore::new();
            store.expect_revoke().returning(move |_, _, _, _| Ok(ended));
            fixture(store, None).sessions.revoke(caller, SessionId::generate()).await
        };

        assert!(matches!(revoke(Some(1)).await, Ok(())));
        assert!(matches!(revoke(Some(0)).await, Err(RevokeError::Unknown)));
        assert!(matches!(revoke(None).await, Err(RevokeError::Gone)));
    }

    #[tokio::test]
    async fn sessions_are_told_in_parts() {
        let entry = |micros| SessionEntry {
            session: SessionId::generate(),
            began_at: Timestamp::from_micros(micros),
            used_at: Timestamp::from_micros(micros),
            method: PASSWORD.name().to_owned(),
            signed_in_from: None,
            device: tidied(),
        };
        let (first, second) = (entry(2), entry(1));
        let (mut store, stored) = (MockSessionStore::new(), vec![first.clone(), second]);
        store
            .expect_page()
            .withf(|_, now, page| (*now, page.limit) == (Timestamp::UNIX_EPOCH, 2))
            .returning(move |_, _, _| Ok(stored.clone()));

        let page = Page { after: None, limit: 1 };
        let part = fixture(store, None).sessions.page(UserId::generate(), page).await.unwrap();

        assert_eq!(part.next, Some(Place { at: first.began_at, id: first.session.0 }));
        assert_eq!(part.items, [first]);
    }
}
