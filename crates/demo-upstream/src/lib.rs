//! OpenAI-compatible upstream without a model, for demos, tests and benchmarks.
//! Its responses depend on their requests alone, and a request can make it fail
//! in many ways.
//!
//! `Demo` (`demo.rs`) runs it in this process, `main.rs` as a program. A chat call
//! passes `chat.rs`, which parses the magic words of the request (`script.rs`),
//! computes the response (`answer.rs`) and sends it in steps (`steps.rs`).
//! `journal.rs` records the call for tests.

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
