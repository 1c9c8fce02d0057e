//! The pages by which people come to an account and back into it.
//!
//! They need no script. What is said on them is in `texts`.

pub(crate) mod error;
pub(crate) mod form;
pub(crate) mod letter_page;
pub(crate) mod notice;
pub(crate) mod page_layout;
pub(crate) mod page_request;
mod readable;
pub(crate) mod register;
pub(crate) mod reset_password;
mod same_site;
mod sent;
pub(crate) mod verify_email;

pub use readable::readable;

#[cfg(test)]
mod tests;
