//! Tests of calls to AI models, by clients and by the official SDKs.

#![expect(clippy::expect_used, clippy::indexing_slicing, clippy::panic, reason = "tests")]

mod assignments;
mod canary;
mod chat;
mod connectors;
mod credits;
mod failures;
mod faults;
mod knowledge;
mod memory;
mod models;
mod openai;
mod openai_embeddings;
mod openai_npm;
mod openai_sdk;
mod openai_surface;
mod optimize;
mod personas;
mod pods;
mod streams;
mod tools;
mod usage;
