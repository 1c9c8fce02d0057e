//! Status of an assignment, and the only definition of its transitions. The store
//! guards each change by `predecessors`, so that two ends at once leave one.

use pia_kernel::named_variants;

named_variants! {
    /// Status of an assignment, with its name on the wire and in the database.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub enum AssignmentStatus {
        /// Waits for a worker.
        Queued = "Queued",
        /// Is being worked on.
        Running = "Running",
        /// Ended with an artifact.
        Completed = "Completed",
        /// Ended without one, for the reason in its error code.
        Failed = "Failed",
        /// Ended by its user.
        Cancelled = "Cancelled",
    }
}

impl AssignmentStatus {
    /// Returns the status of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.name() == name)
    }

    /// Returns the statuses that may follow.
    ///
    /// A run that has ended never changes again. One that waits may end at once;
    /// one that a worker released stays `Running`.
    pub fn successors(self) -> &'static [Self] {
        match self {
            Self::Queued => &[Self::Running, Self::Failed, Self::Cancelled],
            Self::Running => &[Self::Completed, Self::Failed, Self::Cancelled],
            Self::Completed | Self::Failed | Self::Cancelled => &[],
        }
    }

    /// Returns the statuses that this one may follow, for the guard of a change.
    pub fn predecessors(self) -> Vec<Self> {
        Self::ALL.into_iter().filter(|it| it.successors().contains(&self)).collect()
    }

    /// Returns whether an assignment with this status has ended.
    pub fn is_final(self) -> bool {
        self.successors().is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_back_to_their_status() {
        for status in AssignmentStatus::ALL {
            assert_eq!(AssignmentStatus::from_name(status.name()), Some(status));
        }
        assert_eq!(AssignmentStatus::from_name("queued"), None);
    }

    #[test]
    fn an_ended_assignment_never_changes() {
        use AssignmentStatus::{Cancelled, Completed, Failed, Queued, Running};

        let ended: Vec<_> = AssignmentStatus::ALL.into_iter().filter(|it| it.is_final()).collect();
        assert_eq!(ended, [Completed, Failed, Cancelled]);
        assert_eq!(Completed.predecessors(), [Running]);
        assert_eq!(Cancelled.predecessors(), [Queued, Running]);
        assert_eq!(Queued.predecessors(), []);
    }
}
