//! Who is calling: accounts, sign-in, sessions and their tokens.

mod access_tokens;
mod account;
mod accounts;
mod app_password_codes;
mod app_passwords;
mod device;
mod email;
mod factor_challenges;
mod factor_proofs;
#[cfg(test)]
mod fakes;
mod guesses;
mod mailed_links;
mod owner_proofs;
mod password_changes;
mod password_resets;
mod password_rules;
mod ports;
mod recovery_codes;
mod refresh_tokens;
mod registration;
mod role;
mod second_factors;
mod sessions;
mod sign_in;
mod sign_in_history;
mod signing_keys;
mod standings;
mod totp;
mod verification;
mod violation;

pub use access_tokens::{AccessTokens, Claim, Issued, TokenNames};
pub use account::{
    Account, AccountRules, CustomerType, DEFAULT_GROUP, LOCAL, SessionScope, Standing,
};
pub use accounts::{AccountError, Accounts, DeclareError, TraderDeclaration};
pub use app_passwords::{
    AppPasswords, CreateAppPasswordError, CreatedAppPassword, RemoveAppPasswordError,
};
pub use device::{Device, Network};
pub use email::fold_email;
pub use factor_challenges::FactorChallenges;
pub use factor_proofs::{FactorAnswer, FactorPorts, FactorSettings, FreshProof};
pub use mailed_links::{MailedError, MailedPorts};
pub use owner_proofs::OwnerError;
pub use password_changes::{ChangePasswordError, PasswordChanges};
pub use password_resets::{PasswordPorts, PasswordResets, ResetError};
pub use password_rules::MOST_PASSWORD_CHARS;
pub use ports::{
    AccountStore, AppPasswordEntry, AppPasswordHash, AppPasswordStore, Attempt, AttemptStore,
    BeginEffects, ChallengeStore, Credentials, EndEffects, Evidence, Factor, FactorChange,
    FactorState, FactorStore, FailedSignIn, GuessLedger, GuessRules, Kept, MailedPurpose,
    MailedTokenStore, NewAccount, NewAppPassword, NewChallenge, NewMailedToken, NewSession,
    PasswordChange, PasswordHasher, PasswordReset, PasswordStore, Presented, ProviderIdentity,
    Quota, RecoveryHash, RedeemEffects, Redeemed, Redemption, Registered, RemovalEffects, Revoked,
    Rotation, Seats, SecretBox, SessionEntry, SessionStarts, SessionStore, SignInEntry, SignInLog,
    SignInMethod, SignInOutcome, Step, TokenHash, Verdict,
};
#[cfg(feature = "mock")]
pub use ports::{
    MockAccountStore, MockAppPasswordStore, MockAttemptStore, MockChallengeStore, MockFactorStore,
    MockGuessLedger, MockMailedTokenStore, MockPasswordHasher, MockPasswordStore, MockSeats,
    MockSecretBox, MockSessionStarts, MockSessionStore, MockSignInLog,
};
pub use refresh_tokens::RefreshKeys;
pub use registration::{
    Joined, NewPerson, RegisterError, Registration, RegistrationPolicy, RegistrationPorts,
    RegistrationRules,
};
pub use role::Role;
pub use second_factors::{
    ConfirmError, EnrolError, FactorChangeError, RecoveryCodes, SecondFactors,
};
pub use sessions::{Grant, RefreshError, RevokeError, SessionSettings, Sessions};
pub use sign_in::{FactorSignInError, Program, SignIn, SignInError, SignInPorts, SignedIn};
pub use sign_in_history::SignInHistory;
pub use signing_keys::SigningKeys;
pub use standings::Standings;
pub use totp::Enrolment;
pub use verification::{Verification, VerifyError};
pub use violation::Violation;
