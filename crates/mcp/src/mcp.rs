//! The use cases that tools call.

use std::sync::Arc;

use pia_knowledge::{Documents, Retrieval};
use pia_web::{ApiError, Runner};

use crate::refusals::switched_off;

/// The use cases that tools call.
#[derive(Clone)]
pub struct Mcp {
    /// Retrieval of passages; `None` if knowledge is off.
    pub retrieval: Option<Retrieval>,
    /// Documents, which `fetch` reads for members.
    pub documents: Documents,
    /// Public address of the server, for links to documents and for the origin.
    pub public_url: Arc<str>,
    /// Runner, on which use cases end even if the client disconnects.
    pub runner: Runner,
}

impl Mcp {
    /// Returns the retrieval of passages, unless knowledge is off.
    pub(crate) fn enabled_retrieval(&self) -> Result<Retrieval, ApiError> {
        self.retrieval.clone().ok_or_else(switched_off)
    }
}
