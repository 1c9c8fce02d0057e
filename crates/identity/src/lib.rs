//! Who is calling: accounts, sign-in, sessions and their tokens.

mod access_tokens;
mod account;
mod accounts;
mod api_key_codes;
mod api_keys;
mod app_password_codes;
mod app_passwords;
mod asked_passkey;
mod code_challenge;
mod deletion;
mod redirect_target;
mod device;
mod email;
mod export;
mod factor_challenges;
mod factor_proofs;
#[cfg(test)]
mod fakes;
mod first_admin;
mod password_throttle;
mod invitations;
mod key_callers;
mod key_oversight;
mod email_tokens;
mod reauthentication;
mod passkey_sign_in;
mod passkeys;
mod password_changes;
mod password_resets;
mod password_rules;
mod ports;
mod provider;
mod provider_flow;
mod provider_accounts;
mod provider_sign_in;
mod reauthenticator;
mod recovery_codes;
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
mod caller_cache;
mod token_hash;
mod totp;
mod unclaimed_accounts;
mod verification;
mod violation;

pub use access_tokens::{AccessTokens, SessionRef, Issued, TokenNames};
pub use account::{
    Account, AccountRules, CredentialsEpoch, CustomerType, DEFAULT_GROUP, ApiKeyRef, KeyUse, LOCAL,
    SessionScope, CallerState,
};
pub use accounts::{AccountError, Accounts, DeclareError, TraderDeclaration};
pub use api_keys::{ApiKeyWish, ApiKeys, CreateApiKeyError, CreatedApiKey, RemoveApiKeyError};
pub use app_passwords::{
    AppPasswords, CreateAppPasswordError, CreatedAppPassword, RemoveAppPasswordError,
};
pub use asked_passkey::AskedPasskey;
pub use code_challenge::CodeChallenge;
pub use deletion::{AccountDeletion, DeleteError, Farewell};
pub use redirect_target::{RedirectTarget, DestinationError, ReturnState};
pub use device::{Device, Network};
pub use email::{fold_email, readable_email, stored_forms};
pub use export::{AccountExport, BegunExport};
pub use factor_challenges::FactorChallenges;
pub use factor_proofs::{FactorAnswer, FactorPorts, FactorSettings, ReauthProof};
pub use first_admin::{FirstAdmin, FirstAdminError, FirstAdminPorts, NewAdmin};
pub use invitations::{Invitation, Invitations, InviteError, Invited};
pub use key_callers::ApiKeyAuthenticator;
pub use key_oversight::ApiKeyAdmin;
pub use email_tokens::{MailedError, MailedPorts};
pub use reauthentication::OwnerError;
pub use passkey_sign_in::{PasskeySignIn, PasskeySignInError, PasskeySignInPorts};
pub use passkeys::{
    PasskeyAddError, PasskeyAskError, PasskeyChangeError, PasskeyPorts, PasskeyRemoveError,
    Passkeys,
};
pub use password_changes::{ChangePasswordError, PasswordChanges};
pub use password_resets::{PasswordPorts, PasswordResets, ResetError};
pub use password_rules::MAX_PASSWORD_CHARS;
pub use ports::{
    AccountStore, Added, ApiKeyEntry, ApiKeyHash, ApiKeyStore, AppAccess, AppAccessRevoked,
    AppPasswordEntry, AppPasswordHash, AppPasswordStore, Appointed, RateLimitOutcome, RateLimitStore,
    BeginEffects, Begun, Candidate, Ceremony, CeremonyError, ChallengeStore, Claimant,
    CodeRedemption, Credentials, Deactivation, EndEffects, Enrolled, VerifiedProof, Factor,
    FactorChange, FactorState, FactorStore, FailedSignIn, FirstAdminStore, PasswordThrottleStore, GuessRules,
    IdentityProviders, InvitationEntry, InvitationStore, StoreAppPassword, KeyEndEffects, KeyScope,
    KnownAccount, Leave, LicenceInForce, MailedPurpose, MailedTokenStore, Member, NewAccount,
    NewApiKey, NewAppPassword, NewChallenge, NewInvitation, NewMailedToken, NewPasskey,
    NewPasskeyChallenge, NewProviderFlow, NewSession, NewSignInCode, PasskeyCeremony,
    PasskeyChallenges, PasskeyChange, PasskeyCredential, PasskeyEntry, PasskeyStore, PasskeyUse,
    PasswordChange, PasswordHasher, PasswordReset, PasswordStore, PresentedToken, ProviderAccounts,
    ProviderClaims, ProviderCode, ProviderError, ProviderFlows, ProviderIdentity, ProviderRequest,
    Quota, Reactivation, RecoveryHash, RedeemEffects, Redeemed, Redemption, Registered,
    RemovalEffects, ReplayEffects, Revoked, RoleChange, RoleStore, Rotation, SeatLimits, Seats,
    SecretBox, SessionEntry, SessionStarts, SessionStore, SetupToken, ShownInvitation, SignInCodes,
    SignInEntry, SignInLog, SignInMethod, SignInOutcome, Step, StoredPasskey, TokenHash, Used,
    Verdict,
};
#[cfg(feature = "mock")]
pub use ports::{
    MockAccountStore, MockApiKeyStore, MockAppPasswordStore, MockRateLimitStore, MockChallengeStore,
    MockFactorStore, MockFirstAdminStore, MockPasswordThrottleStore, MockIdentityProviders,
    MockInvitationStore, MockLicenceInForce, MockMailedTokenStore, MockPasskeyCeremony,
    MockPasskeyChallenges, MockPasskeyStore, MockPasswordHasher, MockPasswordStore,
    MockProviderAccounts, MockProviderFlows, MockRoleStore, MockSeats, MockSecretBox,
    MockSessionStarts, MockSessionStore, MockSetupToken, MockSignInCodes, MockSignInLog,
};
pub use provider::Provider;
pub use provider_flow::ProviderFlow;
pub use provider_sign_in::{
    ArrivalError, Arrived, BeginError, BegunAtProvider, ProviderAnswer, ProviderPorts,
    ProviderSignIn, ProviderSignInError, ProviderWish,
};
pub use reauthenticator::Reauthenticator;
pub use refresh_tokens::RefreshKeys;
pub use registration::{
    Joined, NewPerson, RegisterError, Registration, RegistrationPolicy, RegistrationPorts,
    RegistrationRules,
};
pub use role::Role;
pub use roles::{RoleError, Roles};
pub use second_factors::{
    ConfirmError, EnrolError, FactorChangeError, RecoveryCodes, SecondFactors,
};
pub use sessions::{Grant, RefreshError, RevokeError, SessionSettings, Sessions, StartError};
pub use sign_in::{FactorSignInError, Program, SignIn, SignInError, SignInPorts, SignedIn};
pub use sign_in_codes::RedeemError;
pub use sign_in_history::SignInHistory;
pub use signing_keys::SigningKeys;
pub use caller_cache::CallerCache;
pub use totp::Enrolment;
pub use unclaimed_accounts::UnclaimedAccounts;
pub use verification::{Verification, VerifyError};
pub use violation::Violation;
