//! Port by which the pages register accounts, verify email addresses and reset passwords.
//!
//! `server/src/bridges/page_accounts.rs` implements it over `identity`. Each result has
//! one variant for each page that `auth` responds with; every other failure is
//! `Unavailable`.

use std::sync::Arc;

use async_trait::async_trait;
use pia_identity::{CustomerType, RegistrationRules, SignInDevice, Violation};
use pia_kernel::{Secret, Unavailable, UserId};

/// Creation and recovery of accounts.
#[async_trait]
pub trait AccountService: Send + Sync {
    /// Returns the current rules of registration.
    fn rules(&self) -> Arc<RegistrationRules>;

    /// Creates an account, or sends an email with the next step.
    async fn register(&self, input: RegistrationInput) -> Result<RegistrationResult, Unavailable>;

    /// Redeems a link that verifies an email address.
    async fn verify_email(
        &self,
        user: UserId,
        token: Secret<String>,
    ) -> Result<VerificationResult, Unavailable>;

    /// Queues an email with a link, if the address has an account. Neither the result
    /// nor the response time depends on that.
    async fn request_email(
        &self,
        kind: RequestedEmail,
        email: String,
    ) -> Result<EmailRequestResult, Unavailable>;

    /// Redeems a link that resets the password, and sets the new one.
    async fn reset_password(
        &self,
        input: PasswordResetInput,
    ) -> Result<PasswordResetResult, Unavailable>;
}

/// Submitted registration form.
#[derive(Debug, Clone)]
pub struct RegistrationInput {
    /// Email address.
    pub email: String,
    /// Chosen password.
    pub password: Secret<String>,
    /// Display name.
    pub display_name: Option<String>,
    /// Capacity in which the service is used.
    pub customer: CustomerType,
    /// Name of the company, for a business.
    pub company_name: Option<String>,
    /// Invitation code.
    pub invitation: Option<Secret<String>>,
}

/// Outcome of a registration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RegistrationResult {
    /// Account was created and can be used.
    Created,
    /// An email describes the next step, whether or not the address is new.
    EmailQueued,
    /// Form is invalid; lists every violation.
    Invalid(Vec<Violation>),
    /// Registration is not open to this address.
    Closed,
    /// Address belongs to an account.
    EmailTaken,
    /// Licence has no seat left.
    SeatsTaken,
}

/// Outcome of verifying an email address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VerificationResult {
    /// Address was verified.
    Verified,
    /// Link is used, expired or unknown.
    InvalidLink,
}

/// Kind of email that a visitor requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestedEmail {
    /// Email with a link that resets the password.
    PasswordReset,
    /// Email with a link that verifies the address.
    Verification,
}

/// Outcome of requesting an email with a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EmailRequestResult {
    /// Email is queued if the address has an account.
    Accepted,
    /// Server cannot send email.
    NotConfigured,
}

/// Submitted form that resets a password.
#[derive(Debug, Clone)]
pub struct PasswordResetInput {
    /// Email address of the account.
    pub email: String,
    /// Token from the email.
    pub token: Secret<String>,
    /// New password.
    pub password: Secret<String>,
    /// Device that sends the form.
    pub device: SignInDevice,
}

/// Outcome of a password reset.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PasswordResetResult {
    /// Password was changed.
    Changed,
    /// Password is rejected; the link stays valid.
    InvalidPassword(Vec<Violation>),
    /// Link is used, expired or unknown.
    InvalidLink,
}
