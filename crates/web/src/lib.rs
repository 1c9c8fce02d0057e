//! HTTP infrastructure that all surfaces share: the route table, the gates
//! before its routes, the extractors of handlers, and the form of errors.
//!
//! A request passes `surface` (`surface.rs`), then `admit` (`gates.rs`), which finds
//! its row in the `RouteTable` (`routes.rs`) and checks every property of the row;
//! then the handler's extractors (`extract.rs`, `body.rs`), and `Runner::run`
//! (`runner.rs`), in which the use case outlives a client that disconnects. Any
//! refusal on the way is an `ApiError` (`error.rs`). `server/src/serve.rs` wraps the
//! middleware in this order. Read `routes.rs` first.

mod access_log;
mod base_path;
mod body;
mod body_memory;
mod body_sender;
mod browser;
mod budgets;
mod client_address;
mod compression;
mod concurrency_limiter;
mod console_cookie;
mod cross_site;
mod database_health;
mod deferred_rate_limit;
mod device;
mod dialect;
mod draining;
mod error;
mod examples;
mod extract;
mod gates;
mod gzipped;
mod metrics;
mod openapi;
mod paging;
mod path_id;
mod refusals;
mod request_id;
mod routes;
mod runner;
mod sorted_paging;
mod strict_transport;
mod surface;

pub use base_path::{BasePath, strip_base_path};
pub use body::{
    Body, OptionalBody, RawBody, format_json_error, malformed_json_error, null_as_default,
};
pub use body_memory::BodyMemory;
pub use body_sender::{BodyCut, BodySender, BodyUnread};
pub use browser::{FromProgram, reads_events, reads_json, reads_pages};
pub use budgets::{Budget, Budgets, Quotas};
pub use client_address::{ClientAddress, TrustedProxies};
pub use compression::{acceptable_encoding, keep_uncompressed};
pub use concurrency_limiter::ConcurrencyLimiter;
pub use console_cookie::ConsoleCookie;
pub use cross_site::is_cross_site;
pub use database_health::DatabaseHealth;
pub use deferred_rate_limit::DeferredRateLimit;
pub use device::FromDevice;
pub use dialect::{Dialect, translate_errors};
pub use draining::Draining;
pub use error::{ApiError, FieldError, OpenAiForm, RETRY_SOON};
pub use examples::Examples;
pub use extract::{Caller, PresentedCredential, ScimCaller};
pub use gates::{Gates, admit};
pub use gzipped::Gzipped;
pub use metrics::{Metrics, Read, ReadEach};
pub use openapi::{CreditDocs, openapi};
pub use paging::{Paging, optional_cursor, query_config};
pub use path_id::{ClientId, PathId, PathPart, PathVersion};
pub use request_id::RequestId;
pub use routes::{
    AcceptedCredentials, Access, AccountScope, CountedAgainst, Docs, Licensing, OpenApiDocument,
    Parameter, ProofCheck, RateLimit, ResponseDoc, Route, RouteTable, WireType, wire,
};
pub use runner::Runner;
pub use sorted_paging::SortedPaging;
pub use strict_transport::StrictTransport;
pub use surface::surface;
