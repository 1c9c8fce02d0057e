//! The composition root: the only crate that depends on every other.
//!
//! `main.rs` calls `run` (`process.rs`), which reads the settings and either runs a
//! command (`admin.rs`) or serves: `compose` (`compose.rs`) wires adapters into
//! domains and domains into surfaces, and `Server::bind` (`serve.rs`) listens. The
//! files named `…_worker`, `…_upkeep` and `…_follower` are loops of background work
//! that composition starts; `bridges` are adapters of one domain for another.

mod admin;
mod assignment_worker;
mod audit_sequencer;
mod bridges;
mod checkpoints;
mod compose;
mod database_health;
mod free_group;
mod host;
mod housekeeping;
mod knowledge_worker;
mod licence;
mod location_database;
mod logging;
mod outbox_worker;
mod pod_upkeep;
mod process;
mod readiness;
mod routes;
mod serve;
mod settings_follower;
mod setup;
mod shutdown;
#[cfg(feature = "temporal")]
mod temporal_worker;
mod tls;
mod webhook_worker;
mod worker_lease;

pub use admin::{AdminError, PodProvisioned, administer, provision_pod};
pub use compose::{AiFactory, App, Background, ComposeError, compose};
pub use licence::{LicenceFile, LicenceSeats};
pub use location_database::LocationDatabaseError;
pub use process::{Failure, extract, run};
pub use routes::routes;
pub use serve::{Listen, Server};
pub use setup::Setup;
pub use tls::CertificateError;
