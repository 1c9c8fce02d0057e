//! Port of the times when sessions proved their owners; implemented in `storage-identity`.

use async_trait::async_trait;
use pia_kernel::{Timestamp, Unavailable};

use crate::sessions::access_tokens::SessionRef;

/// Store of the times when sessions proved their owners: by a sign-in, or by a later proof.
#[cfg_attr(any(test, feature = "mock"), mockall::automock)]
#[async_trait]
pub trait SessionStarts: Send + Sync {
    /// Returns the time of a session's last proof, or else of its start; `None` if it has ended.
    async fn proved_at(&self, session_ref: SessionRef) -> Result<Option<Timestamp>, Unavailable>;

    /// Stores the time of a session's last proof.
    async fn prove(&self, session_ref: SessionRef, at: Timestamp) -> Result<(), Unavailable>;
}
