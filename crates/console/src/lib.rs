//! Pages that a browser opens: the one that sets the server up, and those by
//! which people come to an account and back into it.

mod accounts;
mod administrator;
mod auth;
mod setup_pages;
mod front;
mod page;
mod account_pages;
mod refusal;
mod routes;
mod setup;
#[cfg(test)]
mod testing;
mod texts;
mod well_known;

pub use accounts::{
    AccountDesk, Applicant, Joined, LinkAsked, NewPassword, PasswordReset, RequestedLetter,
    Verified,
};
pub use auth::readable;
pub use setup_pages::SetupPages;
pub use account_pages::AccountPages;
pub use routes::routes;
