//! Recent proofs of the owners of sessions.

use std::sync::Arc;

use pia_kernel::{Clock, Unavailable};

use crate::factors::reauthentication::FRESH;
use crate::ports::SessionStarts;
use crate::sessions::access_tokens::SessionRef;

/// Recent proofs that sessions are used by their owners: a sign-in, or a later proof.
#[derive(Clone)]
pub struct SessionProofs {
    starts: Arc<dyn SessionStarts>,
    clock: Arc<dyn Clock>,
}

impl SessionProofs {
    /// Creates proofs from the times in `starts`.
    pub fn new(starts: Arc<dyn SessionStarts>, clock: Arc<dyn Clock>) -> Self {
        Self { starts, clock }
    }

    /// Returns whether a session proved its owner within the last ten minutes.
    pub async fn is_fresh(&self, session_ref: SessionRef) -> Result<bool, Unavailable> {
        let proved_at = self.starts.proved_at(session_ref).await?;
        Ok(proved_at.is_some_and(|it| it + FRESH >= self.clock.now()))
    }

    /// Lets a session be fresh for the next ten minutes.
    pub(crate) async fn prove(&self, session_ref: SessionRef) -> Result<(), Unavailable> {
        self.starts.prove(session_ref, self.clock.now()).await
    }
}
