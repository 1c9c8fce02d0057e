//! Statuses of the errors of each domain that this surface serves.

mod assistant;
mod chats;
mod e2ee;
mod feedback;
mod groups;
mod personas;
mod plugins;
mod policy;
mod settings;
mod sync;
