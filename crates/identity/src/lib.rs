//! Identity of callers: accounts, sign-in, sessions and their tokens.
//!
//! The crate decides who a caller is and what proves it. `use_cases.rs` lists
//! all use cases, each over traits of `ports.rs`: begin there. The main path
//! is `SignIn::local` in `sign_in.rs`, which verifies a password, perhaps
//! opens a challenge for a second factor (`factors/challenges.rs`), and calls
//! `Sessions::start`. Later requests of that session are verified by
//! `AccessTokens` and `CallerCache`, which the gates of `web` call.
//!
//! Two rules concern every module. A session starts only if the account still
//! has the `CredentialsEpoch` with which it was loaded. A use case that
//! changes an account or ends a session for a caller drops the user from
//! `CallerCache`.

mod api_keys;
mod app_passwords;
mod factors;
#[cfg(test)]
mod fakes;
mod passkeys;
mod passwords;
mod people;
mod ports;
mod providers;
mod scim;
mod sessions;
mod sign_in;
mod use_cases;
mod violation;

pub use api_keys::admin::ApiKeyAdmin;
pub use api_keys::authenticator::ApiKeyAuthenticator;
pub use api_keys::{ApiKeyOptions, ApiKeys, CreateApiKeyError, CreatedApiKey, RemoveApiKeyError};
pub use app_passwords::{
    AppPasswords, CreateAppPasswordError, CreatedAppPassword, RemoveAppPasswordError,
};
pub use factors::challenges::FactorChallenges;
pub use factors::proofs::{FactorAnswer, FactorPorts, FactorProofs, FactorSettings, ReauthProof};
pub use factors::reauthentication::OwnerError;
pub use factors::reauthenticator::Reauthenticator;
pub use factors::second_factors::{
    ConfirmError, EnrolError, FactorChangeError, RecoveryCodes, SecondFactors,
};
pub use factors::totp::Enrolment;
pub use passkeys::options::PasskeyOptions;
pub use passkeys::sign_in::{PasskeySignIn, PasskeySignInError, PasskeySignInPorts};
pub use passkeys::{
    PasskeyAddError, PasskeyChangeError, PasskeyOptionsError, PasskeyPorts, PasskeyRemoveError,
    Passkeys,
};
pub use passwords::PasswordPorts;
pub use passwords::changes::{ChangePasswordError, PasswordChanges};
pub use passwords::resets::{PasswordResets, ResetError};
pub use passwords::rules::MAX_PASSWORD_CHARS;
pub use people::account::{
    Account, AccountRules, ApiKeyRef, CallerState, CredentialsEpoch, CustomerType, DEFAULT_GROUP,
    KeyUse, LOCAL, SCIM_PROVIDER, SessionScope,
};
pub use people::account_security::{AccountSecurity, AccountSecurityError, AccountSecurityPorts};
pub use people::accounts::{AccountChangeError, AccountError, Accounts, TraderDeclaration};
pub use people::address_change::{AddressChangeError, AddressChangePorts, AddressChanges};
pub use people::deletion::{AccountDeletion, DeleteError, DeletionRequest};
pub use people::email::{fold_email, readable_email, stored_forms};
pub use people::email_tokens::{EmailTokenError, EmailTokenPorts};
pub use people::export::{AccountExport, StartedExport};
pub use people::first_admin::{FirstAdmin, FirstAdminError, FirstAdminPorts, NewAdmin};
pub use people::invitations::{
    DEFAULT_INVITATION_DAYS, Invitation, Invitations, InviteError, Invited, MAX_INVITATION_DAYS,
};
pub use people::registration::{
    RegisterError, Registration, RegistrationForm, RegistrationOutcome, RegistrationPolicy,
    RegistrationPorts, RegistrationRules,
};
pub use people::role::Role;
pub use people::roles::{RoleError, Roles};
pub use people::unverified::UnverifiedAccountCleanup;
pub use people::verification::{Verification, VerifyError};
pub use ports::{
    AccountCreationOutcome, AccountStore, ActivationChange, AddressChange, AddressChangeOutcome,
    ApiKeyEntry, ApiKeyHash, ApiKeyRemoval, ApiKeyStore, AppAccess, AppAccessRevoked,
    AppPasswordEntry, AppPasswordHash, AppPasswordRemoval, AppPasswordStore, Candidate, Ceremony,
    CeremonyError, ChallengeStore, ClaimedPasskey, CodeRedemptionOutcome, CredentialStoreOutcome,
    Credentials, DeactivationOutcome, EmailTokenPurpose, EmailTokenStore, EndEffects,
    EnrolmentOutcome, Factor, FactorChange, FactorState, FactorStore, FailedSignIn,
    FirstAdminOutcome, FirstAdminStore, GuessRules, IdentityProviders, InvitationEntry,
    InvitationFilter, InvitationStore, KeyEndEffects, KeyScope, KnownAccount, LicenceInForce,
    Member, NewAccount, NewApiKey, NewAppPassword, NewChallenge, NewEmailToken, NewInvitation,
    NewPasskey, NewPasskeyChallenge, NewProviderFlow, NewScimToken, NewScimUser, NewSession,
    NewSignInCode, PasskeyAuthorization, PasskeyCeremony, PasskeyChallenges, PasskeyChange,
    PasskeyCreationOutcome, PasskeyCredential, PasskeyEntry, PasskeyStore, PasskeyUse,
    PasskeyUseOutcome, PasswordChange, PasswordHasher, PasswordReset, PasswordStore,
    PasswordThrottleStore, PresentedInvitation, PresentedToken, ProviderAccounts, ProviderClaims,
    ProviderCode, ProviderError, ProviderFlows, ProviderIdentity, ProviderRequest,
    ProvisionedSignIn, RateLimitOutcome, RateLimitStore, RateQuota, ReactivationOutcome,
    RecoveryHash, RedeemEffects, Redemption, RedemptionOutcome, RemovalEffects, ReplayEffects,
    Revoked, RoleChangeOutcome, RoleStore, RotationOutcome, ScimScope, ScimTokenEntry,
    ScimTokenStore, ScimUserChangeOutcome, ScimUserCondition, ScimUserCreationOutcome,
    ScimUserEdit, ScimUserPage, ScimUserQuery, ScimUserStore, ScimUserText, SeatLimits, Seats,
    SecretBox, SessionEntry, SessionStartEffects, SessionStartOutcome, SessionStarts, SessionStore,
    SetupToken, SignInCodes, SignInEntry, SignInLog, SignInMethod, SignInOutcome, Step,
    StoredPasskey, TakenAttribute, TextMatch, TokenHash, Verdict, VerifiedProof,
};
#[cfg(feature = "mock")]
pub use ports::{
    MockAccountStore, MockApiKeyStore, MockAppPasswordStore, MockChallengeStore,
    MockEmailTokenStore, MockFactorStore, MockFirstAdminStore, MockIdentityProviders,
    MockInvitationStore, MockLicenceInForce, MockPasskeyCeremony, MockPasskeyChallenges,
    MockPasskeyStore, MockPasswordHasher, MockPasswordStore, MockPasswordThrottleStore,
    MockProviderAccounts, MockProviderFlows, MockRateLimitStore, MockRoleStore, MockScimTokenStore,
    MockScimUserStore, MockSeats, MockSecretBox, MockSessionStarts, MockSessionStore,
    MockSetupToken, MockSignInCodes, MockSignInLog,
};
pub use providers::code_challenge::CodeChallenge;
pub use providers::flow::ProviderFlow;
pub use providers::provider::Provider;
pub use providers::redirect_target::{DestinationError, RedirectTarget, ReturnState};
pub use providers::sign_in::{
    CallbackOutcome, FailedProviderSignIn, ProviderCallback, ProviderPorts, ProviderRedirect,
    ProviderSignIn, ProviderSignInError, ProviderSignInRequest, StartProviderSignInError,
};
pub use scim::tokens::{
    CreateScimTokenError, CreatedScimToken, RevokeScimTokenError, ScimClient, ScimTokenOptions,
    ScimTokens,
};
pub use scim::user::{ScimUser, ScimUserAttributes, ScimUserChange};
pub use scim::users::{MAX_SCIM_PAGE, ScimUserError, ScimUserPorts, ScimUserUpdate, ScimUsers};
pub use sessions::access_tokens::{AccessTokens, IssuedTokens, SessionRef, TokenNames};
pub use sessions::caller_cache::CallerCache;
pub use sessions::consoles::{BrowserArea, BrowserSession, ConsoleSessions, ConsoleSettings};
pub use sessions::credential::Credential;
pub use sessions::refresh_tokens::RefreshKeys;
pub use sessions::session_proofs::SessionProofs;
pub use sessions::signing_keys::SigningKeys;
pub use sessions::{
    RefreshError, RevokeError, SessionPorts, SessionSettings, SessionTokens, Sessions, StartError,
};
pub use sign_in::browser::{BrowserSignIn, BrowserSignInError};
pub use sign_in::codes::RedeemError;
pub use sign_in::device::{Network, SignInDevice};
pub use sign_in::history::SignInHistory;
pub use sign_in::{FactorSignInError, Program, SignIn, SignInError, SignInPorts, SignedIn};
pub use use_cases::{Administration, Identity, Provisioning};
pub use violation::Violation;
