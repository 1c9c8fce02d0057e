//! JSON API. It depends on the domains and on no adapter.
//!
//! A row in `routes/<area>.rs` names its handler in `<area>/` or `<area>.rs`. A
//! handler extracts what the gates found (`Caller`), parses the body into a wire
//! struct, runs one use case by `Api::run` (`api.rs`) and converts the result. An
//! error of a domain becomes a response in `refusals/<area>.rs`. Read
//! `feedback.rs` first: a complete area in one file.
//!
//! Wire structs are documented in the OpenAPI document: the comments on their fields
//! are read by people who write clients. `console` calls the same `Api`, and the
//! functions that this file exports.

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
mod host_status;
mod knowledge;
mod metrics;
mod openapi;
mod pieces;
mod plugins;
mod problem;
mod ready;
mod refusals;
mod routes;
mod schedules;
mod sync;

pub use admin::audit::export_audit_log;
pub use admin::effective::{EffectiveLimit, EffectiveSettings, ServingModel};
pub use admin::licence::LicenceResponse;
pub use admin::usage::export_usage;
pub use ai::AiApi;
pub use api::Api;
pub use assignments::AssignmentsApi;
pub use auth::BrowserRedirects;
pub use auth::account::export as export_account;
pub use error::HttpError;
pub use examples::examples;
pub use host_status::{HostStatus, Volume};
pub use knowledge::{KnowledgeApi, document_file};
pub use openapi::{admin_document, document};
pub use problem::Problem;
pub use ready::{Readiness, Ready};
pub use refusals::licence_refusal;
pub use routes::routes;
pub use sync::SyncApi;
