//! Start, refresh and end of sessions.
//!
//! `start` and its variants store a session. A device gets two tokens: the
//! access token, which the gates verify (`access_tokens.rs`), and the refresh
//! token, which `refresh` replaces by a successor (`refresh_tokens.rs`). A
//! browser gets a cookie instead (`consoles.rs`). Tokens carry no
//! permissions: `caller_cache.rs` loads those, and whether the session still
//! lives.

pub(crate) mod access_tokens;
pub(crate) mod caller_cache;
pub(crate) mod consoles;
pub(crate) mod credential;
mod errors;
pub(crate) mod refresh_tokens;
pub(crate) mod session_proofs;
pub(crate) mod signing_keys;
pub(crate) mod token_hash;

use std::sync::Arc;
use std::time::Duration;

use pia_kernel::{
    AppPasswordId, Clock, Cursor, LiveSetting, Page, PageRequest, QueuedEmail, Secret, SessionId,
    SideEffects, Timestamp, Unavailable, UserId,
};

use crate::people::account::{Account, CallerState};
use crate::ports::{
    NewSession, PresentedToken, Revoked, RotationOutcome, SessionEntry, SessionStartEffects,
    SessionStartOutcome, SessionStore, SignInMethod, TokenHash,
};
use crate::sessions::access_tokens::{AccessTokens, SessionRef};
use crate::sessions::caller_cache::CallerCache;
use crate::sessions::consoles::BrowserStart;
use crate::sessions::refresh_tokens::{PresentedRefreshToken, RefreshKeys};
use crate::sign_in::device::SignInDevice;

pub use errors::{RefreshError, RevokeError, StartError};

/// Lifetimes of sessions and their tokens, and the limit of their number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SessionSettings {
    /// Lifetime of an access token.
    pub access_lifetime: Duration,
    /// Lifetime of a session that is not refreshed.
    pub refresh_lifetime: Duration,
    /// Time during which a device that lost the response may repeat the
    /// request.
    pub grace: Duration,
    /// Maximum number of live sessions of devices per user, and of browsers; those of app
    /// passwords, then the oldest, are evicted.
    pub max_sessions: usize,
}

impl Default for SessionSettings {
    fn default() -> Self {
        Self {
            access_lifetime: Duration::from_mins(15),
            refresh_lifetime: Duration::from_hours(30 * 24),
            grace: Duration::from_secs(30),
            max_sessions: 10,
        }
    }
}

/// Tokens of a device's session. Of the refresh token only a hash is stored, of the
/// access token nothing.
#[derive(Debug, Clone)]
pub struct SessionTokens {
    /// Access token, presented with each request.
    pub access: Secret<String>,
    /// Refresh token, valid for one refresh.
    pub refresh: Secret<String>,
    /// Lifetime of the access token.
    pub expires_in: Duration,
    /// Session that both tokens belong to.
    pub session: SessionId,
}

/// Ports of sessions, and the issuers of their tokens.
#[derive(Clone)]
pub struct SessionPorts {
    /// Store of sessions and refresh tokens.
    pub store: Arc<dyn SessionStore>,
    /// Cache that is notified of sessions that end.
    pub caller_cache: CallerCache,
    /// Issuer of the access tokens, which no store has.
    pub access_tokens: AccessTokens,
    /// Keys that hash refresh tokens and derive their successors.
    pub refresh_keys: RefreshKeys,
}

/// Sessions of devices and browsers, from their start to their end.
#[derive(Clone)]
pub struct Sessions {
    ports: SessionPorts,
    settings: LiveSetting<SessionSettings>,
    clock: Arc<dyn Clock>,
}

impl Sessions {
    /// Creates sessions over these ports, under settings that may change at run time.
    pub fn new(
        ports: SessionPorts,
        settings: LiveSetting<SessionSettings>,
        clock: Arc<dyn Clock>,
    ) -> Self {
        Self { ports, settings, clock }
    }

    /// Starts a session after successful authentication. The account must have been loaded before
    /// the credentials were verified.
    pub async fn start(
        &self,
        account: &Account,
        method: SignInMethod,
        device: SignInDevice,
    ) -> Result<SessionTokens, StartError> {
        self.start_device(account, method, None, device).await
    }

    /// Starts a session by an app password: it ends with that, and may not change what secures the
    /// account.
    pub(crate) async fn start_by_app_password(
        &self,
        account: &Account,
        app_password: AppPasswordId,
        device: SignInDevice,
    ) -> Result<SessionTokens, StartError> {
        self.start_device(account, SignInMethod::AppPassword, Some(app_password), device).await
    }

    async fn start_device(
        &self,
        account: &Account,
        method: SignInMethod,
        app_password: Option<AppPasswordId>,
        device: SignInDevice,
    ) -> Result<SessionTokens, StartError> {
        let refresh = refresh_tokens::fresh()?;
        let hash = self.ports.refresh_keys.hash(&refresh);
        let new_session = self.new_session(account, method, device, hash);
        let user = new_session.user;
        let session = new_session.session;
        self.begin(NewSession { app_password, ..new_session }).await?;
        Ok(self.grant(user, session, refresh)?)
    }

    /// Starts the session of a browser, which ends if it is not used for `idle`. It has no
    /// refresh token: the one of its row is never issued.
    pub(crate) async fn start_browser(
        &self,
        account: &Account,
        start: BrowserStart,
    ) -> Result<SessionRef, StartError> {
        let BrowserStart { area, method, device, idle } = start;
        let hash = self.ports.refresh_keys.hash(&refresh_tokens::fresh()?);
        let new_session = self.new_session(account, method, device, hash);
        let session = SessionRef { user: new_session.user, session: new_session.session };
        self.begin(NewSession {
            browser: Some(area),
            expires_at: new_session.at + idle,
            ..new_session
        })
        .await?;
        Ok(session)
    }

    /// Returns a device's session; callers change what a browser's or an app password's has
    /// otherwise.
    fn new_session(
        &self,
        &Account { user, epoch, .. }: &Account,
        method: SignInMethod,
        device: SignInDevice,
        hash: TokenHash,
    ) -> NewSession {
        let at = self.clock.now();
        NewSession {
            session: SessionId::generate(),
            user,
            epoch,
            hash,
            at,
            expires_at: at + self.settings.get().refresh_lifetime,
            method,
            app_password: None,
            device: device.tidy(),
            browser: None,
        }
    }

    async fn begin(&self, new_session: NewSession) -> Result<(), StartError> {
        let user = new_session.user;
        let effects = SideEffects::audit(new_session.at, user, "session.started");
        let conditional_effects =
            SessionStartEffects { if_ended: eviction_effects, if_new_device: new_device_effects };
        let max = self.settings.get().max_sessions;
        match self.ports.store.begin(new_session, max, effects, conditional_effects).await? {
            SessionStartOutcome::Done => {}
            SessionStartOutcome::Stale => return Err(StartError::Stale),
        }
        // The evicted session is unknown, only its user is.
        self.ports.caller_cache.forget_user(user);
        Ok(())
    }

    /// Ends the session of a browser.
    pub(crate) async fn end_console(&self, session: SessionRef) -> Result<(), RevokeError> {
        self.revoke(session, session.session).await
    }

    /// Loads the current state of a browser session's caller, and extends the
    /// session by `idle` if it was not used for a minute.
    pub(crate) async fn console_caller(
        &self,
        session: SessionRef,
        idle: Duration,
    ) -> Result<Option<CallerState>, Unavailable> {
        let caller = self.ports.caller_cache.fresh(session).await?;
        if caller.is_some_and(|it| it.scope.is_browser()) {
            let now = self.clock.now();
            self.ports.store.extend_console(session, now, now + idle).await?;
        }
        Ok(caller)
    }

    /// Exchanges a refresh token for new tokens.
    pub async fn refresh(
        &self,
        token: &Secret<String>,
        device: SignInDevice,
    ) -> Result<SessionTokens, RefreshError> {
        let device = device.tidy();

        for candidate in self.ports.refresh_keys.hashes_of(token) {
            let presented_token = self.presented_token(&candidate, device.clone()).await?;
            match self.ports.store.rotate(presented_token, reuse_effects).await? {
                RotationOutcome::Rotated { user, session } => {
                    return Ok(self.grant(user, session, candidate.successor)?);
                }
                RotationOutcome::Reused => {
                    // The outcome does not name the user; this is rare enough to invalidate every
                    // entry.
                    self.ports.caller_cache.forget_everyone();
                    return Err(RefreshError::Reused);
                }
                // Perhaps issued under the previous key, which is tried next.
                RotationOutcome::Refused => {}
            }
        }

        Err(RefreshError::Invalid)
    }

    /// Signs a device out. An invalid token ends nothing and is no error: the device is signed out
    /// either way.
    pub async fn end(&self, token: &Secret<String>) -> Result<(), Unavailable> {
        for candidate in self.ports.refresh_keys.hashes_of(token) {
            let ended_session =
                self.ports.store.end(candidate.hash, self.clock.now(), end_effects).await?;
            if let Some(session) = ended_session {
                self.ports.caller_cache.forget(session);
                break;
            }
        }
        Ok(())
    }

    /// Returns the session of a refresh token, used or not, so that requests can be counted against
    /// that session.
    pub async fn session_of(
        &self,
        token: &Secret<String>,
    ) -> Result<Option<SessionId>, Unavailable> {
        for candidate in self.ports.refresh_keys.hashes_of(token) {
            if let Some(session) = self.ports.store.session_of(candidate.hash).await? {
                return Ok(Some(session));
            }
        }
        Ok(None)
    }

    /// Returns a page of a user's live sessions, the newest first.
    pub async fn page(
        &self,
        user: UserId,
        page: PageRequest,
    ) -> Result<Page<SessionEntry>, Unavailable> {
        let entries = self.ports.store.page(user, self.clock.now(), page.and_one_more()).await?;
        Ok(page.into_page(entries, |it| Cursor { at: it.began_at, id: it.session.0 }))
    }

    /// Ends one of the caller's sessions, which may be their current one.
    pub async fn revoke(&self, caller: SessionRef, session: SessionId) -> Result<(), RevokeError> {
        match self.end_all(caller, Revoked::One(session)).await? {
            0 => Err(RevokeError::Unknown),
            _ => Ok(()),
        }
    }

    /// Ends every session of the caller but the current one. Returns their number.
    pub async fn revoke_others(&self, caller: SessionRef) -> Result<u64, RevokeError> {
        self.end_all(caller, Revoked::Others).await
    }

    async fn end_all(&self, caller: SessionRef, targets: Revoked) -> Result<u64, RevokeError> {
        let count =
            self.ports.store.revoke(caller, targets, self.clock.now(), revocation_effects).await?;
        // Also if nothing ended here: another instance may have ended some.
        self.ports.caller_cache.forget_user(caller.user);
        count.ok_or(RevokeError::Gone)
    }

    /// Deletes sessions that have expired. Returns their number.
    pub async fn sweep(&self) -> Result<u64, Unavailable> {
        self.ports.store.sweep(self.clock.now()).await
    }

    async fn presented_token(
        &self,
        token: &PresentedRefreshToken,
        device: SignInDevice,
    ) -> Result<PresentedToken, Unavailable> {
        let settings = *self.settings.get();

        // A token whose response was lost during a key change has a successor under the previous
        // key, and must not be treated as stolen.
        let successor = match token.successor_hash_before {
            Some(hash) if self.ports.store.session_of(hash).await?.is_some() => hash,
            _ => token.successor_hash,
        };

        Ok(PresentedToken {
            hash: token.hash,
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
    ) -> Result<SessionTokens, Unavailable> {
        let access = self.ports.access_tokens.issue(user, session)?;
        Ok(SessionTokens { access: access.token, refresh, expires_in: access.expires_in, session })
    }
}

fn new_device_effects(user: UserId, at: Timestamp) -> SideEffects {
    SideEffects::default().and_mail(QueuedEmail::new("new-device").to_user(at, user))
}

fn eviction_effects(user: UserId, at: Timestamp) -> SideEffects {
    SideEffects::about(at, user, "session.evicted")
}

/// Returns the side effects of ending a session whose token someone else may
/// hold.
fn reuse_effects(user: UserId, at: Timestamp) -> SideEffects {
    SideEffects::about(at, user, "session.reuse_detected")
}

fn revocation_effects(user: UserId, at: Timestamp) -> SideEffects {
    SideEffects::audit(at, user, "session.revoked")
}

fn end_effects(user: UserId, at: Timestamp) -> SideEffects {
    SideEffects::audit(at, user, "session.ended")
}

#[cfg(test)]
mod tests;
