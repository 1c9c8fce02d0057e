//! HTML pages: server setup, sign-in, the console, and one's own account.

mod account;
mod account_pages;
mod accounts;
mod admin;
mod administrator;
mod auth;
mod form_fields;
mod front;
mod navigation;
mod page;
mod page_context;
mod proof;
mod refusal;
mod routes;
mod setup;
mod setup_pages;
mod shell;
mod sign_in;
#[cfg(test)]
mod testing;
mod texts;
mod ui;
mod upload;
mod well_known;

pub use account::origins::AddressLocations;
pub use account_pages::AccountPages;
pub use accounts::{
    AccountService, EmailRequestResult, NewPassword, PasswordResetResult, RegistrationInput,
    RegistrationResult, RequestedEmail, VerificationResult,
};
pub use auth::render_errors;
pub use routes::routes;
pub use setup_pages::SetupPages;
