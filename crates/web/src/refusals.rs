//! Which status each use case's errors have: here and not in `http`, since
//! only the crate of `ApiError` may implement `From` for it.

mod api_keys;
mod app_passwords;
mod assistant;
mod chats;
mod e2ee;
mod factors;
mod first_admin;
mod identity;
mod lifecycle;
mod passkeys;
mod passwords;
mod providers;
mod sync;
