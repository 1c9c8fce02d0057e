//! Figures measured for each server in each round.

use crate::measured::{Aim, Measured};

/// Kind of figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Metric {
    RawOne,
    PullsOne,
    ShareOne,
    InProcessOne,
    RawFour,
    PullsFour,
    ShareFour,
    InProcessFour,
    Unchanged,
    RawInserts,
    Pushed,
    PushShare,
    HundredthP50,
    HundredthP99,
    HundredthRow,
    TenthP50,
    TenthP99,
    TenthRow,
    AllP50,
    AllP99,
    AllRow,
    FullP50,
    FullP99,
    FullRow,
    SmallP50,
    PullGrowth,
    SameP50,
    SameP99,
    SmallSameP50,
    SameGrowth,
    PullStatements,
    SameStatements,
    PushStatements,
    GateStatements,
    Before,
    Seeded,
    After,
    Grown,
    Peak,
}

impl Measured for Metric {
    const ALL: &'static [Self] = &[
        Self::RawOne,
        Self::PullsOne,
        Self::ShareOne,
        Self::InProcessOne,
        Self::RawFour,
        Self::PullsFour,
        Self::ShareFour,
        Self::InProcessFour,
        Self::Unchanged,
        Self::RawInserts,
        Self::Pushed,
        Self::PushShare,
        Self::HundredthP50,
        Self::HundredthP99,
        Self::HundredthRow,
        Self::TenthP50,
        Self::TenthP99,
        Self::TenthRow,
        Self::AllP50,
        Self::AllP99,
        Self::AllRow,
        Self::FullP50,
        Self::FullP99,
        Self::FullRow,
        Self::SmallP50,
        Self::PullGrowth,
        Self::SameP50,
        Self::SameP99,
        Self::SmallSameP50,
        Self::SameGrowth,
        Self::PullStatements,
        Self::SameStatements,
        Self::PushStatements,
        Self::GateStatements,
        Self::Before,
        Self::Seeded,
        Self::After,
        Self::Grown,
        Self::Peak,
    ];

    fn label(self) -> &'static str {
        match self {
            Self::RawOne => "raw reads/s of 100 rows, 1 connection",
            Self::PullsOne => "pulls/s of 100 rows, 1 connection",
            Self::ShareOne => "pulls as a share of raw reads, 1 connection",
            Self::InProcessOne => "pulls as a share of reads in-process, 1 connection",
            Self::RawFour => "raw reads/s of 100 rows, 4 connections",
            Self::PullsFour => "pulls/s of 100 rows, 4 connections",
            Self::ShareFour => "pulls as a share of raw reads, 4 connections",
            Self::InProcessFour => "pulls as a share of reads in-process, 4 connections",
            Self::Unchanged => "304s/s, 4 connections",
            Self::RawInserts => "raw rows/s inserted, 500 a transaction",
            Self::Pushed => "items/s pushed, 500 a push",
            Self::PushShare => "pushed as a share of raw inserts",
            Self::HundredthP50 => "1 % changed: a page of 100, p50, ms",
            Self::HundredthP99 => "1 % changed: a page of 100, p99, ms",
            Self::HundredthRow => "1 % changed: a row, µs",
            Self::TenthP50 => "10 % changed: a page of 500, p50, ms",
            Self::TenthP99 => "10 % changed: a page of 500, p99, ms",
            Self::TenthRow => "10 % changed: a row, µs",
            Self::AllP50 => "100 % changed: a page of 500, p50, ms",
            Self::AllP99 => "100 % changed: a page of 500, p99, ms",
            Self::AllRow => "100 % changed: a row, µs",
            Self::FullP50 => "all 10,000 in one answer, p50, ms",
            Self::FullP99 => "all 10,000 in one answer, p99, ms",
            Self::FullRow => "all 10,000 in one answer: a row, µs",
            Self::SmallP50 => "of 100 rows 100 changed: a page, p50, ms",
            Self::PullGrowth => "100 of 10,000 rows beside 100 of 100, p50",
            Self::SameP50 => "304 of 10,000 rows, p50, ms",
            Self::SameP99 => "304 of 10,000 rows, p99, ms",
            Self::SmallSameP50 => "304 of 100 rows, p50, ms",
            Self::SameGrowth => "304 of 10,000 rows beside 304 of 100, p50",
            Self::PullStatements => "statements a pull",
            Self::SameStatements => "statements a 304",
            Self::PushStatements => "statements a push of 500",
            Self::GateStatements => "statements of all else in that time, a call",
            Self::Before => "resident before the first load, MB",
            Self::Seeded => "resident after what was there was pushed, MB",
            Self::After => "resident after a round, MB",
            Self::Grown => "resident, more than after the first round, MB",
            Self::Peak => "most ever resident, MB",
        }
    }

    fn digits(self) -> usize {
        match self {
            Self::HundredthP50
            | Self::HundredthP99
            | Self::SmallP50
            | Self::SameP50
            | Self::SameP99
            | Self::SmallSameP50 => 3,
            Self::RawOne
            | Self::PullsOne
            | Self::RawFour
            | Self::PullsFour
            | Self::Unchanged
            | Self::RawInserts
            | Self::Pushed => 0,
            Self::HundredthRow
            | Self::TenthRow
            | Self::AllRow
            | Self::FullRow
            | Self::Before
            | Self::Seeded
            | Self::After
            | Self::Grown
            | Self::Peak => 1,
            _ => 2,
        }
    }

    fn aim(self) -> Option<Aim> {
        match self {
            Self::ShareOne | Self::ShareFour => Some(Aim::AtLeast(0.5)),
            // Nearly equal, as all rows are in the caches.
            Self::PullGrowth | Self::SameGrowth => Some(Aim::AtMost(1.25)),
            Self::PullStatements => Some(Aim::AtMost(3.0)),
            Self::SameStatements => Some(Aim::AtMost(1.0)),
            Self::Grown => Some(Aim::Below(10.0)),
            _ => None,
        }
    }
}
