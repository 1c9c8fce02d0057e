//! Who is calling: accounts, sign-in, sessions and their tokens.

mod access_tokens;
mod account;
mod accounts;
mod device;
mod email;
mod password_rules;
mod ports;
mod refresh_tokens;
mod registration;
mod sessions;
mod sign_in;
mod sign_in_history;
mod signing_keys;
mod standings;
mod violation;

pub use access_tokens::{AccessTokens, Claim, Issued, TokenNames};
pub use account::{Account, AccountRules, CustomerType, Standing};
pub use accounts::{AccountError, Accounts, DeclareError, TraderDeclaration};
pub use device::Device;
pub use email::fold_email;
pub use password_rules::MOST_PASSWORD_CHARS;
pub use ports::{
    AccountStore, Attempt, AttemptStore, Credentials, EndEffects, FailedSignIn, NewAccount,
    NewSession, PasswordHasher, Presented, Quota, Registered, Revoked, Rotation, Seats,
    SessionEntry, SessionStore, SignInEntry, SignInLog, SignInMethod, SignInOutcome, TokenHash,
    Verdict,
};
#[cfg(feature = "mock")]
pub use ports::{
    MockAccountStore, MockAttemptStore, MockPasswordHasher, MockSeats, MockSessionStore,
    MockSignInLog,
};
pub use refresh_tokens::RefreshKeys;
pub use registration::{
    NewPerson, RegisterError, Registration, RegistrationPolicy, RegistrationPorts,
    RegistrationRules,
};
pub use sessions::{Grant, RefreshError, RevokeError, SessionSettings, Sessions};
pub use sign_in::{SignIn, SignInError, SignInPorts, SignInSettings, SignedIn};
pub use sign_in_history::SignInHistory;
pub use signing_keys::SigningKeys;
pub use standings::Standings;
pub use violation::Violation;
