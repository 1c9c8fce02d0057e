//! Giving devices what changed.

use std::collections::HashMap;
use std::sync::Arc;

use pia_kernel::{Timestamp, Unavailable, UserId};
use ring::digest;
use uuid::Uuid;

use crate::ports::{
    Catalogue, Head, ItemPage, PageLimit, PendingDevice, PendingDevices, SyncReader,
};
use crate::stamp_gap::{StampGap, StampGaps};

/// Approximate size of one response, in bytes, for a device that goes on
/// asking.
const MAX_PAGE_BYTES: u64 = 4_000_000;
/// Maximum number of items of all channels on such a page.
pub const MAX_PAGE_ROWS: u32 = 500;
/// Limit of a response for devices of before there were pages: they ask once,
/// and take the response for all there is.
const UNPAGED_LIMIT: PageLimit = PageLimit { rows: 1_000_000, bytes: 64_000_000 };

/// Request of a device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PullRequest {
    /// Stamp after which changes are wanted.
    pub since: Timestamp,
    /// Maximum number of items; all of them for a device without paging.
    pub limit: Option<u32>,
    /// The version of the operator's part that the device has.
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
    /// Changes.
    pub page: ItemPage,
    /// After which stamp the device is to ask next.
    pub watermark: Timestamp,
    /// True if more is available at once.
    pub has_more: bool,
    /// Latest version of the catalogue.
    pub catalogue_version: i64,
    /// The operator's part, unless the device has it.
    pub catalogue: Option<CatalogueSnapshot>,
    /// The devices that wait to be let in.
    pub pending: Vec<PendingDevice>,
}

/// The operator's part, and which plugins of it the person turned on or off.
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
    #[error("the account is gone")]
    Gone,
    /// Something that is needed did not answer.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
}

/// Gives devices what changed.
#[derive(Clone)]
pub struct PullService {
    reader: Arc<dyn SyncReader>,
    pending: Arc<dyn PendingDevices>,
    stamp_gaps: StampGaps,
}

/// Changes and catalogue for a device.
#[derive(Default)]
struct PulledChanges {
    page: ItemPage,
    /// After which stamp it is to go on, and to send again what it changed
    /// since, if the one that it has is of before a restore.
    resent_from: Option<Timestamp>,
}

impl PullRequest {
    /// After which stamp there may be something that the device lacks.
    fn start(&self, stamp_gap: Option<StampGap>) -> Timestamp {
        stamp_gap.map_or(self.since, |it| it.began_at)
    }

    fn page_limit(&self) -> PageLimit {
        let rows = self.limit.map(|it| it.clamp(1, MAX_PAGE_ROWS));
        rows.map_or(UNPAGED_LIMIT, |rows| PageLimit { rows, bytes: MAX_PAGE_BYTES })
    }
}

impl PullState {
    /// Returns whether there is anything that the device has not seen.
    fn is_behind(&self) -> bool {
        self.head.last_stamp > self.since
    }

    /// `ETag` of the answer. It is the same as long as the same would be answered, and never again
    /// what it was before a reset.
    pub fn tag(&self) -> String {
        let Head { epoch, version, last_stamp, .. } = &self.head;
        let epoch = epoch.first_chunk().copied().map(u64::from_be_bytes).unwrap_or_default();
        let (catalogue, since) = (self.catalogue_version(), self.since.micros());
        let last = last_stamp.micros();
        format!("v{version}-c{catalogue}-s{since}-e{epoch:016x}-l{last}")
    }

    /// The version of the operator's part: another for another group and other
    /// choices, and of no order.
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
    /// Reads from `reader`; which devices wait is reported by `pending`, and which
    /// stamps were given by a server whose data was lost by `stamp_gaps`.
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
    /// holds, once the state was loaded.
    ///
    /// Whoever asks again after each answer's watermark until there is no more
    /// is given everything, whatever is written meanwhile.
    pub async fn pull(
        &self,
        user: UserId,
        ask: &PullRequest,
        standing: &PullState,
    ) -> Result<Pulled, PullError> {
        if !standing.is_behind() {
            return self.answer(user, ask, standing, PulledChanges::default()).await;
        }
        let stamp_gap = self.find_gap(ask);
        let page = self.reader.page(user, ask.start(stamp_gap), ask.page_limit()).await?;
        let found = self.resolve_gap(user, ask, stamp_gap, page).await?;
        self.answer(user, ask, standing, found).await
    }

    /// Both at once, for a device that needs an answer wherever things stand.
    pub async fn pull_at_once(
        &self,
        user: UserId,
        ask: &PullRequest,
    ) -> Result<(PullState, Pulled), PullError> {
        let stamp_gap = self.find_gap(ask);
        let read = self.reader.head_and_page(user, ask.start(stamp_gap), ask.page_limit()).await?;
        let (head, page) = read.ok_or(PullError::Gone)?;
        let standing = PullState { head, since: ask.since };
        // What was written after the look comes next time: a device that has
        // seen more than there was is informed.
        let found = if standing.is_behind() {
            self.resolve_gap(user, ask, stamp_gap, page).await?
        } else {
            PulledChanges::default()
        };
        let pulled = self.answer(user, ask, &standing, found).await?;
        Ok((standing, pulled))
    }

    /// The silence that a device's stamp is of. One that knows no pages asks with
    /// its own time, and with no stamp.
    fn find_gap(&self, ask: &PullRequest) -> Option<StampGap> {
        ask.limit.and_then(|_| self.stamp_gaps.containing(ask.since))
    }

    /// Finds out what a page reports that was read from the beginning of a gap. A
    /// device is to go on after the last row of its account from before. Where
    /// an instance wrote on while another started, it may have been no gap for
    /// this account, whose devices have stamps of it by right.
    async fn resolve_gap(
        &self,
        user: UserId,
        ask: &PullRequest,
        stamp_gap: Option<StampGap>,
        page: ItemPage,
    ) -> Result<PulledChanges, Unavailable> {
        let broken = |it: &StampGap| page.rows.first().is_some_and(|row| row.stamp < it.ended_at);
        Ok(match stamp_gap {
            None => PulledChanges { page, resent_from: None },
            Some(it) if broken(&it) => {
                let page = self.reader.page(user, ask.since, ask.page_limit()).await?;
                PulledChanges { page, resent_from: None }
            }
            Some(it) => {
                let known = self.reader.last_until(user, it.began_at).await?;
                PulledChanges { page, resent_from: Some(known.unwrap_or(it.began_at)) }
            }
        })
    }

    async fn answer(
        &self,
        user: UserId,
        ask: &PullRequest,
        standing: &PullState,
        PulledChanges { page, resent_from }: PulledChanges,
    ) -> Result<Pulled, PullError> {
        let catalogue_version = standing.catalogue_version();
        let catalogue = if ask.catalogue == Some(catalogue_version) {
            None
        } else {
            Some(self.catalogue_snapshot(user, &standing.head).await?)
        };
        let pending = if standing.head.has_pending_devices {
            self.pending.waiting_devices(user).await?
        } else {
            Vec::new()
        };
        let (watermark, has_more) = match resent_from {
            Some(stamp) => (stamp, false),
            None => next_watermark(standing.head.last_stamp, &page),
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
        let chosen = match head.preferences {
            Some(_) => self.reader.preferences(user).await?.into_iter().collect(),
            None => HashMap::new(),
        };
        Ok(CatalogueSnapshot { catalogue, plugin_preferences: chosen })
    }
}

/// After which stamp to ask next, and whether to do so at once. Where nothing
/// is newer that is the highest there is: a device that has seen a higher one
/// saw what this server has lost, and is to send it again.
fn next_watermark(known: Timestamp, page: &ItemPage) -> (Timestamp, bool) {
    match (page.up_to, page.is_truncated) {
        (Some(up_to), true) => (up_to, true),
        // What was written since the look is part of the page.
        (Some(up_to), false) => (up_to.max(known), false),
        (None, _) => (known, false),
    }
}

#[cfg(test)]
mod tests;
