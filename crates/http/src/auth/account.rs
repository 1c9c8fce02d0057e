//! `/auth/account`: taking one's data along, and leaving.

mod archive;
mod delete;
mod document;
mod encoder;
mod export;
mod manifest;
mod telling;

pub(crate) use delete::{DeleteRequest, DeleteResponse, delete};
pub(crate) use export::export;
