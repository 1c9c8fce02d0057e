//! Pages for registration and account recovery.
//!
//! They work without scripts. Their texts are in `texts`.

pub(crate) mod email_page;
pub(crate) mod error;
mod error_pages;
pub(crate) mod form;
pub(crate) mod notice;
pub(crate) mod page_layout;
pub(crate) mod page_request;
pub(crate) mod register;
pub(crate) mod reset_password;
mod submission;
pub(crate) mod verify_email;

pub use error_pages::render_errors;

#[cfg(test)]
mod tests;
