//! Accounts for the pages, over identity.

use std::sync::Arc;

use async_trait::async_trait;
use pia_console::{
    AccountDesk, Applicant, Joined, LinkAsked, NewPassword, PasswordReset, RequestedLetter,
    Verified,
};
use pia_identity::{
    Joined as Registered, MailedError, NewPerson, PasswordResets, RegisterError, Registration,
    RegistrationRules, ResetError, Verification, VerifyError,
};
use pia_kernel::{LiveSetting, Secret, Unavailable, UserId};

/// Accounts, as the pages want them.
pub(crate) struct PageAccounts {
    pub(crate) registration: Registration,
    pub(crate) verification: Verification,
    pub(crate) resets: PasswordResets,
    pub(crate) rules: LiveSetting<RegistrationRules>,
}

#[async_trait]
impl AccountDesk for PageAccounts {
    fn rules(&self) -> Arc<RegistrationRules> {
        self.rules.get()
    }

    async fn register(&self, applicant: Applicant) -> Result<Joined, Unavailable> {
        match self.registration.register(person(applicant)).await {
            Ok(Registered::Made(_)) => Ok(Joined::Made),
            Ok(Registered::Written) => Ok(Joined::Mailed),
            Err(RegisterError::Invalid(violations)) => Ok(Joined::Invalid(violations)),
            Err(RegisterError::Closed | RegisterError::Suspended) => Ok(Joined::Closed),
            Err(RegisterError::EmailTaken) => Ok(Joined::EmailTaken),
            Err(RegisterError::SeatsTaken { .. }) => Ok(Joined::SeatsTaken),
            Err(RegisterError::Unavailable(err)) => Err(err),
        }
    }

    async fn verify(&self, user: UserId, token: Secret<String>) -> Result<Verified, Unavailable> {
        match self.verification.redeem(user, &token).await {
            Ok(()) => Ok(Verified::Now),
            Err(VerifyError::Invalid) => Ok(Verified::Invalid),
            Err(VerifyError::Unavailable(err)) => Err(err),
        }
    }

    async fn mail(&self, letter: RequestedLetter, email: String) -> Result<LinkAsked, Unavailable> {
        let mailed = match letter {
            RequestedLetter::PasswordReset => self.resets.request(&email).await,
            RequestedLetter::Verification => self.verification.resend(&email).await,
        };
        match mailed {
            Ok(()) => Ok(LinkAsked::Mailed),
            Err(MailedError::NotConfigured) => Ok(LinkAsked::NoMail),
            Err(MailedError::Unavailable(err)) => Err(err),
        }
    }

    async fn reset(&self, new: NewPassword) -> Result<PasswordReset, Unavailable> {
        let NewPassword { email, token, password, device } = new;
        match self.resets.reset(&email, &token, password, &device).await {
            Ok(()) => Ok(PasswordReset::Done),
            Err(ResetError::Invalid(violations)) => Ok(PasswordReset::Refused(violations)),
            Err(ResetError::InvalidToken) => Ok(PasswordReset::Invalid),
            Err(ResetError::Unavailable(err)) => Err(err),
        }
    }
}

fn person(applicant: Applicant) -> NewPerson {
    let Applicant { email, password, display_name, customer, company_name, invitation } = applicant;
    NewPerson { email, password, display_name, customer, company_name, invitation }
}
