//! JSON API. It depends on the domains and on no adapter.

mod admin;
mod ai;
mod api;
mod assignments;
mod auth;
mod capabilities;
mod certificates;
mod chats;
mod e2ee;
mod error;
mod examples;
mod feedback;
mod health;
mod knowledge;
mod metrics;
mod openapi;
mod pieces;
mod plugins;
mod ready;
mod refusals;
mod routes;
mod schedules;
mod sync;

pub use admin::audit::export_audit_log;
pub use ai::AiApi;
pub use api::Api;
pub use assignments::AssignmentsApi;
pub use auth::BrowserRedirects;
pub use auth::account::export as export_account;
pub use error::HttpError;
pub use examples::examples;
pub use knowledge::KnowledgeApi;
pub use openapi::{admin_document, document};
pub use ready::{Readiness, Ready};
pub use routes::routes;
pub use sync::SyncApi;
