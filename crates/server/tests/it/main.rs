//! The composed application, seen from outside.

#![expect(clippy::expect_used, clippy::indexing_slicing, clippy::panic, reason = "tests")]

mod ai_client;
mod ai_peer;
mod authenticator;
mod both;
mod browser;
mod client;
mod hanging;
mod harness;
mod letters;
mod patience;
mod relay;

mod admin;
mod admin_groups;
mod ai_canary;
mod ai_chat;
mod ai_credits;
mod ai_failures;
mod ai_faults;
mod ai_memory;
mod ai_models;
mod ai_openai;
mod ai_optimize;
mod ai_streams;
mod ai_tools;
mod ai_usage;
mod auth;
mod bodies;
mod chats;
mod desktop;
mod e2ee;
mod foreign_rows;
mod foundations;
mod licence;
mod limits;
mod mail;
mod master_key;
mod migrations;
mod openai_embeddings;
mod openai_npm;
mod openai_sdk;
mod openai_surface;
mod openapi;
mod operator;
mod pages;
mod process;
mod program;
mod quotes;
mod routes;
mod settings;
mod setup;
mod sync;
mod tls;
