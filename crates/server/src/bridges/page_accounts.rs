//! What the pages ask for of accounts, over identity.

use std::sync::Arc;

use async_trait::async_trait;
use pia_console::{
    AccountDesk, Applicant, Joined, LinkAsked, NewPassword, PasswordReset, Verified,
};
use pia_identity::{NewPerson, RegisterError, Registration, RegistrationRules};
use pia_kernel::{Live, Secret, Unavailable, UserId};

/// Accounts, as the pages want them.
pub(crate) struct PageAccounts {
    pub(crate) registration: Registration,
    pub(crate) rules: Live<RegistrationRules>,
}

#[async_trait]
impl AccountDesk for PageAccounts {
    fn rules(&self) -> Arc<RegistrationRules> {
        self.rules.get()
    }

    async fn register(&self, applicant: Applicant) -> Result<Joined, Unavailable> {
        match self.registration.register(person(applicant)).await {
            Ok(_account) => Ok(Joined::Made),
            Err(RegisterError::Invalid(violations)) => Ok(Joined::Invalid(violations)),
            Err(RegisterError::Closed) => Ok(Joined::Closed),
            Err(RegisterError::EmailTaken) => Ok(Joined::EmailTaken),
            Err(RegisterError::SeatsTaken { .. }) => Ok(Joined::SeatsTaken),
            Err(RegisterError::Unavailable(err)) => Err(err),
        }
    }

    /// Nobody was sent a link: there is nothing to send it by.
    async fn verify(&self, _: UserId, _: Secret<String>) -> Result<Verified, Unavailable> {
        Ok(Verified::Invalid)
    }

    async fn mail_reset(&self, _: String) -> Result<LinkAsked, Unavailable> {
        Ok(LinkAsked::NoMail)
    }

    async fn reset(&self, _: NewPassword) -> Result<PasswordReset, Unavailable> {
        Ok(PasswordReset::Invalid)
    }
}

fn person(applicant: Applicant) -> NewPerson {
    let Applicant { email, password, display_name, customer, company_name, invitation: _ } =
        applicant;
    NewPerson { email, password, display_name, customer, company_name }
}
