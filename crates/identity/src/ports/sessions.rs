//! Store of sessions and their refresh tokens.

use std::time::Duration;

use async_trait::async_trait;
use pia_kernel::{
    AppPasswordId, PageRequest, SessionId, SideEffects, Timestamp, Unavailable, UserId,
};

use super::SignInMethod;
use crate::people::account::CredentialsEpoch;
use crate::sessions::access_tokens::SessionRef;
use crate::sign_in::device::SignInDevice;

/// Stored form of a refresh token: its SHA-256 under a key of the server's. The
/// token itself is never stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TokenHash(pub [u8; 32]);

/// The first refresh token of a session, as sign-in stores it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewSession {
    /// The sign-in it begins.
    pub session: SessionId,
    /// Owner of the session.
    pub user: UserId,
    /// Version of the credentials at the time of the check.
    pub epoch: CredentialsEpoch,
    /// Hash of its first refresh token.
    pub hash: TokenHash,
    /// Time at which it began.
    pub at: Timestamp,
    /// Time at which it ends unless it is continued before.
    pub expires_at: Timestamp,
    /// Method that its user signed in with.
    pub method: SignInMethod,
    /// The app password that it began with, and ends with.
    pub app_password: Option<AppPasswordId>,
    /// Device that it is used on.
    pub device: SignInDevice,
    /// True for the session of a browser in the console.
    pub console: bool,
}

/// A live session as its user is notified of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionEntry {
    /// The session.
    pub session: SessionId,
    /// Time at which it began.
    pub began_at: Timestamp,
    /// Time at which it was continued last, or else began.
    pub used_at: Timestamp,
    /// Method that its user signed in with: see [`SignInMethod::name`].
    pub method: String,
    /// From where they did.
    pub signed_in_from: Option<String>,
    /// Device that it is used on, and the address it was last refreshed from.
    pub device: SignInDevice,
    /// True for the session of a browser in the console.
    pub console: bool,
}

/// Sessions of a user that are to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Revoked {
    /// This one.
    One(SessionId),
    /// All but the one that says so.
    Others,
}

/// A refresh token that a device presents to have it replaced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PresentedToken {
    /// Hash of the token.
    pub hash: TokenHash,
    /// The one token that can follow it.
    pub successor: TokenHash,
    /// Time at which it was presented.
    pub at: Timestamp,
    /// Duration for which a lost answer may be requested again.
    pub grace: Duration,
    /// Duration for which the session lives from now on unless it is continued
    /// again.
    pub lifetime: Duration,
    /// Device that presents it; what it leaves out stays unchanged.
    pub device: SignInDevice,
}

/// Outcome of presenting a refresh token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rotation {
    /// Successor is stored, now or within the grace period before.
    Rotated {
        /// Owner of the session that continues.
        user: UserId,
        /// Id of the session.
        session: SessionId,
    },
    /// Token was used before; its session has ended.
    Reused,
    /// Token is unknown, expired, of an ended session or of a deactivated account.
    Refused,
}

/// Outcome of beginning a session, or a way to one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionStarted {
    /// Session was stored.
    Done,
    /// The account is no more or deactivated, its credentials were changed, or
    /// the app password is no more.
    Stale,
}

/// Side effects of the end of a session, given its owner.
pub type EndEffects = fn(UserId, Timestamp) -> SideEffects;

/// Side effects of the start of a session.
#[derive(Debug, Clone, Copy)]
pub struct SessionStartEffects {
    /// With the end of each session that makes room.
    pub if_ended: EndEffects,
    /// Side effects where the account was signed in to before, but never on
    /// this device.
    pub if_new_device: EndEffects,
}

/// Store of sessions and their refresh tokens.
#[cfg_attr(any(test, feature = "mock"), mockall::automock)]
#[async_trait]
pub trait SessionStore: Send + Sync {
    /// Stores a new session, the sign-in it began with and its effects,
    /// atomically; or none of it, where the account or the app password that
    /// it begins with is there no more, or the account's credentials are not
    /// those of the session's epoch.
    ///
    /// Of a user's live sessions of its kind, devices or consoles, at most
    /// `max` stay, however many begin at once: those that began first end, each with what `others` says. That an
    /// app password was used is remembered too.
    async fn begin(
        &self,
        session: NewSession,
        max: usize,
        effects: SideEffects,
        others: SessionStartEffects,
    ) -> Result<SessionStarted, Unavailable>;

    /// Sets when a console session was last used and when it ends, unless it
    /// has ended or was used within the last minute.
    async fn extend_console(
        &self,
        session: SessionRef,
        used_at: Timestamp,
        expires_at: Timestamp,
    ) -> Result<(), Unavailable>;

    /// Spends a token and stores its successor, atomically.
    ///
    /// However many present a token at once, one successor is stored. Within
    /// the grace, and while that successor is unused, a spent token is
    /// answered as it was at first; any other spent token ends its session,
    /// and what `if_reused` says of the owner is written with that end.
    async fn rotate(
        &self,
        token: PresentedToken,
        if_reused: EndEffects,
    ) -> Result<Rotation, Unavailable>;

    /// The session that a refresh token belongs to, spent or not.
    async fn session_of(&self, token: TokenHash) -> Result<Option<SessionId>, Unavailable>;

    /// Ends the session of a refresh token, with its effects. Answers which
    /// one that was.
    async fn end(
        &self,
        token: TokenHash,
        at: Timestamp,
        effects: EndEffects,
    ) -> Result<Option<(UserId, SessionId)>, Unavailable>;

    /// A part of a user's live sessions, those that began last first.
    async fn page(
        &self,
        user: UserId,
        now: Timestamp,
        page: PageRequest,
    ) -> Result<Vec<SessionEntry>, Unavailable>;

    /// Ends live sessions of a user, each with its effects, if the session
    /// that says so is live itself. Answers how many ended; nothing if it is
    /// not.
    ///
    /// However many do so at once, none is ended by a session that is over,
    /// and no session outlives it that began before.
    async fn revoke(
        &self,
        by: SessionRef,
        which: Revoked,
        now: Timestamp,
        effects: EndEffects,
    ) -> Result<Option<u64>, Unavailable>;

    /// Forgets sessions that expired before `now`. Answers how many they were.
    async fn sweep(&self, now: Timestamp) -> Result<u64, Unavailable>;
}
