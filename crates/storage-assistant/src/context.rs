//! State that the tasks of a store share.

use std::sync::Arc;

use pia_assistant::Weeks;
use pia_kernel::{Clock, LiveSetting};
use pia_storage::Database;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::lease::Lease;
use crate::queue::Queue;
use crate::tally::Tally;

/// State that the tasks of a store share. Clones share it.
#[derive(Clone)]
pub(crate) struct BookingContext {
    pub(crate) db: Database,
    pub(crate) queue: Arc<Queue>,
    pub(crate) lease: Arc<Lease>,
    pub(crate) tally: Arc<Tally>,
    /// Notified when entries must not wait to be gathered.
    pub(crate) hurry: Arc<Notify>,
    pub(crate) stop: CancellationToken,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) weeks: LiveSetting<Weeks>,
    pub(crate) tasks: TaskTracker,
}
