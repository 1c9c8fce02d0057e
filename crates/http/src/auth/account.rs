//! `/auth/account`: the caller's account, its export and its deletion.

mod archive;
mod delete;
mod document;
mod encoder;
mod export;
mod export_writer;
mod manifest;
mod show;

pub(crate) use delete::{DeleteRequest, DeleteResponse, delete};
pub use export::export;
pub(crate) use show::{AccountResponse, show};
