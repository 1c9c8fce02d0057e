//! Figures of assignments, in each round.

use crate::measured::{Aim, Measured};

/// Kind of figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Metric {
    Runs,
    DbosRuns,
    RestateRuns,
    Commits,
    CommitsOfStep,
    Waiting,
    Commit,
    Enqueue,
    EnqueueOverCommit,
    FirstEvent,
    FirstEventElsewhere,
    List,
    ListAll,
    Load,
}

impl Measured for Metric {
    const ALL: &'static [Self] = &[
        Self::Runs,
        Self::DbosRuns,
        Self::RestateRuns,
        Self::Commits,
        Self::CommitsOfStep,
        Self::Waiting,
        Self::Commit,
        Self::Enqueue,
        Self::EnqueueOverCommit,
        Self::FirstEvent,
        Self::FirstEventElsewhere,
        Self::List,
        Self::ListAll,
        Self::Load,
    ];

    fn label(self) -> &'static str {
        match self {
            Self::Runs => "runs/s, three steps each",
            Self::DbosRuns => "runs/s of DBOS, three steps each",
            Self::RestateRuns => "runs/s of Restate, three steps each",
            Self::Commits => "commits/s of the database",
            Self::CommitsOfStep => "commits of a step",
            Self::Waiting => "resident memory for the runs that wait, MB",
            Self::Commit => "commit, p50, ms",
            Self::Enqueue => "handing over, p50, ms",
            Self::EnqueueOverCommit => "handing over beyond a commit, p50, ms",
            Self::FirstEvent => "from handing over to the first event, p99, ms",
            Self::FirstEventElsewhere => "the same on another instance, p99, ms",
            Self::List => "list of a user, p99, ms",
            Self::ListAll => "list of all users, p99, ms",
            Self::Load => "one assignment with its events, p99, ms",
        }
    }

    fn digits(self) -> usize {
        match self {
            Self::Runs | Self::DbosRuns | Self::RestateRuns | Self::Commits => 0,
            _ => 2,
        }
    }

    fn aim(self) -> Option<Aim> {
        match self {
            Self::CommitsOfStep => Some(Aim::AtMost(2.0)),
            Self::EnqueueOverCommit => Some(Aim::AtMost(1.0)),
            Self::FirstEvent | Self::FirstEventElsewhere => Some(Aim::AtMost(20.0)),
            Self::List | Self::ListAll | Self::Load => Some(Aim::AtMost(5.0)),
            _ => None,
        }
    }
}
