//! Port of the pages to accounts.

use std::sync::Arc;

use async_trait::async_trait;
use pia_identity::{CustomerType, RegistrationRules, SignInDevice, Violation};
use pia_kernel::{Secret, Unavailable, UserId};

/// Registration form, as a person typed it.
#[derive(Debug, Clone)]
pub struct RegistrationInput {
    /// Their address.
    pub email: String,
    /// The password they choose.
    pub password: Secret<String>,
    /// Display name.
    pub display_name: Option<String>,
    /// Capacity in which they use the service.
    pub customer: CustomerType,
    /// The company of a business.
    pub company_name: Option<String>,
    /// The invitation that they show.
    pub invitation: Option<Secret<String>>,
}

/// Outcome of a registration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RegistrationResult {
    /// Account was created and can be used.
    Made,
    /// The next step is reported by email, whether or not the address is new.
    Mailed,
    /// Form is invalid; lists every violation.
    Invalid(Vec<Violation>),
    /// The operator does not let this person make one.
    Closed,
    /// The address has one.
    EmailTaken,
    /// Licence has no seat left.
    SeatsTaken,
}

/// Outcome of verifying an email address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VerificationResult {
    /// Address is verified now.
    Now,
    /// The link was used, has ended or never was one.
    Invalid,
}

/// A letter with a link that somebody requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestedEmail {
    /// Link that resets the password.
    PasswordReset,
    /// Link that confirms the address.
    Verification,
}

/// Outcome of requesting an email with a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EmailRequestResult {
    /// Email is queued if the address has an account.
    Mailed,
    /// The server cannot send mail.
    NoMail,
}

/// Form to reset a password.
#[derive(Debug, Clone)]
pub struct NewPassword {
    /// The address of the account.
    pub email: String,
    /// Token from the email.
    pub token: Secret<String>,
    /// The password, as it was typed.
    pub password: Secret<String>,
    /// Device that sends the form.
    pub device: SignInDevice,
}

/// Outcome of a password reset.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PasswordResetResult {
    /// Password was changed.
    Done,
    /// The password cannot be taken; the link is still good.
    Refused(Vec<Violation>),
    /// The link was used, has ended or never was one.
    Invalid,
}

/// Makes accounts, and helps people to come into theirs.
#[async_trait]
pub trait AccountService: Send + Sync {
    /// Returns the current rules of registration.
    fn rules(&self) -> Arc<RegistrationRules>;

    /// Makes an account.
    async fn register(
        &self,
        applicant: RegistrationInput,
    ) -> Result<RegistrationResult, Unavailable>;

    /// Spends the link that shows whose an address is.
    async fn verify(
        &self,
        user: UserId,
        token: Secret<String>,
    ) -> Result<VerificationResult, Unavailable>;

    /// Mails a link. Reports nobody, by what it answers or by how long it takes,
    /// whether there is such an account.
    async fn mail(
        &self,
        letter: RequestedEmail,
        email: String,
    ) -> Result<EmailRequestResult, Unavailable>;

    /// Spends that link.
    async fn reset(&self, new: NewPassword) -> Result<PasswordResetResult, Unavailable>;
}
