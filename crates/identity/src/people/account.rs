//! Accounts, and the state of callers that the gates check.
//!
//! Use cases load an `Account`. The gates load a `CallerState`, which every
//! request needs, through `CallerCache`. Neither contains a secret.

use pia_kernel::{ApiKeyId, GroupId, SessionId, Timestamp, UserId};
use uuid::Uuid;

use crate::people::role::Role;
use crate::sessions::access_tokens::SessionRef;
use crate::sessions::credential::Credential;

/// Group of new accounts. A migration creates it with this id, which is therefore equal
/// on every server.
pub const DEFAULT_GROUP: GroupId =
    GroupId(Uuid::from_u128(0x0000_0000_0000_7000_8000_0000_0000_0001));

/// Provider of accounts with a password.
pub const LOCAL: &str = "local";

/// Provider of accounts that a SCIM client created, until their first sign-in.
pub const SCIM_PROVIDER: &str = "scim";

/// Capacity in which a person uses the service.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CustomerType {
    /// Capacity is not declared yet.
    #[default]
    NotDeclared,
    /// Uses the service as a trader.
    Business,
    /// Uses the service as a consumer.
    Consumer,
}

impl CustomerType {
    /// Returns the number on the wire and in the database.
    pub fn number(self) -> i32 {
        match self {
            Self::NotDeclared => 0,
            Self::Business => 1,
            Self::Consumer => 2,
        }
    }

    /// Returns the type with this number.
    pub fn from_number(number: i64) -> Option<Self> {
        match number {
            0 => Some(Self::NotDeclared),
            1 => Some(Self::Business),
            2 => Some(Self::Consumer),
            _ => None,
        }
    }
}

/// Version of an account's credentials: of its password, second factor and passkeys.
///
/// A session starts only if the version is still the one of when the account was loaded: a change
/// of credentials ends existing sessions, and so invalidates sign-ins in progress.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CredentialsEpoch(pub i64);

/// Account of a user, without its credentials.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Account {
    /// Account id. Never changes: it is part of what clients encrypt.
    pub user: UserId,
    /// Email address, as spelled by the user.
    pub email: String,
    /// Name that others see; `None` if the user has set none.
    pub display_name: Option<String>,
    /// Identity provider of the account: `local` for a password.
    pub provider: String,
    /// Customer type: consumer or trader.
    pub customer: CustomerType,
    /// Company that a trader declared; `None` for consumers.
    pub company_name: Option<String>,
    /// Time of its registration or provisioning.
    pub created_at: Timestamp,
    /// Permissions beyond the account's own data.
    pub role: Role,
    /// Group whose models, budgets and policy apply.
    pub group: GroupId,
    /// Time of verification of the address; `None` if unverified.
    pub email_verified_at: Option<Timestamp>,
    /// Version of the account's credentials.
    pub epoch: CredentialsEpoch,
}

impl Account {
    /// Returns a new account with a password and default properties.
    pub fn local(user: UserId, email: String, created_at: Timestamp) -> Self {
        Self {
            user,
            email,
            display_name: None,
            provider: LOCAL.to_owned(),
            customer: CustomerType::NotDeclared,
            company_name: None,
            created_at,
            role: Role::User,
            group: DEFAULT_GROUP,
            email_verified_at: None,
            epoch: CredentialsEpoch::default(),
        }
    }
}

/// Purposes that a session may be used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SessionScope {
    /// Everything that its owner may do.
    #[default]
    Full,
    /// The owner's data, but not what secures the account; for sessions of app passwords.
    Data,
    /// Administration and one's own account in a browser, and nothing else.
    Console,
    /// One's own account in a browser, and nothing else.
    Account,
    /// Script with an API key of the owner's; no session.
    Key(KeyUse),
}

impl SessionScope {
    /// Returns whether it is a browser's.
    pub fn is_browser(self) -> bool {
        matches!(self, Self::Console | Self::Account)
    }
}

/// Key of a script's call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyUse {
    /// Key that authenticated the request.
    pub key: ApiKeyId,
    /// Budget in whole credits per calendar week; 0 is no limit.
    pub weekly_credits: i64,
}

/// Reference to an API key and its owner.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ApiKeyRef {
    /// Owner of the key.
    pub user: UserId,
    /// Key, which may have been revoked since.
    pub key: ApiKeyId,
}

/// State of a caller that is checked on every request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CallerState {
    /// Account that the request acts for.
    pub user: UserId,
    /// Credential of the request.
    pub credential: Credential,
    /// Customer type: consumer or trader.
    pub customer: CustomerType,
    /// Permissions beyond the caller's own data.
    pub role: Role,
    /// Group of the account, as of the last load.
    pub group: GroupId,
    /// Purposes that the session may be used for.
    pub scope: SessionScope,
    /// True if the caller's address is verified.
    pub email_verified: bool,
    /// Time of the API key's expiry; `None` for one that does not, and for a session.
    pub key_expires_at: Option<Timestamp>,
}

impl CallerState {
    /// Returns a caller with a session and default properties.
    pub fn new(user: UserId, session: SessionId) -> Self {
        Self {
            user,
            credential: SessionRef { user, session }.into(),
            customer: CustomerType::NotDeclared,
            role: Role::User,
            group: DEFAULT_GROUP,
            scope: SessionScope::Full,
            email_verified: true,
            key_expires_at: None,
        }
    }

    /// Returns the group to which a manager's view is restricted; `None` for administrators, who
    /// see all groups.
    pub fn visible_group(&self) -> Option<GroupId> {
        (self.role != Role::Admin).then_some(self.group)
    }
}

/// Requirements that accounts must meet before they may use the service.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct AccountRules {
    /// True if accounts must declare whether they are traders.
    pub require_declaration: bool,
    /// True if addresses must be verified.
    pub require_verification: bool,
}

impl AccountRules {
    /// Returns whether the caller's address must still be verified.
    pub fn owes_verification(&self, caller: &CallerState) -> bool {
        self.require_verification && !caller.email_verified
    }

    /// Returns whether an account of this type must still be declared.
    pub fn owes_declaration(&self, customer: CustomerType) -> bool {
        self.require_declaration && customer == CustomerType::NotDeclared
    }
}
