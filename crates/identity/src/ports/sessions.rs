//! Port of sessions and their refresh tokens; implemented in `storage-identity`.
//!
//! A session lives until it expires, is ended, or exceeds the number of
//! sessions of its user. The row of an ended session is deleted at once, that
//! of an expired one by `sweep`. The gates read it through
//! `AccountStore::caller_state`.

use std::time::Duration;

use async_trait::async_trait;
use pia_kernel::{
    AppPasswordId, PageRequest, SessionId, SideEffects, Timestamp, Unavailable, UserId,
};

use super::SignInMethod;
use crate::people::account::CredentialsEpoch;
use crate::sessions::access_tokens::SessionRef;
use crate::sessions::consoles::BrowserArea;
use crate::sign_in::device::SignInDevice;

/// Store of sessions and their refresh tokens.
#[cfg_attr(any(test, feature = "mock"), mockall::automock)]
#[async_trait]
pub trait SessionStore: Send + Sync {
    /// Stores a new session, its sign-in and its effects, atomically. Stores nothing if the account
    /// or the app password is gone, or the account's credentials are not those of the session's
    /// epoch.
    ///
    /// A user has at most `max` live sessions on devices and as many in browsers, even with
    /// concurrent calls: the oldest end, each with its effects of `conditional_effects`. The use of
    /// an app password is recorded too.
    async fn begin(
        &self,
        session: NewSession,
        max: usize,
        effects: SideEffects,
        conditional_effects: SessionStartEffects,
    ) -> Result<SessionStartOutcome, Unavailable>;

    /// Sets the time of last use and the expiry of a browser's session. Changes nothing if the
    /// session has ended or was used within the last minute.
    async fn extend_console(
        &self,
        session: SessionRef,
        used_at: Timestamp,
        expires_at: Timestamp,
    ) -> Result<(), Unavailable>;

    /// Consumes a token and stores its successor, atomically.
    ///
    /// However often a token is presented at once, one successor is stored. Within the grace
    /// period, and while that successor is unused, a consumed token gets the same outcome as at
    /// first; any other consumed token ends its session with the effects of `if_reused`.
    async fn rotate(
        &self,
        token: PresentedToken,
        if_reused: EndEffects,
    ) -> Result<RotationOutcome, Unavailable>;

    /// Returns the session of a refresh token, consumed or not.
    async fn session_of(&self, token: TokenHash) -> Result<Option<SessionId>, Unavailable>;

    /// Ends the session of a refresh token, with its effects. Returns that session; `None` if the
    /// token is unknown.
    async fn end(
        &self,
        token: TokenHash,
        at: Timestamp,
        effects: EndEffects,
    ) -> Result<Option<SessionRef>, Unavailable>;

    /// Returns a page of a user's live sessions, the newest first.
    async fn page(
        &self,
        user: UserId,
        now: Timestamp,
        page: PageRequest,
    ) -> Result<Vec<SessionEntry>, Unavailable>;

    /// Ends live sessions of a user, each with its effects, if the session that makes the request
    /// is live itself. Returns the number of ended sessions; `None` if the caller's is over.
    ///
    /// Under concurrency, no session is ended by one that is over, and no session that started
    /// before the call outlives it.
    async fn revoke(
        &self,
        by: SessionRef,
        revoked: Revoked,
        now: Timestamp,
        effects: EndEffects,
    ) -> Result<Option<u64>, Unavailable>;

    /// Deletes sessions that expired before `now`. Returns their number.
    async fn sweep(&self, now: Timestamp) -> Result<u64, Unavailable>;
}

/// Stored form of a refresh token: its SHA-256, keyed with a server key. The token itself is never
/// stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TokenHash(pub [u8; 32]);

/// A new session with its first refresh token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewSession {
    /// Id, which access tokens of the session carry.
    pub session: SessionId,
    /// Owner of the session.
    pub user: UserId,
    /// Version of the credentials at the time of the check.
    pub epoch: CredentialsEpoch,
    /// Hash of the first refresh token.
    pub hash: TokenHash,
    /// Time of the sign-in.
    pub at: Timestamp,
    /// Expiry time unless it is refreshed before.
    pub expires_at: Timestamp,
    /// Method of the sign-in.
    pub method: SignInMethod,
    /// App password that it was started with, and ends with.
    pub app_password: Option<AppPasswordId>,
    /// Device that it is used on.
    pub device: SignInDevice,
    /// Pages that a browser signed in to; `None` for a device.
    pub browser: Option<BrowserArea>,
}

/// A live session in its user's list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionEntry {
    /// Id that its user names to end it.
    pub session: SessionId,
    /// Time of the sign-in.
    pub began_at: Timestamp,
    /// Time of the last refresh, or else the start time.
    pub used_at: Timestamp,
    /// Method of the sign-in: see [`SignInMethod::name`].
    pub method: String,
    /// Address that its user signed in from.
    pub signed_in_from: Option<String>,
    /// Device that it is used on, and the address it was last refreshed from.
    pub device: SignInDevice,
    /// True for the session of a browser.
    pub console: bool,
}

/// Sessions of a user that are to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Revoked {
    /// This session, which may be the one that makes the request.
    One(SessionId),
    /// All but the session that makes the request.
    Others,
}

/// A refresh token that a device presents to have it replaced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PresentedToken {
    /// Hash under which it is found.
    pub hash: TokenHash,
    /// Hash of the only token that can succeed it.
    pub successor: TokenHash,
    /// Time of the request, from which `lifetime` counts.
    pub at: Timestamp,
    /// Duration for which a lost response may be requested again.
    pub grace: Duration,
    /// Lifetime of the session from now on, unless it is refreshed again.
    pub lifetime: Duration,
    /// Device that presents it; absent fields stay unchanged.
    pub device: SignInDevice,
}

/// Outcome of presenting a refresh token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RotationOutcome {
    /// Successor is stored, now or earlier within the grace period.
    Rotated {
        /// Owner, for whom an access token is issued.
        user: UserId,
        /// Session, which stays the same from token to token.
        session: SessionId,
    },
    /// Token was used before; its session has ended.
    Reused,
    /// Token is unknown, expired, of an ended session or of a deactivated account.
    Refused,
}

/// Outcome of storing a session or a step towards one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionStartOutcome {
    /// Session or step was stored, with its effects.
    Done,
    /// Account is gone or deactivated, its credentials were changed, or the app password was
    /// removed.
    Stale,
}

/// Side effects of the end of a session, by its owner and the time.
pub type EndEffects = fn(UserId, Timestamp) -> SideEffects;

/// Side effects of the start of a session.
#[derive(Debug, Clone, Copy)]
pub struct SessionStartEffects {
    /// Side effects of the end of each session that makes room.
    pub if_ended: EndEffects,
    /// Side effects if the account was signed in to before, but never on this device.
    pub if_new_device: EndEffects,
}
