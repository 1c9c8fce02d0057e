//! HTML pages: server setup, registration and account recovery.

mod account_pages;
mod accounts;
mod administrator;
mod auth;
mod front;
mod page;
mod refusal;
mod routes;
mod setup;
mod setup_pages;
#[cfg(test)]
mod testing;
mod texts;
mod well_known;

pub use account_pages::AccountPages;
pub use accounts::{
    AccountService, EmailRequestResult, NewPassword, PasswordResetResult, RegistrationInput,
    RegistrationResult, RequestedEmail, VerificationResult,
};
pub use auth::render_errors;
pub use routes::routes;
pub use setup_pages::SetupPages;
