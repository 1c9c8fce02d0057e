//! Sign-in of browsers to the console and to the pages of one's own account.
//!
//! Each method verifies its proof first, then the role for the area, and
//! starts a session in `ConsoleSessions`.

use pia_kernel::{Secret, Unavailable};

use crate::factors::proofs::FactorAnswer;
use crate::passkeys::sign_in::{PasskeySignIn, PasskeySignInError};
use crate::people::account::Account;
use crate::people::role::Role;
use crate::ports::SignInMethod;
use crate::providers::sign_in::ProviderSignIn;
use crate::sessions::StartError;
use crate::sessions::consoles::{BrowserArea, BrowserSession, ConsoleSessions};
use crate::sign_in::codes::{RedeemError, RedeemedCode};
use crate::sign_in::device::SignInDevice;
use crate::sign_in::{FactorSignInError, Program, SignIn, SignInError};

/// Errors that prevent a sign-in of a browser.
#[derive(Debug, thiserror::Error)]
pub enum BrowserSignInError {
    /// The password was not accepted, or a second factor is needed.
    #[error(transparent)]
    Password(#[from] SignInError),
    /// The second factor was not accepted.
    #[error(transparent)]
    Factor(#[from] FactorSignInError),
    /// The passkey was not accepted.
    #[error(transparent)]
    Passkey(#[from] PasskeySignInError),
    /// The code of a sign-in at an identity provider was not accepted.
    #[error(transparent)]
    Code(#[from] RedeemError),
    /// Account has no role with access to the console.
    #[error("the account has no administrative role")]
    NoRole,
    /// Account has no second factor, and the console requires one.
    #[error("the account has no second factor")]
    FactorRequired,
    /// The store is unavailable.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
}

/// Signs browsers in, to the console or to the pages of one's own account.
///
/// The console requires an administrative role and, where the settings say so, a second factor
/// besides the password. A passkey or an identity provider replaces both.
#[derive(Clone)]
pub struct BrowserSignIn {
    sign_in: SignIn,
    passkeys: PasskeySignIn,
    providers: ProviderSignIn,
    consoles: ConsoleSessions,
}

impl BrowserSignIn {
    /// Creates the use case; sessions start in `consoles`.
    pub fn new(
        sign_in: SignIn,
        passkeys: PasskeySignIn,
        providers: ProviderSignIn,
        consoles: ConsoleSessions,
    ) -> Self {
        Self { sign_in, passkeys, providers, consoles }
    }

    /// Signs in with a password. App passwords are not accepted. An account
    /// with a second factor gets [`SignInError::FactorNeeded`].
    pub async fn password(
        &self,
        area: BrowserArea,
        email: &str,
        password: Secret<String>,
        device: SignInDevice,
    ) -> Result<BrowserSession, BrowserSignInError> {
        let proved =
            self.sign_in.prove_password(email, password, Program::Browser, &device).await?;
        let account = &proved.account;
        check_role(area, account)?;
        self.sign_in.check_verified(account).await?;
        if proved.has_factor {
            return Err(self.sign_in.factor_needed(account).await?.into());
        }
        if area == BrowserArea::Console && self.consoles.settings().require_second_factor {
            return Err(BrowserSignInError::FactorRequired);
        }

        self.start(area, SignInMethod::Password, account, device).await
    }

    /// Continues a sign-in that needed a second factor.
    pub async fn factor(
        &self,
        area: BrowserArea,
        challenge: &Secret<String>,
        answer: &FactorAnswer,
        device: SignInDevice,
    ) -> Result<BrowserSession, BrowserSignInError> {
        let account = self.sign_in.prove_factor(challenge, answer, &device).await?;
        self.start(area, SignInMethod::PasswordWithFactor, &account, device).await
    }

    /// Signs in with a passkey's response to a challenge of [`PasskeySignIn::begin`].
    pub async fn passkey(
        &self,
        area: BrowserArea,
        challenge: &Secret<String>,
        response: &str,
        device: SignInDevice,
    ) -> Result<BrowserSession, BrowserSignInError> {
        let account = self.passkeys.prove(challenge, response, &device).await?;
        self.start(area, SignInMethod::Passkey, &account, device).await
    }

    /// Completes a sign-in at an identity provider that led back to a page of
    /// this server.
    pub async fn code(
        &self,
        area: BrowserArea,
        code: &Secret<String>,
        verifier: &Secret<String>,
        device: SignInDevice,
    ) -> Result<BrowserSession, BrowserSignInError> {
        let codes = self.providers.codes();
        let RedeemedCode { hash, account } = codes.spend(code, verifier).await?;
        let started = self.start(area, SignInMethod::IdentityProvider, &account, device).await?;
        codes.settle(hash, started.session).await?;
        Ok(started)
    }

    async fn start(
        &self,
        area: BrowserArea,
        method: SignInMethod,
        account: &Account,
        device: SignInDevice,
    ) -> Result<BrowserSession, BrowserSignInError> {
        check_role(area, account)?;
        self.consoles.start(area, method, account, device).await.map_err(|err| match err {
            StartError::Stale => SignInError::WrongCredentials.into(),
            StartError::Unavailable(err) => err.into(),
        })
    }
}

fn check_role(area: BrowserArea, account: &Account) -> Result<(), BrowserSignInError> {
    match (area, account.role) {
        (BrowserArea::Console, Role::User) => Err(BrowserSignInError::NoRole),
        (BrowserArea::Console, Role::KbManager | Role::OrgManager | Role::Admin)
        | (BrowserArea::Account, _) => Ok(()),
    }
}
