//! Times in which nobody was given a stamp.

use std::sync::Arc;

use pia_kernel::Timestamp;

/// A time in which nobody was given a stamp, as far as the database knows: from
/// the highest one that it had when a server started, until that start. Who has
/// one of it was given it before the database was restored from a backup.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StampGap {
    /// The highest stamp.
    pub began_at: Timestamp,
    /// Time at which the server started.
    pub ended_at: Timestamp,
}

/// All of them.
#[derive(Debug, Clone, Default)]
pub struct StampGaps(Arc<[StampGap]>);

impl StampGaps {
    /// Gaps from a list in any order.
    pub fn new(mut all: Vec<StampGap>) -> Self {
        all.sort_unstable_by_key(|it| it.began_at);
        Self(all.into())
    }

    /// The silence that a stamp is of; of several the one that began first.
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
    fn a_stamp_is_of_a_silence_if_it_is_neither_its_first_nor_its_last() {
        let stamp_gap = |began, ended| StampGap { began_at: at(began), ended_at: at(ended) };
        let stamp_gaps = StampGaps::new(vec![stamp_gap(50, 60), stamp_gap(10, 20)]);
        let around = |stamp| stamp_gaps.containing(at(stamp)).map(|it| it.began_at.micros());

        assert_eq!([9, 10, 20, 21, 50, 60, 99].map(around), [None; 7]);
        assert_eq!([11, 19, 51, 59].map(around), [Some(10), Some(10), Some(50), Some(50)]);
        assert_eq!(StampGaps::default().containing(at(11)), None);
        // The last stamp may have gone with its account.
        let nested = StampGaps::new(vec![stamp_gap(50, 60), stamp_gap(10, 90)]);
        assert_eq!(nested.containing(at(70)), Some(stamp_gap(10, 90)));
    }
}
