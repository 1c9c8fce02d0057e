//! HTTP errors of the domains that this crate serves.

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
