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
    /// Documents.
    pub documents: Documents,
    /// Public address of the server.
    pub public_url: Arc<str>,
    /// Runner of use cases.
    pub runner: Runner,
}

impl Mcp {
    /// Returns the retrieval of passages, unless knowledge is off.
    pub(crate) fn enabled_retrieval(&self) -> Result<Retrieval, ApiError> {
        self.retrieval.clone().ok_or_else(switched_off)
    }
}
