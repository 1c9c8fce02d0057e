//! Figures measured for each server in each round.

use crate::measured::{Aim, Measured};

/// Kind of figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Metric {
    Users,
    UsersInTheMiddle,
    UsersFound,
    Entries,
    EntriesInTheMiddle,
    EntriesOfAction,
    Pages,
    Transactions,
}

impl Measured for Metric {
    const ALL: &'static [Self] = &[
        Self::Users,
        Self::UsersInTheMiddle,
        Self::UsersFound,
        Self::Entries,
        Self::EntriesInTheMiddle,
        Self::EntriesOfAction,
        Self::Pages,
        Self::Transactions,
    ];

    fn label(self) -> &'static str {
        match self {
            Self::Users => "users, first page of 50: p99, ms",
            Self::UsersInTheMiddle => "users, page of 50 in the middle: p99, ms",
            Self::UsersFound => "users, search for a part of an address: p99, ms",
            Self::Entries => "audit log, first page of 50: p99, ms",
            Self::EntriesInTheMiddle => "audit log, page of 50 in the middle: p99, ms",
            Self::EntriesOfAction => "audit log, a rare action: p99, ms",
            Self::Pages => "slowest page of the console: p99, ms",
            Self::Transactions => "write transactions an audited change",
        }
    }

    fn digits(self) -> usize {
        2
    }

    fn aim(self) -> Option<Aim> {
        Some(match self {
            // Other tasks of the server may write a few transactions meanwhile.
            Self::Transactions => Aim::AtMost(1.1),
            Self::Pages => Aim::Below(50.0),
            _ => Aim::Below(20.0),
        })
    }
}
