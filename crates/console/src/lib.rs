//! Pages for operators: so far the one that sets the server up.

mod administrator;
mod console;
mod page;
mod refusal;
mod routes;
mod setup;

pub use console::Console;
pub use routes::routes;
