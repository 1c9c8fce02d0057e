//! Account service of the pages, over identity.

use std::sync::Arc;

use async_trait::async_trait;
use pia_console::{
    AccountService, EmailRequestResult, PasswordResetInput, PasswordResetResult, RegistrationInput,
    RegistrationResult, RequestedEmail, VerificationResult,
};
use pia_identity::{
    EmailTokenError, Identity, RegisterError, RegistrationForm, RegistrationOutcome,
    RegistrationRules, ResetError, VerifyError,
};
use pia_kernel::{LiveSetting, Secret, Unavailable, UserId};

/// Account service of the pages, over identity.
pub(crate) struct PageAccounts {
    pub(crate) identity: Identity,
    pub(crate) rules: LiveSetting<RegistrationRules>,
}

#[async_trait]
impl AccountService for PageAccounts {
    fn rules(&self) -> Arc<RegistrationRules> {
        self.rules.get()
    }

    async fn register(&self, input: RegistrationInput) -> Result<RegistrationResult, Unavailable> {
        match self.identity.registration.register(registration_form(input)).await {
            Ok(RegistrationOutcome::Created(_)) => Ok(RegistrationResult::Created),
            Ok(RegistrationOutcome::EmailQueued) => Ok(RegistrationResult::EmailQueued),
            Err(RegisterError::Invalid(violations)) => Ok(RegistrationResult::Invalid(violations)),
            Err(RegisterError::Closed | RegisterError::Suspended) => Ok(RegistrationResult::Closed),
            Err(RegisterError::EmailTaken) => Ok(RegistrationResult::EmailTaken),
            Err(RegisterError::SeatsTaken { .. }) => Ok(RegistrationResult::SeatsTaken),
            Err(RegisterError::Unavailable(err)) => Err(err),
        }
    }

    async fn verify_email(
        &self,
        user: UserId,
        token: Secret<String>,
    ) -> Result<VerificationResult, Unavailable> {
        match self.identity.verification.redeem(user, &token).await {
            Ok(()) => Ok(VerificationResult::Verified),
            Err(VerifyError::Invalid) => Ok(VerificationResult::InvalidLink),
            Err(VerifyError::Unavailable(err)) => Err(err),
        }
    }

    async fn request_email(
        &self,
        kind: RequestedEmail,
        email: String,
    ) -> Result<EmailRequestResult, Unavailable> {
        let outcome = match kind {
            RequestedEmail::PasswordReset => self.identity.password_resets.request(&email).await,
            RequestedEmail::Verification => self.identity.verification.resend(&email).await,
        };
        match outcome {
            Ok(()) => Ok(EmailRequestResult::Accepted),
            Err(EmailTokenError::NotConfigured) => Ok(EmailRequestResult::NotConfigured),
            Err(EmailTokenError::Unavailable(err)) => Err(err),
        }
    }

    async fn reset_password(
        &self,
        input: PasswordResetInput,
    ) -> Result<PasswordResetResult, Unavailable> {
        let PasswordResetInput { email, token, password, device } = input;
        match self.identity.password_resets.reset(&email, &token, password, &device).await {
            Ok(()) => Ok(PasswordResetResult::Changed),
            Err(ResetError::Invalid(violations)) => {
                Ok(PasswordResetResult::InvalidPassword(violations))
            }
            Err(ResetError::InvalidToken) => Ok(PasswordResetResult::InvalidLink),
            Err(ResetError::Unavailable(err)) => Err(err),
        }
    }
}

fn registration_form(input: RegistrationInput) -> RegistrationForm {
    let RegistrationInput { email, password, display_name, customer, company_name, invitation } =
        input;
    RegistrationForm { email, password, display_name, customer, company_name, invitation }
}
