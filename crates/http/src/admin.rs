//! `/api/admin`: administration, for browsers that are signed in to the
//! console.

pub(crate) mod account_security;
pub(crate) mod assignments;
pub(crate) mod audit;
pub(crate) mod certificates;
pub(crate) mod client_policies;
pub(crate) mod connectors;
mod description;
pub(crate) mod devices;
pub(crate) mod effective;
pub(crate) mod feedback;
pub(crate) mod group_credits;
pub(crate) mod groups;
pub(crate) mod knowledge_bases;
pub(crate) mod licence;
mod login;
mod logout;
pub(crate) mod maintenance;
pub(crate) mod members;
pub(crate) mod models;
pub(crate) mod operator_webhooks;
pub(crate) mod operators;
pub(crate) mod outbox;
pub(crate) mod personas;
pub(crate) mod plugins;
pub(crate) mod pods;
pub(crate) mod policy_versions;
pub(crate) mod problems;
pub(crate) mod row_version;
pub(crate) mod schedules;
pub(crate) mod scim_tokens;
mod session;
pub(crate) mod settings;
mod time_order;
pub(crate) mod trial_search;
pub(crate) mod unanswered_questions;
pub(crate) mod usage;
mod usage_csv;
pub(crate) mod usage_hours;

pub(crate) use description::description;
pub(crate) use login::{AdminLoginRequest, AdminSessionResponse, login};
pub(crate) use logout::logout;
pub(crate) use session::{AdminSession, SessionProofRequest, prove, session};
