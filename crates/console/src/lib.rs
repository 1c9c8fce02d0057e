//! Pages that a browser opens: the one that sets the server up, and those by
//! which people come to an account and back into it.

mod accounts;
mod administrator;
mod auth;
mod console;
mod front;
mod page;
mod reception;
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
pub use console::Console;
pub use reception::Reception;
pub use routes::routes;
