//! Sign-in of administrators and managers to the console.

use pia_kernel::{Secret, Unavailable};

use crate::factors::proofs::FactorAnswer;
use crate::people::account::Account;
use crate::people::role::Role;
use crate::ports::SignInMethod;
use crate::sessions::StartError;
use crate::sessions::consoles::{ConsoleSession, ConsoleSessions};
use crate::sign_in::device::SignInDevice;
use crate::sign_in::{FactorSignInError, Program, SignIn, SignInError};

/// Errors that prevent a sign-in to the console.
#[derive(Debug, thiserror::Error)]
pub enum AdminSignInError {
    /// The password was not accepted, or a second factor is needed.
    #[error(transparent)]
    Password(#[from] SignInError),
    /// The second factor was not accepted.
    #[error(transparent)]
    Factor(#[from] FactorSignInError),
    /// Account has no role with access to the console.
    #[error("the account has no administrative role")]
    NoRole,
    /// Account has no second factor, and the settings require one.
    #[error("the account has no second factor")]
    FactorRequired,
    /// The store is unavailable.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
}

/// Signs administrators and managers in to the console.
#[derive(Clone)]
pub struct AdminSignIn {
    sign_in: SignIn,
    consoles: ConsoleSessions,
}

impl AdminSignIn {
    /// Creates the use case; sessions start in `consoles`.
    pub fn new(sign_in: SignIn, consoles: ConsoleSessions) -> Self {
        Self { sign_in, consoles }
    }

    /// Signs in with a password. App passwords are not accepted. An account
    /// with a second factor gets [`SignInError::FactorNeeded`].
    pub async fn password(
        &self,
        email: &str,
        password: Secret<String>,
        device: SignInDevice,
    ) -> Result<ConsoleSession, AdminSignInError> {
        let proved =
            self.sign_in.prove_password(email, password, Program::Browser, &device).await?;
        let account = &proved.account;
        check_role(account)?;
        self.sign_in.check_verified(account).await?;
        if proved.has_factor {
            return Err(self.sign_in.factor_needed(account).await?.into());
        }
        if self.consoles.settings().require_second_factor {
            return Err(AdminSignInError::FactorRequired);
        }
        self.start(account, SignInMethod::Password, device).await
    }

    /// Continues a sign-in that needed a second factor.
    pub async fn factor(
        &self,
        challenge: &Secret<String>,
        answer: &FactorAnswer,
        device: SignInDevice,
    ) -> Result<ConsoleSession, AdminSignInError> {
        let account = self.sign_in.prove_factor(challenge, answer, &device).await?;
        check_role(&account)?;
        self.start(&account, SignInMethod::PasswordWithFactor, device).await
    }

    async fn start(
        &self,
        account: &Account,
        method: SignInMethod,
        device: SignInDevice,
    ) -> Result<ConsoleSession, AdminSignInError> {
        self.consoles.start(account, method, device).await.map_err(|err| match err {
            StartError::Stale => SignInError::WrongCredentials.into(),
            StartError::Unavailable(err) => err.into(),
        })
    }
}

fn check_role(account: &Account) -> Result<(), AdminSignInError> {
    match account.role {
        Role::User => Err(AdminSignInError::NoRole),
        Role::KbManager | Role::OrgManager | Role::Admin => Ok(()),
    }
}
