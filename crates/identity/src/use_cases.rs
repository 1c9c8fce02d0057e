//! Use cases of identity, grouped for the crates that serve them.
//!
//! `server/src/compose` fills the groups; `http`, `console` and `scim` call the
//! use cases. Each field names a type of this crate, whose file explains it.

use crate::api_keys::ApiKeys;
use crate::api_keys::admin::ApiKeyAdmin;
use crate::app_passwords::AppPasswords;
use crate::factors::reauthenticator::Reauthenticator;
use crate::factors::second_factors::SecondFactors;
use crate::passkeys::Passkeys;
use crate::passkeys::sign_in::PasskeySignIn;
use crate::passwords::changes::PasswordChanges;
use crate::passwords::resets::PasswordResets;
use crate::people::account_security::AccountSecurity;
use crate::people::accounts::Accounts;
use crate::people::address_change::AddressChanges;
use crate::people::deletion::AccountDeletion;
use crate::people::export::AccountExport;
use crate::people::first_admin::FirstAdmin;
use crate::people::invitations::Invitations;
use crate::people::registration::Registration;
use crate::people::roles::Roles;
use crate::people::verification::Verification;
use crate::providers::sign_in::ProviderSignIn;
use crate::scim::tokens::ScimTokens;
use crate::scim::users::ScimUsers;
use crate::sessions::Sessions;
use crate::sessions::consoles::ConsoleSessions;
use crate::sign_in::SignIn;
use crate::sign_in::browser::BrowserSignIn;
use crate::sign_in::history::SignInHistory;

/// Use cases of users and their own accounts. Clones share their state.
#[derive(Clone)]
pub struct Identity {
    /// Reads and changes of one's account.
    pub accounts: Accounts,
    /// Change of one's email address.
    pub address_changes: AddressChanges,
    /// API keys for scripts.
    pub api_keys: ApiKeys,
    /// Passwords for programs that cannot present a second factor.
    pub app_passwords: AppPasswords,
    /// Deletion of one's account.
    pub deletion: AccountDeletion,
    /// Export of one's data.
    pub export: AccountExport,
    /// Creation of the first administrator.
    pub first_admin: FirstAdmin,
    /// History of sign-ins.
    pub history: SignInHistory,
    /// Sign-in with a passkey.
    pub passkey_sign_in: PasskeySignIn,
    /// Adding, renaming and removing passkeys.
    pub passkeys: Passkeys,
    /// Reset of a forgotten password.
    pub password_resets: PasswordResets,
    /// Change of one's password.
    pub passwords: PasswordChanges,
    /// Sign-in at an identity provider.
    pub provider_sign_in: ProviderSignIn,
    /// Proof of ownership, where a session is not enough.
    pub reauthenticator: Reauthenticator,
    /// Registration of new accounts.
    pub registration: Registration,
    /// Second factors of one's account.
    pub second_factors: SecondFactors,
    /// Sessions and their refresh.
    pub sessions: Sessions,
    /// Sign-in with a password.
    pub sign_in: SignIn,
    /// Sign-in of browsers to the console and to one's own account.
    pub browser_sign_in: BrowserSignIn,
    /// Sessions of browsers.
    pub consoles: ConsoleSessions,
    /// Verification of email addresses.
    pub verification: Verification,
}

/// Use cases of administrators on other users' accounts.
#[derive(Clone)]
pub struct Administration {
    /// API keys of other users.
    pub api_keys: ApiKeyAdmin,
    /// Invitations to register.
    pub invitations: Invitations,
    /// Roles, deactivation and reactivation.
    pub roles: Roles,
    /// Sessions, second factors and waits after wrong passwords.
    pub security: AccountSecurity,
}

/// Use cases by which identity providers manage users (SCIM).
#[derive(Clone)]
pub struct Provisioning {
    /// Tokens of identity providers.
    pub tokens: ScimTokens,
    /// Users that identity providers manage.
    pub users: ScimUsers,
}
