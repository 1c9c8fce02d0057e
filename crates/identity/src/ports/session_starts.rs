//! Start times of sessions.

use async_trait::async_trait;
use pia_kernel::{Timestamp, Unavailable};

use crate::sessions::access_tokens::SessionRef;

/// Knows when sessions began: who has just signed in need not prove again who
/// they are.
#[cfg_attr(any(test, feature = "mock"), mockall::automock)]
#[async_trait]
pub trait SessionStarts: Send + Sync {
    /// Returns the start time of a session; nothing if it has ended.
    async fn began_at(&self, session_ref: SessionRef) -> Result<Option<Timestamp>, Unavailable>;
}
