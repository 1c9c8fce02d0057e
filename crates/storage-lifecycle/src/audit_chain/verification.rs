//! Verification of the chain, entry by entry.
//!
//! Call `new`, then `check` for each page of entries with the checkpoints up to its end,
//! then `finish`. A fault does not stop the verification: it continues from the stored
//! link, so that one changed entry is one fault.

use pia_kernel::ChainFault;
use pia_sealing::ServerSigner;

use super::checkpoint::{CheckpointRow, to_hex};
use super::link::{ChainRow, ORIGIN};

/// Maximum number of faults that are reported.
const MAX_FAULTS: usize = 100;

/// Verification in progress.
pub(super) struct Verification<'a> {
    signer: &'a ServerSigner,
    /// Checkpoint that was exported earlier; `None` if the caller has none.
    exported: Option<&'a CheckpointRow>,
    /// Stored link of the last entry that was verified.
    link: Vec<u8>,
    /// Position of that entry; 0 before the first.
    position: i64,
    entries: u64,
    faults: Vec<ChainFault>,
}

/// Result of a verification.
pub(super) struct VerifiedChain {
    /// Number of verified entries.
    pub(super) entries: u64,
    /// Position of the last entry.
    pub(super) last: i64,
    pub(super) faults: Vec<ChainFault>,
}

impl<'a> Verification<'a> {
    /// Starts behind `anchor`, or at the first entry without one.
    pub(super) fn new(
        signer: &'a ServerSigner,
        exported: Option<&'a CheckpointRow>,
        anchor: Option<&CheckpointRow>,
    ) -> Self {
        let mut verification = Self {
            signer,
            exported,
            link: anchor.map_or_else(|| ORIGIN.to_vec(), |it| it.link.clone()),
            position: anchor.map_or(0, |it| it.position),
            entries: 0,
            faults: Vec::new(),
        };
        for checkpoint in exported.into_iter().chain(anchor) {
            verification.check_signature(checkpoint);
        }
        verification
    }

    /// Returns the position of the last verified entry.
    pub(super) fn position(&self) -> i64 {
        self.position
    }

    /// Reports a fault.
    pub(super) fn report(&mut self, fault: ChainFault) {
        if self.faults.len() < MAX_FAULTS {
            self.faults.push(fault);
        }
    }

    /// Verifies the next entries by position, and the checkpoints up to the
    /// last of them.
    pub(super) fn check(&mut self, rows: &[ChainRow], checkpoints: &[CheckpointRow]) {
        let mut checkpoints = checkpoints.iter().peekable();
        for row in rows {
            self.check_entry(row);
            while let Some(checkpoint) = checkpoints.next_if(|it| it.position <= self.position) {
                self.check_signature(checkpoint);
                self.check_link(checkpoint);
            }
            if let Some(checkpoint) = self.exported {
                self.check_link(checkpoint);
            }
        }
    }

    /// Ends the verification. Entries between the last one and `later_checkpoints`
    /// are reported as missing.
    pub(super) fn finish(mut self, later_checkpoints: &[CheckpointRow]) -> VerifiedChain {
        for checkpoint in later_checkpoints {
            self.check_signature(checkpoint);
        }

        let end = later_checkpoints.iter().chain(self.exported).map(|it| it.position).max();
        if let Some(last) = end.filter(|it| *it > self.position) {
            self.report(ChainFault::Missing { first: self.position + 1, last });
        }

        VerifiedChain { entries: self.entries, last: self.position, faults: self.faults }
    }

    fn check_entry(&mut self, row: &ChainRow) {
        let (Some(position), Some(stored_link)) = (row.position, row.link.as_deref()) else {
            return;
        };

        let next_position = self.position + 1;
        if position > next_position {
            self.report(ChainFault::Missing { first: next_position, last: position - 1 });
        } else if row.link(&self.link, position) != stored_link {
            self.report(ChainFault::Changed { position, id: row.id.0 });
        }

        self.position = position;
        self.link = stored_link.to_vec();
        self.entries += 1;
    }

    fn check_link(&mut self, checkpoint: &CheckpointRow) {
        let position = self.position;
        if checkpoint.position == position && checkpoint.link != self.link {
            self.report(ChainFault::Rewritten { position });
        }
    }

    fn check_signature(&mut self, checkpoint: &CheckpointRow) {
        let position = checkpoint.position;
        if !checkpoint.is_signed() {
            self.report(ChainFault::Forged { position });
        } else if !self.signer.owns(&checkpoint.public_key) {
            let public_key = to_hex(&checkpoint.public_key);
            self.report(ChainFault::OtherKey { position, public_key });
        }
    }
}

#[cfg(test)]
mod tests {
    use pia_kernel::{Secret, Timestamp};
    use pia_sealing::{MasterKeys, ServerSeal};
    use uuid::Uuid;

    use super::super::link::tests::{chain_row, entry};
    use super::*;

    fn signer(key: u8) -> ServerSigner {
        let keys = MasterKeys { current: Secret::new([key; 32]), previous: None };
        ServerSeal::new(keys).signer("audit-checkpoint").unwrap()
    }

    /// Creates nine entries in batches of three, and a checkpoint after each batch.
    fn chain(signer: &ServerSigner) -> (Vec<ChainRow>, Vec<CheckpointRow>) {
        let mut rows = Vec::new();
        let mut checkpoints = Vec::new();
        let mut link = ORIGIN.to_vec();
        for position in 1..=9_i64 {
            let row = chain_row(entry(position.unsigned_abs().into()), &link, position);
            link = row.link.clone().unwrap();
            rows.push(row);
            if position % 3 == 0 {
                let at = Timestamp::from_micros(position);
                checkpoints.push(CheckpointRow::sign(signer, position, link.clone(), at));
            }
        }
        (rows, checkpoints)
    }

    fn faults(rows: &[ChainRow], checkpoints: &[CheckpointRow]) -> Vec<ChainFault> {
        let key = signer(1);
        let mut verification = Verification::new(&key, None, None);
        verification.check(rows, checkpoints);

        let later_checkpoints: Vec<_> = checkpoints
            .iter()
            .filter(|it| it.position > verification.position())
            .cloned()
            .collect();
        verification.finish(&later_checkpoints).faults
    }

    fn changed_fault(position: i64, id: u128) -> ChainFault {
        ChainFault::Changed { position, id: Uuid::from_u128(id) }
    }

    #[test]
    fn changed_moved_and_missing_entries_are_reported() {
        let (rows, checkpoints) = chain(&signer(1));
        assert_eq!(faults(&rows, &checkpoints), []);

        let mut changed_rows = rows.clone();
        changed_rows[4].at = pia_storage::DbInstant(Timestamp::from_micros(1));
        assert_eq!(faults(&changed_rows, &checkpoints), [changed_fault(5, 5)]);

        let mut shortened = rows.clone();
        shortened.drain(3..5);
        assert_eq!(faults(&shortened, &checkpoints), [ChainFault::Missing { first: 4, last: 5 }]);

        let missing = ChainFault::Missing { first: 8, last: 9 };
        assert_eq!(faults(&rows[..7], &checkpoints), [missing]);

        let mut swapped = rows.clone();
        (swapped[1].id, swapped[2].id) = (swapped[2].id, swapped[1].id);
        assert_eq!(faults(&swapped, &checkpoints), [changed_fault(2, 3), changed_fault(3, 2)]);
    }

    #[test]
    fn recomputed_links_differ_from_the_checkpoints() {
        let (mut rows, checkpoints) = chain(&signer(1));
        rows[4].at = pia_storage::DbInstant(Timestamp::from_micros(1));
        let mut link = rows[3].link.clone().unwrap();
        for row in &mut rows[4..] {
            link = row.link(&link, row.position.unwrap());
            row.link = Some(link.clone());
        }

        let rewritten = |position| ChainFault::Rewritten { position };
        assert_eq!(faults(&rows, &checkpoints), [rewritten(6), rewritten(9)]);
    }

    #[test]
    fn checkpoints_of_another_key_and_changed_ones_are_reported() {
        let (rows, checkpoints) = chain(&signer(1));
        let (_, foreign_checkpoints) = chain(&signer(2));
        let other_key = |it: &CheckpointRow| ChainFault::OtherKey {
            position: it.position,
            public_key: to_hex(&it.public_key),
        };

        let other_keys: Vec<_> = foreign_checkpoints.iter().map(other_key).collect();
        assert_eq!(faults(&rows, &foreign_checkpoints), other_keys);

        let mut changed_checkpoints = checkpoints;
        changed_checkpoints[1].at = pia_storage::DbInstant(Timestamp::from_micros(1));
        assert_eq!(faults(&rows, &changed_checkpoints), [ChainFault::Forged { position: 6 }]);
    }

    #[test]
    fn an_exported_checkpoint_reveals_truncation() {
        let key = signer(1);
        let (rows, checkpoints) = chain(&key);
        let exported = checkpoints.last();

        let mut verification = Verification::new(&key, exported, None);
        verification.check(&rows[..6], &checkpoints[..2]);

        let verified = verification.finish(&[]);
        assert_eq!(verified.entries, 6);
        assert_eq!(verified.last, 6);
        assert_eq!(verified.faults, [ChainFault::Missing { first: 7, last: 9 }]);
    }

    #[test]
    fn a_chain_whose_beginning_was_deleted_starts_at_its_anchor() {
        let key = signer(1);
        let (rows, checkpoints) = chain(&key);

        let mut verification = Verification::new(&key, None, checkpoints.first());
        verification.check(&rows[3..], &checkpoints[1..]);

        let verified = verification.finish(&[]);
        assert_eq!(verified.entries, 6);
        assert_eq!(verified.last, 9);
        assert!(verified.faults.is_empty());
    }
}
