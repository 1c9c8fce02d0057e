//! Tests of the composed server for operators and anonymous clients:
//! processes, settings, licences, setup, pages, mail, routes and limits.

#![expect(clippy::expect_used, clippy::indexing_slicing, clippy::panic, reason = "tests")]

mod hanging;

mod admin;
mod admin_groups;
mod audit;
mod bodies;
mod changed_settings;
mod client_policies;
mod console_groups;
mod console_matrix;
mod example_bodies;
mod feedback;
mod foreign_rows;
mod foundations;
mod licence;
mod limits;
mod mail;
mod managed_personas;
mod master_key;
mod migrations;
mod openapi;
mod operation;
mod operator;
mod pages;
mod plugins;
mod process;
mod provision_pod;
mod quotes;
mod routes;
mod scim;
mod session_proofs;
mod settings;
mod setup;
mod tls;
