//! Maintenance tasks, which delete what has expired, and their last runs.
//!
//! To add a task, add a variant to `MaintenanceKind` and its work to
//! `server/src/compose/maintenance.rs`; `server/src/housekeeping.rs` runs all of
//! them in the order of the variants.

use async_trait::async_trait;

use crate::{Timestamp, Unavailable, named_variants};

named_variants! {
    /// Maintenance task. Every instance runs each of them periodically, in this order.
    ///
    /// The names are those in the database, in logs and on the wire.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub enum MaintenanceKind {
        /// Sessions that have expired.
        Sessions = "sessions",
        /// Sign-ins beyond the retention of the history.
        SignInHistory = "sign-in-history",
        /// Sign-ins that wait for a second factor.
        FactorChallenges = "factor-challenges",
        /// Second factors whose setup was not completed.
        UnfinishedFactors = "unfinished-factors",
        /// Expired tokens in the links of emails.
        EmailTokens = "email-tokens",
        /// Expired challenges for passkeys.
        PasskeyChallenges = "passkey-challenges",
        /// Unfinished sign-ins at identity providers.
        ProviderSignIns = "provider-sign-ins",
        /// Invitations that have expired.
        Invitations = "invitations",
        /// Accounts whose address was never verified.
        UnverifiedAccounts = "unverified-accounts",
        /// Rate limits that are not reached any more.
        RateLimits = "rate-limits",
        /// Counts of wrong passwords.
        PasswordThrottle = "password-throttle",
        /// Audit entries beyond their retention.
        AuditEntries = "audit-entries",
        /// Events of synchronisation beyond their retention.
        SyncEvents = "sync-events",
        /// Reports on answers beyond their retention.
        Feedback = "feedback",
        /// Questions without an answer beyond their retention.
        UnansweredQuestions = "unanswered-questions",
        /// Sums of usage by hour, before yesterday.
        UsageHours = "usage-hours",
        /// Emails that failed long ago.
        Emails = "emails",
        /// Deleted data in the log of the database.
        DeletedTraces = "deleted-traces",
    }
}

/// Last run of a maintenance task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MaintenanceRun {
    /// Start of the last run, which may still be running.
    pub started_at: Timestamp,
    /// End of the last run that ended.
    pub finished_at: Option<Timestamp>,
    /// Error of the last run that ended, unless it succeeded.
    pub error: Option<String>,
    /// Instance of the server that started it: its host and process.
    pub instance: String,
}

impl MaintenanceRun {
    /// Returns whether the last run has not ended. Its instance may have.
    pub fn is_unfinished(&self) -> bool {
        self.finished_at.is_none_or(|it| it < self.started_at)
    }
}

/// Log of the last runs of maintenance tasks, which all instances share.
#[async_trait]
pub trait MaintenanceLog: Send + Sync {
    /// Records that an instance starts a task. The end and the error of the
    /// previous run stay until the new run ends.
    async fn start(
        &self,
        task: MaintenanceKind,
        instance: &str,
        at: Timestamp,
    ) -> Result<(), Unavailable>;

    /// Records the end of a run. Changes nothing if a later end is recorded.
    async fn finish(
        &self,
        task: MaintenanceKind,
        at: Timestamp,
        error: Option<&str>,
    ) -> Result<(), Unavailable>;

    /// Loads the last run of each task that has run.
    async fn last_runs(&self) -> Result<Vec<(MaintenanceKind, MaintenanceRun)>, Unavailable>;
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn tasks_have_names_of_their_own() {
        let names: BTreeSet<_> = MaintenanceKind::ALL.iter().map(|it| it.name()).collect();

        assert_eq!(names.len(), MaintenanceKind::ALL.len());
    }

    #[test]
    fn a_run_is_unfinished_until_it_ends() {
        let run = |finished: Option<i64>| MaintenanceRun {
            started_at: Timestamp::from_micros(5),
            finished_at: finished.map(Timestamp::from_micros),
            error: None,
            instance: String::new(),
        };

        let unfinished = [None, Some(4), Some(5)].map(|it| run(it).is_unfinished());

        assert_eq!(unfinished, [true, true, false]);
    }
}
