//! HTML pages: server setup, sign-in, the console, and one's own account.
//!
//! A page of a signed-in browser is a file in `admin` or `account` with its rows
//! (`routes`), handlers and texts. A handler takes a `PageContext`
//! (`page_context.rs`), runs use cases of `http`, and renders a `View`
//! (`ui/view.rs`). The handler of a form takes `FormFields` too, or a `ProvedForm`
//! (`proof.rs`) for a dangerous act, and ends in `done` (a redirect) or `refuse`
//! (the page again, with its errors). Read `account/passwords.rs` first: a page with
//! one form.
//!
//! The pages of `auth` and `setup` need no session and no script, and have templates
//! and texts of their own.

mod account;
mod account_pages;
mod accounts;
mod admin;
mod administrator;
mod auth;
mod form_errors;
mod form_fields;
mod front;
mod navigation;
mod page;
mod page_context;
mod page_language;
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
mod unlicensed;
mod upload;
mod well_known;

pub use account::origins::AddressLocations;
pub use account_pages::AccountPages;
pub use accounts::{
    AccountService, EmailRequestResult, PasswordResetInput, PasswordResetResult, RegistrationInput,
    RegistrationResult, RequestedEmail, VerificationResult,
};
pub use auth::render_errors;
pub use routes::routes;
pub use setup_pages::SetupPages;
