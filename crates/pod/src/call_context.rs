//! Context of a call.

use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// Context of the call of a tool, or of the run of a skill.
#[derive(Debug, Clone, Default)]
pub struct CallContext {
    /// Cancelled when nobody waits for the result any more. A call that has not
    /// returned two seconds later is dropped.
    pub cancelled: CancellationToken,
    progress: watch::Sender<String>,
}

impl CallContext {
    pub(crate) fn new(cancelled: CancellationToken, progress: watch::Sender<String>) -> Self {
        Self { cancelled, progress }
    }

    /// Reports the progress as a sentence for a person, of which the server shows
    /// 500 characters. Of several within a second, the last one is sent.
    pub fn report(&self, progress: impl Into<String>) {
        self.progress.send_replace(progress.into());
    }
}
