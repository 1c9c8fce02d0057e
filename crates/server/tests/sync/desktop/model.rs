//! Model of a row: all states that it may be in after all pushes.
//!
//! Requests run concurrently in an unknown order; so each has a start and an
//! end on one scale, and a row is checked by what holds in every possible
//! order. The rule: of versions the newest wins, and a deletion
//! supersedes what was stored before it and what is not newer than itself.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use super::device::Store;
use super::fields::Channel;
use super::moment::Moment;
use super::row::Row;

/// All pushes that were stored.
#[derive(Default)]
pub(crate) struct Journal {
    /// Number of the next start or end of a push.
    next_event: AtomicU64,
    stored: Mutex<Vec<Sent>>,
}

/// A push, with the times between which the server stored it.
#[derive(Debug, Clone)]
pub(crate) struct Sent {
    /// Number of the event at which it started.
    start: u64,
    /// Number of the event at which it ended.
    end: u64,
    /// `clientTimestamp`.
    claimed: Moment,
    /// Server's time before it.
    started_at: Moment,
    /// Server's time after it.
    ended_at: Moment,
    pub(crate) versions: Vec<(Channel, Row)>,
    pub(crate) deleted: Vec<(Channel, String)>,
}

impl Sent {
    pub(crate) fn record(&mut self, channel: Channel, row: &Row) {
        self.versions.push((channel, row.shared(channel)));
    }
}

impl Journal {
    pub(crate) fn begin(&self, claimed: Moment, now: Moment) -> Sent {
        let start = self.next_event.fetch_add(1, Ordering::SeqCst);
        Sent {
            start,
            end: start,
            claimed,
            started_at: now,
            ended_at: now,
            versions: Vec::new(),
            deleted: Vec::new(),
        }
    }

    pub(crate) fn end(&self, mut sent: Sent, now: Moment) {
        sent.end = self.next_event.fetch_add(1, Ordering::SeqCst);
        sent.ended_at = now;
        self.stored.lock().unwrap_or_else(PoisonError::into_inner).push(sent);
    }

    /// Forgets all pushes, like the server at a reset.
    pub(crate) fn clear(&self) {
        self.stored.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// Fails if a device's rows cannot result from the pushes. Ignores settings,
    /// which are pushed under the time of each push.
    pub(crate) fn check(&self, stored_rows: &Store, who: &str) {
        let stored = self.stored.lock().unwrap_or_else(PoisonError::into_inner);
        let keys: BTreeSet<_> = stored
            .iter()
            .flat_map(|it| it.versions.iter().map(|(channel, row)| (*channel, row.id.clone())))
            .filter(|it| it.0 != Channel::Settings)
            .collect();
        for key in stored_rows.keys().filter(|it| it.0 != Channel::Settings) {
            assert!(keys.contains(key), "{who}: {key:?} was never pushed");
        }

        for key in &keys {
            let history = RowHistory::of(&stored, key);
            let context = format!("{who}: {key:?}");
            match stored_rows.get(key) {
                Some(row) => history.assert_stored(row, key.0, &context),
                None => history.assert_deleted(&context),
            }
        }
    }
}

/// All pushes of one row.
struct RowHistory<'a> {
    versions: Vec<(&'a Sent, &'a Row)>,
    deletions: Vec<&'a Sent>,
    newest: Moment,
}

impl<'a> RowHistory<'a> {
    fn of(stored: &'a [Sent], key: &(Channel, String)) -> Self {
        let of_push = |it: &'a Sent| {
            let is_of_row = |(channel, row): &&(Channel, Row)| *channel == key.0 && row.id == key.1;
            it.versions.iter().filter(is_of_row).map(move |(_, row)| (it, row))
        };
        let versions: Vec<_> = stored.iter().flat_map(of_push).collect();
        let deletions = stored.iter().filter(|it| it.deleted.contains(key)).collect();
        let newest = versions.iter().map(|(_, row)| row.updated).max();
        Self { versions, deletions, newest: newest.expect("a version") }
    }

    fn pushes_of_newest(&self) -> impl Iterator<Item = (&'a Sent, &'a Row)> {
        self.versions.iter().copied().filter(|(_, row)| row.updated == self.newest)
    }

    fn assert_stored(&self, row: &Row, channel: Channel, context: &str) {
        let has_fields = |it: &Row| it.fields == row.fields;
        let is_newest = if channel == Channel::Sessions {
            self.versions.iter().any(|(_, it)| has_fields(it))
        } else {
            self.pushes_of_newest().any(|(_, it)| has_fields(it))
        };
        assert!(is_newest, "{context}: {row:?} is not the newest version");

        let first_end = self.pushes_of_newest().map(|(push, _)| push.end).min().expect("a version");
        let first_start =
            self.pushes_of_newest().map(|(push, _)| push.start).min().expect("a version");
        for deletion in &self.deletions {
            let is_later = deletion.start > first_end;
            assert!(!is_later, "{context}: deleted after its newest version, and back again");

            let was_there = self.versions.iter().any(|(push, _)| push.end < deletion.start);
            let is_first_deletion = self.deletions.iter().all(|it| it.start >= deletion.start);
            let is_earlier = deletion.end < first_start && was_there && is_first_deletion;
            let deletion_time = deletion.claimed.rounded().min(deletion.started_at);
            let is_superseded = is_earlier && deletion_time >= self.newest;
            assert!(!is_superseded, "{context}: revived by a version older than its deletion");
        }
    }

    fn assert_deleted(&self, context: &str) {
        let first_start =
            self.pushes_of_newest().map(|(push, _)| push.start).min().expect("a version");
        let is_explained = self.deletions.iter().any(|deletion| {
            let deletion_time = deletion.claimed.rounded().min(deletion.ended_at);
            let was_there = self.versions.iter().any(|(push, _)| push.start < deletion.end);
            was_there && (deletion.end > first_start || deletion_time >= self.newest)
        });
        assert!(is_explained, "{context}: absent, although no deletion explains it");
    }
}
