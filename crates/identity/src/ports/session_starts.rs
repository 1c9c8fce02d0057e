//! Port of the start times of sessions; implemented in `storage-identity`.

use async_trait::async_trait;
use pia_kernel::{Timestamp, Unavailable};

use crate::sessions::access_tokens::SessionRef;

/// Source of the start times of sessions: a recent sign-in needs no further proof.
#[cfg_attr(any(test, feature = "mock"), mockall::automock)]
#[async_trait]
pub trait SessionStarts: Send + Sync {
    /// Returns the start time of a session; `None` if it has ended.
    async fn began_at(&self, session_ref: SessionRef) -> Result<Option<Timestamp>, Unavailable>;
}
