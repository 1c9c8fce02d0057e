//! What this domain asks of the outside world.

mod api_keys;
mod app_passwords;
mod rate_limits;
mod candidate;
mod password_throttle;
mod session_starts;
mod sign_in_log;

use std::time::Duration;

use async_trait::async_trait;
use pia_kernel::{AppPasswordId, SideEffects, PageRequest, Secret, SessionId, Timestamp, Unavailable, UserId};

use crate::access_tokens::SessionRef;
use crate::account::{Account, CredentialsEpoch, CustomerType, ApiKeyRef, CallerState};
use crate::device::{Device, Network};

pub use api_keys::*;
pub use app_passwords::*;
pub use rate_limits::*;
pub use candidate::*;
pub use password_throttle::*;
pub use session_starts::*;
pub use sign_in_log::*;

mod factors;
mod providers;

pub use factors::*;
pub use providers::*;

mod mailed_tokens;
mod passwords;

pub use mailed_tokens::*;
pub use passwords::*;
mod first_admin;
mod invitations;
mod roles;

pub use first_admin::*;
pub use invitations::*;
pub use roles::*;
mod passkeys;

pub use passkeys::*;

/// An account that is about to be made.
#[derive(Debug, Clone)]
pub struct NewAccount {
    /// The account; its address is the only one spelled so, whatever its case.
    pub account: Account,
    /// What is kept of its password, as [`PasswordHasher`] made it; nothing if
    /// it has none.
    pub password_hash: Option<Secret<String>>,
    /// Who vouches for it elsewhere.
    pub identity: Option<ProviderIdentity>,
    /// What its owner is to show that they got mail with.
    pub verification: Option<NewMailedToken>,
    /// The invitation that it uses up. Role and group are the invitation's.
    pub invitation: Option<ShownInvitation>,
}

impl NewAccount {
    /// An account with a password, which nothing else is stored with.
    pub fn local(account: Account, password_hash: Secret<String>) -> Self {
        let password_hash = Some(password_hash);
        Self { account, password_hash, identity: None, verification: None, invitation: None }
    }
}

/// Whom an identity provider knows somebody as. Both together are theirs for
/// ever; neither is an address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderIdentity {
    /// Which provider says so.
    pub issuer: String,
    /// Its name for them.
    pub subject: String,
}

/// What a token in a letter is good for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MailedPurpose {
    /// Showing that the address is its owner's.
    Verification,
    /// Choosing another password.
    PasswordReset,
}

impl MailedPurpose {
    /// Its name where it is kept.
    pub fn name(self) -> &'static str {
        match self {
            Self::Verification => "verification",
            Self::PasswordReset => "password_reset",
        }
    }
}

/// A token that goes out in a letter; it is good once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewMailedToken {
    /// What is kept of it.
    pub hash: TokenHash,
    /// What it is good for.
    pub purpose: MailedPurpose,
    /// When it ends.
    pub expires_at: Timestamp,
}

/// What came of making an account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Registered {
    /// It is stored.
    Stored,
    /// An account with this address was there before.
    EmailTaken,
    /// As many accounts as the licence allows are there already.
    SeatsTaken,
    /// There is no such invitation for this address, or no longer, or it makes
    /// an administrator and the licence allows no more of them. Said before
    /// anything is said of address and seats.
    NotInvited,
}

/// An account as sign-in reads it.
#[derive(Debug, Clone)]
pub struct Credentials {
    /// The account.
    pub account: Account,
    /// What is kept of its password; nothing if it has none.
    pub password_hash: Option<Secret<String>>,
}

/// Where accounts are kept.
#[cfg_attr(any(test, feature = "mock"), mockall::automock)]
#[async_trait]
pub trait AccountStore: Send + Sync {
    /// Stores a new account and its effects, atomically.
    ///
    /// However many register at once, no address is stored twice (compared
    /// without regard to case), no more than `seats` accounts are active, and
    /// no invitation is used twice. One that is not used stays.
    async fn register(
        &self,
        new: NewAccount,
        seats: Option<u32>,
        effects: SideEffects,
    ) -> Result<Registered, Unavailable>;

    /// The account with this address, however it is spelled; nothing if there
    /// is none or it is deactivated. Of two that a version before stored under
    /// two spellings of one domain, it is the one that was spelled like this.
    async fn by_email(&self, email: &str) -> Result<Option<Credentials>, Unavailable>;

    /// The same with what sign-in asks besides: whether it was signed in to
    /// from this network since `since`, and whether it has a second factor.
    async fn candidate(
        &self,
        email: &str,
        from: Option<Network>,
        since: Timestamp,
    ) -> Result<Option<Candidate>, Unavailable>;

    /// The account as it is now.
    async fn find(&self, user: UserId) -> Result<Option<Account>, Unavailable>;

    /// What the gates ask of a caller who shows a token of this session: the
    /// account and the session as they are now, never as remembered; nothing
    /// if either is gone, the account is deactivated or the session is over.
    async fn standing(
        &self,
        user: UserId,
        session: SessionId,
        now: Timestamp,
    ) -> Result<Option<CallerState>, Unavailable>;

    /// The same of whoever calls with a key: nothing if the account is no more
    /// or deactivated, the key has ended or was taken away, or its scopes are
    /// not known here.
    async fn key_standing(
        &self,
        claim: ApiKeyRef,
        now: Timestamp,
    ) -> Result<Option<CallerState>, Unavailable>;

    /// Replaces what is kept of a password, if it is still `old`.
    async fn rehash(
        &self,
        user: UserId,
        old: &Secret<String>,
        new: &Secret<String>,
    ) -> Result<(), Unavailable>;

    /// Records the declaration of a trader, with its effects. Answers whether
    /// there was such an account.
    async fn declare(
        &self,
        user: UserId,
        customer: CustomerType,
        company: &str,
        effects: SideEffects,
    ) -> Result<bool, Unavailable>;
}

/// What is kept of a refresh token: its SHA-256 under a key of the server's.
/// The token itself is never stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TokenHash(pub [u8; 32]);

/// The first refresh token of a session, as sign-in stores it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewSession {
    /// The sign-in it begins.
    pub session: SessionId,
    /// Whose it is.
    pub user: UserId,
    /// As of when its user's credentials were looked at.
    pub epoch: CredentialsEpoch,
    /// What is kept of its first refresh token.
    pub hash: TokenHash,
    /// When it began.
    pub at: Timestamp,
    /// When it ends unless it is continued before.
    pub expires_at: Timestamp,
    /// How its user proved who they are.
    pub method: SignInMethod,
    /// The app password that it began with, and ends with.
    pub app_password: Option<AppPasswordId>,
    /// What it is used on.
    pub device: Device,
}

/// A live session as its user is told of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionEntry {
    /// The session.
    pub session: SessionId,
    /// When it began.
    pub began_at: Timestamp,
    /// When it was continued last, or else began.
    pub used_at: Timestamp,
    /// How its user proved who they are: see [`SignInMethod::name`].
    pub method: String,
    /// From where they did.
    pub signed_in_from: Option<String>,
    /// What it is used on, and from where it was continued last.
    pub device: Device,
}

/// Which of a user's sessions are to end.
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
    /// What it is known by.
    pub hash: TokenHash,
    /// The one token that can follow it.
    pub successor: TokenHash,
    /// When it was presented.
    pub at: Timestamp,
    /// How long a lost answer may be asked for again.
    pub grace: Duration,
    /// How long the session lives from now on unless it is continued again.
    pub lifetime: Duration,
    /// What presents it; what it leaves unsaid stays as it was.
    pub device: Device,
}

/// What came of presenting a refresh token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rotation {
    /// Its successor is stored, now or within the grace before.
    Rotated {
        /// Whose session goes on.
        user: UserId,
        /// Which one.
        session: SessionId,
    },
    /// It was used before; its whole session is over.
    Reused,
    /// It is unknown, expired, of an ended session or of a deactivated account.
    Refused,
}

/// What came of beginning a session, or a way to one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Begun {
    /// It is there.
    Done,
    /// The account is no more or deactivated, its credentials were changed, or
    /// the app password is no more.
    Stale,
}

/// What is written with the end of a session, once the store knows whose it is.
pub type EndEffects = fn(UserId, Timestamp) -> SideEffects;

/// What else is written with the beginning of a session.
#[derive(Debug, Clone, Copy)]
pub struct BeginEffects {
    /// With the end of each session that makes room.
    pub if_ended: EndEffects,
    /// Where the account was signed in to before, and never on this device.
    pub if_new_device: EndEffects,
}

/// Where sessions and their refresh tokens are kept.
#[cfg_attr(any(test, feature = "mock"), mockall::automock)]
#[async_trait]
pub trait SessionStore: Send + Sync {
    /// Stores a new session, the sign-in it began with and its effects,
    /// atomically; or none of it, where the account or the app password that
    /// it begins with is there no more, or the account's credentials are not
    /// those of the session's epoch.
    ///
    /// Of a user's live sessions at most `most` stay, however many begin at
    /// once: those that began first end, each with what `others` says. That an
    /// app password was used is remembered too.
    async fn begin(
        &self,
        session: NewSession,
        most: usize,
        effects: SideEffects,
        others: BeginEffects,
    ) -> Result<Begun, Unavailable>;

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

/// How many accounts there may be.
#[cfg_attr(any(test, feature = "mock"), mockall::automock)]
pub trait Seats: Send + Sync {
    /// The most accounts that may be active; nothing if there is no limit.
    fn limit(&self) -> Option<u32>;

    /// The most of them that may be administrators; nothing if there is no
    /// limit.
    fn admins(&self) -> Option<u32>;
}
