//! Beginning a session, continuing it with a refresh token, and ending it.

use std::sync::Arc;
use std::time::Duration;

use pia_kernel::{Clock, Effects, Live, Secret, SessionId, Timestamp, Unavailable, UserId};

use crate::access_tokens::{AccessTokens, Claim};
use crate::ports::{NewSession, Presented, Rotation, SessionStore};
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
    pub async fn start(&self, user: UserId) -> Result<Grant, Unavailable> {
        let settings = *self.settings.get();
        let (session, refresh) = (SessionId::generate(), refresh_tokens::fresh()?);
        let at = self.clock.now();
        let new = NewSession {
            session,
            user,
            hash: self.keys.hash(&refresh),
            at,
            expires_at: at + settings.refresh_lifetime,
        };
        let started = Effects::audit(at, user, "session.started");
        self.store.begin(new, settings.most, started, evicted).await?;
        // Which session made room is not told, only whose it was.
        self.standings.forget_user(user);
        self.grant(user, session, refresh)
    }

    /// Spends a refresh token for the next one.
    pub async fn refresh(&self, token: &Secret<String>) -> Result<Grant, RefreshError> {
        for shown in self.keys.seen(token) {
            let presented = self.presented(&shown).await?;
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

    /// Forgets sessions that have expired. Answers how many they were.
    pub async fn sweep(&self) -> Result<u64, Unavailable> {
        self.store.sweep(self.clock.now()).await
    }

    async fn presented(&self, shown: &Shown) -> Result<Presented, Unavailable> {
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
    Effects::audit(at, user, "session.evicted")
}

/// What goes with the end of a session whose token someone else may hold.
fn reuse_detected(user: UserId, at: Timestamp) -> Effects {
    Effects::audit(at, user, "session.reuse_detected")
}

fn ended(user: UserId, at: Timestamp) -> Effects {
    Effects::audit(at, user, "session.ended")
}

#[cfg(test)]
mod tests {
    use pia_testkit::FixedClock;

    use super::*;
    use crate::access_tokens::TokenNames;
    use crate::account::{CustomerType, Standing};
    use crate::ports::{MockAccountStore, MockSessionStore};
    use crate::signing_keys::SigningKeys;

    struct Fixture {
        sessions: Sessions,
        standings: Standings,
        access: AccessTokens,
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
        accounts.expect_standing().returning(|user, session, _| {
            Ok(Some(Standing { user, session, customer: CustomerType::Consumer }))
        });
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
        fixture(store, None).sessions.refresh(&secret("a token")).await
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
                    && *effects == Effects::audit(at, user, "session.started")
                    && if_ended(user, at) == Effects::audit(at, user, "session.evicted")
            })
            .once()
            .returning(|_, _, _, _| Ok(()));
        let fixture = fixture(store, None);

        let grant = fixture.sessions.start(user).await.unwrap();

        let claim = fixture.access.read(grant.access.expose());
        assert_eq!(claim, Some(Claim { user, session: grant.session }));
        assert_eq!(grant.expires_in, Duration::from_mins(15));
    }

    #[tokio::test]
    async fn only_a_keyed_hash_of_the_token_reaches_the_store() {
        let mut store = MockSessionStore::new();
        store.expect_begin().returning(|_, _, _, _| Ok(()));
        let sessions = fixture(store, None).sessions;

        let grant = sessions.start(UserId::generate()).await.unwrap();

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
                    && if_reused(user, at) == Effects::audit(at, user, "session.reuse_detected")
            })
            .once()
            .returning(|_, _| Ok(rotated()));

        fixture(store, None).sessions.refresh(&secret("a token")).await.unwrap();
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

        let refreshed = sessions.refresh(&secret(&"x".repeat(10_000))).await;
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

        let outcome =
            fixture(store, Some("the key before")).sessions.refresh(&secret("a token")).await;

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

        let outcome = fixture(store, Some("the key before")).sessions.refresh(&token).await;

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

        fixture.sessions.refresh(&secret("a token")).await.unwrap_err();

        assert_eq!(fixture.standings.cached(claim), None);
    }

    #[tokio::test]
    async fn a_new_session_has_the_users_others_looked_at_anew() {
        let claim = Claim { user: UserId::generate(), session: SessionId::generate() };
        let mut store = MockSessionStore::new();
        store.expect_begin().returning(|_, _, _, _| Ok(()));
        let fixture = fixture(store, None);
        fixture.standings.fresh(claim).await.unwrap();

        fixture.sessions.start(claim.user).await.unwrap();

        assert_eq!(fixture.standings.cached(claim), None);
    }
}
