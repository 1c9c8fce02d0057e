//! Port of the users whom SCIM clients manage; implemented in `storage-identity`.

use async_trait::async_trait;
use pia_kernel::{SideEffects, Timestamp, Unavailable, UserId};

use crate::ports::SeatLimits;
use crate::scim::user::{ScimUser, ScimUserAttributes, ScimUserChange};
use crate::violation::Violation;

/// Store of users that SCIM clients manage: all accounts but those that a
/// client has deleted.
///
/// Under concurrency, across all instances, no two users have the same `userName`
/// (without regard to case), `externalId` or email address, and no change is
/// lost. A change without a difference writes no effects.
#[cfg_attr(any(test, feature = "mock"), mockall::automock)]
#[async_trait]
pub trait ScimUserStore: Send + Sync {
    /// Stores an account without a credential, in the default group. If a client
    /// had deleted a user with the same email address, that user is restored
    /// instead. Returns `SeatsTaken` if `seats` accounts are active.
    async fn create(
        &self,
        new: NewScimUser,
        seats: Option<u32>,
        effects: SideEffects,
    ) -> Result<ScimUserCreationOutcome, Unavailable>;

    /// Returns a user whom SCIM clients see; `None` for all others.
    async fn find(&self, user: UserId) -> Result<Option<ScimUser>, Unavailable>;

    /// Loads part of a list of users.
    async fn list(&self, query: ScimUserQuery) -> Result<ScimUserPage, Unavailable>;

    /// Applies all of the changes to the stored attributes, or none. A new email
    /// address counts as verified, and ends the links that were sent to the
    /// previous address.
    async fn change(&self, edit: ScimUserEdit) -> Result<ScimUserChangeOutcome, Unavailable>;

    /// Hides a user from SCIM clients until one creates them again. Returns
    /// whether there was such a user.
    async fn withdraw(
        &self,
        user: UserId,
        at: Timestamp,
        effects: SideEffects,
    ) -> Result<bool, Unavailable>;
}

/// Condition that a list of users meets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ScimUserCondition {
    /// User has this id.
    Id(UserId),
    /// No user meets it.
    Never,
    /// A text matches, without regard to case; `externalId` only exactly.
    Text(ScimUserText, TextMatch, String),
    /// A text is present.
    Present(ScimUserText),
    /// Account is active, or not.
    Active(bool),
    /// User was last changed after this time.
    ChangedAfter(Timestamp),
}

/// Text attribute of a user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScimUserText {
    /// `userName`.
    UserName,
    /// `externalId`.
    ExternalId,
    /// Email address.
    Email,
    /// `displayName`.
    DisplayName,
    /// `name.givenName`.
    GivenName,
    /// `name.familyName`.
    FamilyName,
}

/// Comparison of an attribute with a condition's text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextMatch {
    /// Is the text.
    Equals,
    /// Contains the text.
    Contains,
    /// Begins with the text.
    StartsWith,
    /// Ends with the text.
    EndsWith,
}

/// Selection of a list of users.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScimUserQuery {
    /// Conditions, all of which are met.
    pub conditions: Vec<ScimUserCondition>,
    /// Number of users that are skipped: SCIM's `startIndex` less one.
    pub offset: u32,
    /// Maximum number of users of this page.
    pub limit: u32,
}

/// Part of a list of users.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScimUserPage {
    /// Number of all users that meet the conditions.
    pub total: u64,
    /// Selected users, oldest account first.
    pub users: Vec<ScimUser>,
}

/// User to be created.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewScimUser {
    /// Id of the account that is created.
    pub user: UserId,
    /// Attributes that the client has set.
    pub attributes: ScimUserAttributes,
    /// False for an account that is deactivated until a client activates it.
    pub is_active: bool,
    /// Time of the account's creation.
    pub created_at: Timestamp,
}

/// Changes of a user, to be stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScimUserEdit {
    /// User who is changed.
    pub user: UserId,
    /// [Version](ScimUser::version) that the user must be, if any.
    pub expected: Option<String>,
    /// Changes, applied in this order.
    pub changes: Vec<ScimUserChange>,
    /// Deactivation or reactivation of the account in the same transaction.
    pub activation: Option<ActivationChange>,
    /// Time of the change, for its effects.
    pub at: Timestamp,
    /// Side effects of a change of any attribute.
    pub effects: SideEffects,
}

/// Change of whether an account is active. It has no effects if the account is so already.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ActivationChange {
    /// Deactivates the account and ends its sessions, as
    /// [`RoleStore::deactivate`](super::RoleStore::deactivate) does.
    Deactivate(SideEffects),
    /// Reactivates the account within these limits, as
    /// [`RoleStore::reactivate`](super::RoleStore::reactivate) does.
    Reactivate(SeatLimits, SideEffects),
}

/// Unique attribute that another user has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TakenAttribute {
    /// `userName`.
    UserName,
    /// `externalId`.
    ExternalId,
    /// Email address.
    Email,
}

/// Outcome of creating a user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ScimUserCreationOutcome {
    /// Account was created, with its effects.
    Stored,
    /// A user whom a SCIM client had deleted is managed again, still
    /// deactivated.
    Restored(UserId),
    /// Another user has the attribute.
    Taken(TakenAttribute),
    /// Licence has no seat left.
    SeatsTaken,
}

/// Outcome of changing a user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ScimUserChangeOutcome {
    /// User has these attributes, now or from before.
    Done(Box<ScimUser>),
    /// Account does not exist, or no SCIM client sees it.
    Unknown,
    /// User is not the expected version.
    Stale,
    /// Another user has the attribute.
    Taken(TakenAttribute),
    /// A change is invalid.
    Invalid(Violation),
    /// Account has an administrative role, so its email address stays, and it is not
    /// reactivated.
    Privileged,
    /// Account is the last active administrator's and stays active.
    LastAdmin,
    /// Licence has no seat left for the account.
    SeatsTaken,
    /// Account is an administrator's, and the licence allows no further administrator.
    AdminsTaken,
}
