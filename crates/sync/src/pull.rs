//! Pulls: changes for devices.
//!
//! A device sends the watermark of its last response, and continues until
//! `has_more` is false. There are two ways to a response: with an
//! `If-None-Match`, `pull_state` reads the tag first and `pull` the changes only
//! if the tag differs; without one, `pull_at_once` saves a round trip. Both end
//! in `answer`, which adds the catalogue and waiting devices.
//!
//! A watermark within a `StampGap` is from before a restore of the database: the
//! response then begins before the gap and tells the device to push again from
//! there (`resolve_gap`).

use std::collections::HashMap;
use std::sync::Arc;

use pia_kernel::{Timestamp, Unavailable, UserId};
use ring::digest;
use uuid::Uuid;

use crate::ports::{
    Catalogue, Head, ItemPage, PageLimit, PendingDevice, PendingDevices, SyncReader,
};
use crate::stamp_gap::{StampGap, StampGaps};

/// Approximate size of one response, in bytes, for a device that requests page after
/// page.
const MAX_PAGE_BYTES: u64 = 4_000_000;
/// Maximum number of items of all channels on such a page.
pub const MAX_PAGE_ROWS: u32 = 500;
/// Limit of a response for devices without paging: they send one request,
/// and expect everything in the response.
const UNPAGED_LIMIT: PageLimit = PageLimit { rows: 1_000_000, bytes: 64_000_000 };

/// Request of a device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PullRequest {
    /// Stamp after which changes are requested.
    pub since: Timestamp,
    /// Maximum number of items; all of them for a device without paging.
    pub limit: Option<u32>,
    /// Version of the catalogue that the device has; the response omits an equal one.
    pub catalogue: Option<i64>,
}

/// State of the data before any item is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PullState {
    head: Head,
    since: Timestamp,
}

/// Response for a device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pulled {
    /// Changes that the device lacks.
    pub page: ItemPage,
    /// Stamp from which the device is to continue. It is lower than the requested one if
    /// the server lost data: the device then pushes its later changes again.
    pub watermark: Timestamp,
    /// True if more is available at once.
    pub has_more: bool,
    /// Latest version of the catalogue.
    pub catalogue_version: i64,
    /// Catalogue, unless the device has it.
    pub catalogue: Option<CatalogueSnapshot>,
    /// Devices that wait for approval.
    pub pending: Vec<PendingDevice>,
}

/// Catalogue, and the user's choice of plugins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CatalogueSnapshot {
    /// Catalogue of the operator.
    pub catalogue: Catalogue,
    /// Plugins that the user turned on or off.
    pub plugin_preferences: HashMap<Uuid, bool>,
}

/// Errors that prevent a pull from being answered.
#[derive(Debug, thiserror::Error)]
pub enum PullError {
    /// The account is gone.
    #[error("the account doesn't exist any more")]
    Gone,
    /// A required port is unavailable.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
}

/// Service of devices' pulls.
#[derive(Clone)]
pub struct PullService {
    reader: Arc<dyn SyncReader>,
    pending: Arc<dyn PendingDevices>,
    stamp_gaps: StampGaps,
}

/// Changes for a device.
#[derive(Default)]
struct PulledChanges {
    page: ItemPage,
    /// Stamp from which the device is to continue, and to resend its own changes,
    /// if its stamp is from before a restore.
    resent_from: Option<Timestamp>,
}

impl PullRequest {
    /// Returns the stamp after which the device may lack changes.
    fn start(&self, stamp_gap: Option<StampGap>) -> Timestamp {
        stamp_gap.map_or(self.since, |it| it.began_at)
    }

    fn page_limit(&self) -> PageLimit {
        match self.limit {
            Some(limit) => PageLimit { rows: limit.clamp(1, MAX_PAGE_ROWS), bytes: MAX_PAGE_BYTES },
            None => UNPAGED_LIMIT,
        }
    }
}

impl PullState {
    /// Returns whether there are changes that the device has not seen.
    fn is_behind(&self) -> bool {
        self.head.last_stamp > self.since
    }

    /// Returns the `ETag` of the response. It is stable as long as the response is the same, and
    /// does not recur after a reset.
    pub fn tag(&self) -> String {
        let Head { epoch, version, last_stamp, .. } = &self.head;
        let epoch_prefix = epoch.first_chunk().copied().map(u64::from_be_bytes).unwrap_or_default();
        let catalogue = self.catalogue_version();
        let since = self.since.micros();
        let last = last_stamp.micros();
        format!("v{version}-c{catalogue}-s{since}-e{epoch_prefix:016x}-l{last}")
    }

    /// Returns the version of the catalogue: it differs by group and choices, and
    /// has no order.
    pub fn catalogue_version(&self) -> i64 {
        let Head { group, catalogue, preferences, epoch, .. } = &self.head;
        let mut hash = digest::Context::new(&digest::SHA256);
        hash.update(group.as_bytes());
        hash.update(&catalogue.to_be_bytes());
        hash.update(&preferences.map_or(0, Timestamp::micros).to_be_bytes());
        hash.update(epoch);
        let bytes = hash.finish().as_ref().first_chunk().copied().unwrap_or_default();
        i64::from_be_bytes(bytes) & i64::MAX
    }
}

impl PullService {
    /// Creates the service over `reader`; `pending` lists waiting devices, and
    /// `stamp_gaps` contains the stamps of lost data.
    pub fn new(
        reader: Arc<dyn SyncReader>,
        pending: Arc<dyn PendingDevices>,
        stamp_gaps: StampGaps,
    ) -> Self {
        Self { reader, pending, stamp_gaps }
    }

    /// Loads the state for a device that requests changes after `since`.
    pub async fn pull_state(&self, user: UserId, since: Timestamp) -> Result<PullState, PullError> {
        let head = self.reader.head(user).await?.ok_or(PullError::Gone)?;
        Ok(PullState { head, since })
    }

    /// Loads the changes that a device does not have, as many as one response
    /// holds, given the state.
    ///
    /// A device that continues from each response's watermark until there is no
    /// more gets everything, despite concurrent writes.
    pub async fn pull(
        &self,
        user: UserId,
        request: &PullRequest,
        state: &PullState,
    ) -> Result<Pulled, PullError> {
        if !state.is_behind() {
            return self.answer(user, request, state, PulledChanges::default()).await;
        }
        let stamp_gap = self.find_gap(request);
        let page = self.reader.page(user, request.start(stamp_gap), request.page_limit()).await?;
        let changes = self.resolve_gap(user, request, stamp_gap, page).await?;
        self.answer(user, request, state, changes).await
    }

    /// Loads state and changes at once, for a device that needs a response in any
    /// case.
    pub async fn pull_at_once(
        &self,
        user: UserId,
        request: &PullRequest,
    ) -> Result<(PullState, Pulled), PullError> {
        let stamp_gap = self.find_gap(request);
        let (head, page) = self
            .reader
            .head_and_page(user, request.start(stamp_gap), request.page_limit())
            .await?
            .ok_or(PullError::Gone)?;
        let state = PullState { head, since: request.since };
        // Changes after the state was read come next time: a device with a
        // higher stamp gets the watermark.
        let changes = if state.is_behind() {
            self.resolve_gap(user, request, stamp_gap, page).await?
        } else {
            PulledChanges::default()
        };
        let pulled = self.answer(user, request, &state, changes).await?;

        Ok((state, pulled))
    }

    /// Returns the gap that contains a device's stamp. A device without paging sends
    /// its own time, and no stamp.
    fn find_gap(&self, request: &PullRequest) -> Option<StampGap> {
        request.limit.and_then(|_| self.stamp_gaps.containing(request.since))
    }

    /// Evaluates a page that was read from the beginning of a gap. A device
    /// is to continue after the last row of its account from before. If
    /// an instance wrote on while another started, it may be no gap for
    /// this account, whose devices have valid stamps in it.
    async fn resolve_gap(
        &self,
        user: UserId,
        request: &PullRequest,
        stamp_gap: Option<StampGap>,
        page: ItemPage,
    ) -> Result<PulledChanges, Unavailable> {
        let Some(stamp_gap) = stamp_gap else {
            return Ok(PulledChanges { page, resent_from: None });
        };

        let has_stamp_in_gap = page.rows.first().is_some_and(|it| it.stamp < stamp_gap.ended_at);
        if has_stamp_in_gap {
            let page = self.reader.page(user, request.since, request.page_limit()).await?;
            return Ok(PulledChanges { page, resent_from: None });
        }

        let last_stamp = self.reader.last_until(user, stamp_gap.began_at).await?;
        Ok(PulledChanges { page, resent_from: Some(last_stamp.unwrap_or(stamp_gap.began_at)) })
    }

    async fn answer(
        &self,
        user: UserId,
        request: &PullRequest,
        state: &PullState,
        PulledChanges { page, resent_from }: PulledChanges,
    ) -> Result<Pulled, PullError> {
        let catalogue_version = state.catalogue_version();
        let catalogue = if request.catalogue == Some(catalogue_version) {
            None
        } else {
            Some(self.catalogue_snapshot(user, &state.head).await?)
        };

        let pending = if state.head.has_pending_devices {
            self.pending.waiting_devices(user).await?
        } else {
            Vec::new()
        };

        let (watermark, has_more) = match resent_from {
            Some(stamp) => (stamp, false),
            None => next_watermark(state.head.last_stamp, &page),
        };

        Ok(Pulled { page, watermark, has_more, catalogue_version, catalogue, pending })
    }

    /// Returns the catalogue that a user's next pull contains.
    pub async fn published(&self, user: UserId) -> Result<CatalogueSnapshot, PullError> {
        let head = self.reader.head(user).await?.ok_or(PullError::Gone)?;
        Ok(self.catalogue_snapshot(user, &head).await?)
    }

    async fn catalogue_snapshot(
        &self,
        user: UserId,
        head: &Head,
    ) -> Result<CatalogueSnapshot, Unavailable> {
        let catalogue = self.reader.catalogue(head.group, head.catalogue).await?;
        let plugin_preferences = match head.preferences {
            Some(_) => self.reader.preferences(user).await?.into_iter().collect(),
            None => HashMap::new(),
        };
        Ok(CatalogueSnapshot { catalogue, plugin_preferences })
    }
}

/// Returns the next watermark, and whether more is available at once. If nothing
/// is newer, that is the highest stamp: a device with a higher one has seen
/// data that this server has lost, and is to send it again.
fn next_watermark(known: Timestamp, page: &ItemPage) -> (Timestamp, bool) {
    match (page.up_to, page.is_truncated) {
        (Some(up_to), true) => (up_to, true),
        // Changes since the state was read are part of the page.
        (Some(up_to), false) => (up_to.max(known), false),
        (None, _) => (known, false),
    }
}

#[cfg(test)]
mod tests;
