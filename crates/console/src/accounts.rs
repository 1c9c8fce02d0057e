//! What the pages ask for, of accounts.

use std::sync::Arc;

use async_trait::async_trait;
use pia_identity::{CustomerType, Device, RegistrationRules, Violation};
use pia_kernel::{Secret, Unavailable, UserId};

/// What a person filled in to make an account, as they typed it.
#[derive(Debug, Clone)]
pub struct Applicant {
    /// Their address.
    pub email: String,
    /// The password they choose.
    pub password: Secret<String>,
    /// What they want to be called.
    pub display_name: Option<String>,
    /// In which capacity they use the service.
    pub customer: CustomerType,
    /// The company of a business.
    pub company_name: Option<String>,
    /// The invitation that they show.
    pub invitation: Option<Secret<String>>,
}

/// What came of wanting an account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Joined {
    /// It is made and can be used.
    Made,
    /// What happens next is told by mail, whether or not the address is new.
    Mailed,
    /// It is filled in wrongly; all that is wrong is told.
    Invalid(Vec<Violation>),
    /// The operator does not let this person make one.
    Closed,
    /// The address has one.
    EmailTaken,
    /// There are as many as the licence allows.
    SeatsTaken,
}

/// What came of showing that an address is one's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verified {
    /// It is.
    Now,
    /// The link was used, has ended or never was one.
    Invalid,
}

/// A letter with a link that somebody asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestedLetter {
    /// To choose another password.
    PasswordReset,
    /// To confirm the address.
    Verification,
}

/// What came of asking for a letter with a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinkAsked {
    /// It is sent, if there is anyone to send it to.
    Mailed,
    /// The server cannot send mail.
    NoMail,
}

/// Who chooses another password, and which.
#[derive(Debug, Clone)]
pub struct NewPassword {
    /// The address of the account.
    pub email: String,
    /// What was mailed there.
    pub token: Secret<String>,
    /// The password, as it was typed.
    pub password: Secret<String>,
    /// Where they do.
    pub device: Device,
}

/// What came of choosing another password.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PasswordReset {
    /// It is the password now.
    Done,
    /// The password cannot be taken; the link is still good.
    Refused(Vec<Violation>),
    /// The link was used, has ended or never was one.
    Invalid,
}

/// Makes accounts, and helps people to come into theirs.
#[async_trait]
pub trait AccountDesk: Send + Sync {
    /// What is asked of those who make an account, at the moment.
    fn rules(&self) -> Arc<RegistrationRules>;

    /// Makes an account.
    async fn register(&self, applicant: Applicant) -> Result<Joined, Unavailable>;

    /// Spends the link that shows whose an address is.
    async fn verify(&self, user: UserId, token: Secret<String>) -> Result<Verified, Unavailable>;

    /// Mails a link. Tells nobody, by what it answers or by how long it takes,
    /// whether there is such an account.
    async fn mail(&self, letter: RequestedLetter, email: String) -> Result<LinkAsked, Unavailable>;

    /// Spends that link.
    async fn reset(&self, new: NewPassword) -> Result<PasswordReset, Unavailable>;
}
