//! Accounts, and as much of them as the gates ask.

use pia_kernel::{ApiKeyId, GroupId, SessionId, Timestamp, UserId};
use uuid::Uuid;

use crate::people::role::Role;
use crate::sessions::access_tokens::SessionRef;
use crate::sessions::credential::Credential;

/// The group that an account is in at first.
pub const DEFAULT_GROUP: GroupId =
    GroupId(Uuid::from_u128(0x0000_0000_0000_7000_8000_0000_0000_0001));

/// The provider of accounts that have a password here.
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
    /// The number it has on the wire and in the database.
    pub fn number(self) -> i32 {
        match self {
            Self::NotDeclared => 0,
            Self::Business => 1,
            Self::Consumer => 2,
        }
    }

    /// The type with this number.
    pub fn from_number(number: i64) -> Option<Self> {
        match number {
            0 => Some(Self::NotDeclared),
            1 => Some(Self::Business),
            2 => Some(Self::Consumer),
            _ => None,
        }
    }
}

/// Number of times that what an account is opened with was changed: its
/// password, its second factor, its passkeys.
///
/// Whoever has shown any of it begins a session only while this is what it was
/// when they were looked up: a change ends the sessions there are, and so
/// outdates those that are just about to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CredentialsEpoch(pub i64);

/// A person's account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Account {
    /// Account id. Never changes: it is part of what clients encrypt.
    pub user: UserId,
    /// Their address, as they spelled it.
    pub email: String,
    /// Display name.
    pub display_name: Option<String>,
    /// Identity provider of the account: `local` for a password.
    pub provider: String,
    /// Capacity in which they use the service.
    pub customer: CustomerType,
    /// The company of a trader.
    pub company_name: Option<String>,
    /// Time at which the account was made.
    pub created_at: Timestamp,
    /// Permissions beyond the account's own data.
    pub role: Role,
    /// The one group that it is in.
    pub group: GroupId,
    /// Time at which its owner showed that the address is theirs; nothing if
    /// they have not.
    pub email_verified_at: Option<Timestamp>,
    /// Version of the account's credentials.
    pub epoch: CredentialsEpoch,
}

impl Account {
    /// A new account with a password, of nothing but what it must have.
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
    /// The owner's data, but not what secures their account: it began with an
    /// app password.
    Data,
    /// Administration in a browser, and nothing else.
    Console,
    /// Script with an API key of the owner's; no session.
    Key(KeyUse),
}

/// The key that a script calls with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyUse {
    /// Id of the key.
    pub key: ApiKeyId,
    /// Budget in whole credits per calendar week; 0 is no limit.
    pub weekly_credits: i64,
}

/// Caller with an API key, and that key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ApiKeyRef {
    /// Owner of the key.
    pub user: UserId,
    /// Id of the key.
    pub key: ApiKeyId,
}

/// Part of a caller that is checked on every request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CallerState {
    /// Account of the caller.
    pub user: UserId,
    /// Credential that they call with.
    pub credential: Credential,
    /// Capacity in which they use the service.
    pub customer: CustomerType,
    /// Permissions beyond the caller's own data.
    pub role: Role,
    /// The one group that they are in.
    pub group: GroupId,
    /// Purposes that the session may be used for.
    pub scope: SessionScope,
    /// True if they have shown that their address is theirs.
    pub email_verified: bool,
}

impl CallerState {
    /// Somebody with an account and a session like most.
    pub fn new(user: UserId, session: SessionId) -> Self {
        Self {
            user,
            credential: SessionRef { user, session }.into(),
            customer: CustomerType::NotDeclared,
            role: Role::User,
            group: DEFAULT_GROUP,
            scope: SessionScope::Full,
            email_verified: true,
        }
    }
}

/// Requirements that accounts must meet before they may use the service.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct AccountRules {
    /// True if each must have declared whether it is a trader.
    pub require_declaration: bool,
    /// True if each must have shown that its address is its owner's.
    pub require_verification: bool,
}

impl AccountRules {
    /// Returns whether somebody has yet to show that their address is theirs.
    pub fn owes_verification(&self, standing: &CallerState) -> bool {
        self.require_verification && !standing.email_verified
    }

    /// Returns whether an account of this type owes its declaration.
    pub fn owes_declaration(&self, customer: CustomerType) -> bool {
        self.require_declaration && customer == CustomerType::NotDeclared
    }
}
