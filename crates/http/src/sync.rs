//! `/api/sync`: synchronisation of devices.

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

/// Use cases of synchronisation.
#[derive(Clone)]
pub struct SyncApi {
    /// Storage of changes that devices push.
    pub pushing: PushService,
    /// Retrieval of changes.
    pub pulling: PullService,
    /// Inspection and deletion of stored data.
    pub support: Support,
    /// True if a device that is up to date gets a response without a body.
    pub fast_path: LiveSetting<bool>,
}
