//! OpenAI-compatible upstream without a model, for demos, tests and benchmarks.
//! Its responses depend on their requests alone, and a request can make it fail
//! in many ways.

mod answer;
mod chat;
mod demo;
mod journal;
mod options;
mod prepared;
mod request;
mod script;
mod steps;

pub use demo::Demo;
pub use journal::{CallCounts, Recorded};
pub use options::DemoOptions;
