//! Gaps in which no stamp was issued, by which `pull.rs` recognises that a device
//! has data from before a restore. `SqlStampGaps` records one at each start of a
//! server:
//!
//! ```text
//! stamps   1 2 3 │ 4 5 6         backup after 3, then 4 to 6 are lost
//! restored 1 2 3 │ (gap) │ 9     a device at 5 has changes that the server lacks
//! ```

use std::sync::Arc;

use pia_kernel::Timestamp;

/// Interval in which no stamp was issued, as far as the database knows: from its
/// highest one when a server started, until that start. A device with a stamp in
/// it got that before the database was restored from a backup.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StampGap {
    /// Highest stamp before the gap.
    pub began_at: Timestamp,
    /// Time of the server's start.
    pub ended_at: Timestamp,
}

/// Recorded gaps, in the order in which they began.
#[derive(Debug, Clone, Default)]
pub struct StampGaps(Arc<[StampGap]>);

impl StampGaps {
    /// Creates the set from a list in any order.
    pub fn new(mut all: Vec<StampGap>) -> Self {
        all.sort_unstable_by_key(|it| it.began_at);
        Self(all.into())
    }

    /// Returns the gap that contains a stamp; of several the one that began first.
    pub fn containing(&self, stamp: Timestamp) -> Option<StampGap> {
        self.0.iter().find(|it| it.began_at < stamp && stamp < it.ended_at).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(micros: i64) -> Timestamp {
        Timestamp::from_micros(micros)
    }

    #[test]
    fn a_gap_contains_neither_its_first_nor_its_last_stamp() {
        let stamp_gap = |began, ended| StampGap { began_at: at(began), ended_at: at(ended) };
        let stamp_gaps = StampGaps::new(vec![stamp_gap(50, 60), stamp_gap(10, 20)]);
        let around = |stamp| stamp_gaps.containing(at(stamp)).map(|it| it.began_at.micros());

        assert_eq!([9, 10, 20, 21, 50, 60, 99].map(around), [None; 7]);
        assert_eq!([11, 19, 51, 59].map(around), [Some(10), Some(10), Some(50), Some(50)]);
        assert_eq!(StampGaps::default().containing(at(11)), None);
        // The last stamp may have been deleted with its account.
        let nested = StampGaps::new(vec![stamp_gap(50, 60), stamp_gap(10, 90)]);
        assert_eq!(nested.containing(at(70)), Some(stamp_gap(10, 90)));
    }
}
