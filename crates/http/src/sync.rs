//! `/api/sync`: what devices keep in step.

mod item_reading;
mod items;
mod pull;
mod pull_query;
mod pull_response;
mod push;
mod push_request;
mod support;

use pia_kernel::LiveSetting;
use pia_sync::{PullService, PushService, Support};

pub(crate) use pull::pull;
pub(crate) use pull_query::SyncPullQuery;
pub(crate) use pull_response::SyncPullResponse;
pub(crate) use push::{SyncPushResponse, push};
pub(crate) use push_request::SyncPushRequest;
pub(crate) use support::{
    SyncDebugStateResponse, SyncEventsResponse, SyncQuotaResponse, SyncResetResponse,
    SyncStatusResponse, debug_state, events, quota, reset, status,
};

/// The use cases of synchronisation.
#[derive(Clone)]
pub struct SyncApi {
    /// Taking what devices changed.
    pub pushing: PushService,
    /// Giving devices what changed.
    pub pulling: PullService,
    /// Looking at what is stored, and taking it away.
    pub support: Support,
    /// True if a device that is up to date receives a response that says only
    /// that.
    pub fast_path: LiveSetting<bool>,
}
