//! An OpenAI-compatible upstream that needs no model: for a first look, for
//! tests and for benchmarks. Its answers follow from what it is called, and it
//! breaks in whichever way it is called to.

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
