//! The use cases that tools call.

use std::sync::Arc;

use pia_kernel::DocumentId;
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
    /// Public address of the server, without a slash at its end.
    pub public_url: Arc<str>,
    /// Runner of use cases.
    pub runner: Runner,
}

impl Mcp {
    /// Returns the retrieval of passages, unless knowledge is off.
    pub(crate) fn enabled_retrieval(&self) -> Result<Retrieval, ApiError> {
        self.retrieval.clone().ok_or_else(switched_off)
    }

    /// Returns the link to a document: its source if that is a page, or else
    /// its page on this server.
    pub(crate) fn link(&self, document: DocumentId, source_uri: Option<&str>) -> String {
        let is_page = |it: &&str| it.starts_with("http://") || it.starts_with("https://");
        let page = || format!("{}/kb/{document}", self.public_url);
        source_uri.filter(is_page).map_or_else(page, str::to_owned)
    }
}
