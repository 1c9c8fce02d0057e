//! HTTP errors of the domains that this crate serves.
//!
//! Each module has the `From` of one domain's errors for `HttpError`. Those of
//! identity that all surfaces share are in `web/src/refusals`.

mod assignments;
mod assistant;
mod chats;
mod connectors;
mod e2ee;
mod feedback;
mod groups;
mod identity;
mod knowledge;
mod licence;
mod mails;
mod personas;
mod plugins;
mod policy;
mod settings;
mod sync;

pub use licence::licence_refusal;
