//! Identity of callers: accounts, sign-in, sessions and their tokens.

mod access_tokens;
mod account;
mod accounts;
mod api_key_codes;
mod api_keys;
mod app_password_codes;
mod app_passwords;
mod caller_cache;
mod code_challenge;
mod credential;
mod deletion;
mod device;
mod email;
mod email_tokens;
mod export;
mod factor_challenges;
mod factor_proofs;
#[cfg(test)]
mod fakes;
mod first_admin;
mod invitations;
mod key_callers;
mod key_oversight;
mod passkey_options;
mod passkey_sign_in;
mod passkeys;
mod password_changes;
mod password_resets;
mod password_rules;
mod password_throttle;
mod ports;
mod provider;
mod provider_accounts;
mod provider_flow;
mod provider_sign_in;
mod reauthentication;
mod reauthenticator;
mod recovery_codes;
mod redirect_target;
mod refresh_tokens;
mod registration;
mod role;
mod roles;
mod second_factors;
mod sessions;
mod sign_in;
mod sign_in_codes;
mod sign_in_history;
mod signing_keys;
mod token_hash;
mod totp;
mod unverified_accounts;
mod use_cases;
mod verification;
mod violation;

pub use access_tokens::{AccessTokens, IssuedTokens, SessionRef, TokenNames};
pub use account::{
    Account, AccountRules, ApiKeyRef, CallerState, CredentialsEpoch, CustomerType, DEFAULT_GROUP,
    KeyUse, LOCAL, SessionScope,
};
pub use accounts::{AccountError, Accounts, DeclareError, TraderDeclaration};
pub use api_keys::{ApiKeyOptions, ApiKeys, CreateApiKeyError, CreatedApiKey, RemoveApiKeyError};
pub use app_passwords::{
    AppPasswords, CreateAppPasswordError, CreatedAppPassword, RemoveAppPasswordError,
};
pub use caller_cache::CallerCache;
pub use code_challenge::CodeChallenge;
pub use credential::Credential;
pub use deletion::{AccountDeletion, DeleteError, DeletionRequest};
pub use device::{Network, SignInDevice};
pub use email::{fold_email, readable_email, stored_forms};
pub use email_tokens::{EmailTokenError, EmailTokenPorts};
pub use export::{AccountExport, StartedExport};
pub use factor_challenges::FactorChallenges;
pub use factor_proofs::{FactorAnswer, FactorPorts, FactorProofs, FactorSettings, ReauthProof};
pub use first_admin::{FirstAdmin, FirstAdminError, FirstAdminPorts, NewAdmin};
pub use invitations::{Invitation, Invitations, InviteError, Invited};
pub use key_callers::ApiKeyAuthenticator;
pub use key_oversight::ApiKeyAdmin;
pub use passkey_options::PasskeyOptions;
pub use passkey_sign_in::{PasskeySignIn, PasskeySignInError, PasskeySignInPorts};
pub use passkeys::{
    PasskeyAddError, PasskeyChangeError, PasskeyOptionsError, PasskeyPorts, PasskeyRemoveError,
    Passkeys,
};
pub use password_changes::{ChangePasswordError, PasswordChanges};
pub use password_resets::{PasswordPorts, PasswordResets, ResetError};
pub use password_rules::MAX_PASSWORD_CHARS;
pub use ports::{
    AccountStore, ApiKeyEntry, ApiKeyHash, ApiKeyStore, AppAccess, AppAccessRevoked,
    AppPasswordEntry, AppPasswordHash, AppPasswordStore, Candidate, Ceremony, CeremonyError,
    ChallengeStore, ClaimedPasskey, CodeRedemption, Credentials, Deactivation, EmailTokenPurpose,
    EmailTokenStore, EndEffects, Enrolled, Factor, FactorChange, FactorState, FactorStore,
    FailedSignIn, FirstAdminOutcome, FirstAdminStore, GuessRules, IdentityProviders,
    InvitationEntry, InvitationStore, KeyEndEffects, KeyScope, KnownAccount, LicenceInForce,
    Member, NewAccount, NewApiKey, NewAppPassword, NewChallenge, NewEmailToken, NewInvitation,
    NewPasskey, NewPasskeyChallenge, NewProviderFlow, NewSession, NewSignInCode, PasskeyAdded,
    PasskeyAuthorization, PasskeyCeremony, PasskeyChallenges, PasskeyChange, PasskeyCredential,
    PasskeyEntry, PasskeyStore, PasskeyUse, PasswordChange, PasswordHasher, PasswordReset,
    PasswordStore, PasswordThrottleStore, PresentedToken, ProviderAccounts, ProviderClaims,
    ProviderCode, ProviderError, ProviderFlows, ProviderIdentity, ProviderRequest,
    RateLimitOutcome, RateLimitStore, RateQuota, Reactivation, RecoveryHash, RedeemEffects,
    Redeemed, Redemption, Registered, RemovalEffects, ReplayEffects, Revoked, RoleChange,
    RoleStore, Rotation, SeatLimits, Seats, SecretBox, SessionEntry, SessionStartEffects,
    SessionStarted, SessionStarts, SessionStore, SetupToken, ShownInvitation, SignInCodes,
    SignInEntry, SignInLog, SignInMethod, SignInOutcome, Step, StoreAppPassword, StoredPasskey,
    TokenHash, TokenUse, Verdict, VerifiedProof,
};
#[cfg(feature = "mock")]
pub use ports::{
    MockAccountStore, MockApiKeyStore, MockAppPasswordStore, MockChallengeStore,
    MockEmailTokenStore, MockFactorStore, MockFirstAdminStore, MockIdentityProviders,
    MockInvitationStore, MockLicenceInForce, MockPasskeyCeremony, MockPasskeyChallenges,
    MockPasskeyStore, MockPasswordHasher, MockPasswordStore, MockPasswordThrottleStore,
    MockProviderAccounts, MockProviderFlows, MockRateLimitStore, MockRoleStore, MockSeats,
    MockSecretBox, MockSessionStarts, MockSessionStore, MockSetupToken, MockSignInCodes,
    MockSignInLog,
};
pub use provider::Provider;
pub use provider_flow::ProviderFlow;
pub use provider_sign_in::{
    CallbackError, CallbackOutcome, ProviderCallback, ProviderPorts, ProviderRedirect,
    ProviderSignIn, ProviderSignInError, ProviderSignInRequest, StartSessionError,
};
pub use reauthentication::OwnerError;
pub use reauthenticator::Reauthenticator;
pub use redirect_target::{DestinationError, RedirectTarget, ReturnState};
pub use refresh_tokens::RefreshKeys;
pub use registration::{
    RegisterError, Registration, RegistrationForm, RegistrationOutcome, RegistrationPolicy,
    RegistrationPorts, RegistrationRules,
};
pub use role::Role;
pub use roles::{RoleError, Roles};
pub use second_factors::{
    ConfirmError, EnrolError, FactorChangeError, RecoveryCodes, SecondFactors,
};
pub use sessions::{
    RefreshError, RevokeError, SessionSettings, SessionTokens, Sessions, StartError,
};
pub use sign_in::{FactorSignInError, Program, SignIn, SignInError, SignInPorts, SignedIn};
pub use sign_in_codes::RedeemError;
pub use sign_in_history::SignInHistory;
pub use signing_keys::SigningKeys;
pub use totp::Enrolment;
pub use unverified_accounts::UnverifiedAccountCleanup;
pub use use_cases::{Administration, Identity};
pub use verification::{Verification, VerifyError};
pub use violation::Violation;
