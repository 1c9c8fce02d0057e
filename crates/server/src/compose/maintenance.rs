//! Maintenance of all domains: deletion of expired rows.
//!
//! `task` has one arm for each `MaintenanceKind`. A use case with a method `sweep`
//! is wrapped by the macro of that name; a port that needs a cutoff by `swept_at`.

use std::sync::Arc;

use pia_identity::{GuessRules, UnverifiedAccountCleanup};
use pia_kernel::{Clock, MaintenanceKind, MaintenanceLog, Timestamp, Unavailable};
use pia_knowledge::UnansweredQuestions;
use pia_outbox::OutboxSender;

use super::infrastructure::Infrastructure;
use super::use_cases::UseCases;
use crate::housekeeping::{Housekeeping, MaintenanceTask, instance_name};

/// Domains whose expired rows are deleted.
pub(super) struct MaintainedDomains<'a> {
    pub(super) base: &'a Infrastructure<'a>,
    pub(super) use_cases: &'a UseCases,
    pub(super) questions: &'a UnansweredQuestions,
    pub(super) outbox: &'a OutboxSender,
}

/// Creates a task of a service that determines itself what is expired.
macro_rules! sweep {
    ($of:expr) => {{
        let of = $of.clone();
        MaintenanceTask::new(move || {
            let of = of.clone();
            async move { of.sweep().await }
        })
    }};
}

impl MaintainedDomains<'_> {
    /// Returns the runner of all maintenance tasks.
    pub(super) fn housekeeping(&self, log: Arc<dyn MaintenanceLog>) -> Housekeeping {
        let tasks = MaintenanceKind::ALL.iter().map(|it| (*it, self.task(*it))).collect();
        let clock = self.base.clock();
        Housekeeping { tasks, log, clock, instance: instance_name() }
    }

    fn task(&self, kind: MaintenanceKind) -> MaintenanceTask {
        let Self { base, use_cases, questions, outbox } = *self;
        let UseCases { identity, identity_parts: parts, .. } = use_cases;

        match kind {
            MaintenanceKind::Sessions => sweep!(identity.sessions),
            MaintenanceKind::SignInHistory => sweep!(identity.history),
            MaintenanceKind::FactorChallenges => sweep!(parts.challenges),
            MaintenanceKind::UnfinishedFactors => sweep!(identity.second_factors),
            MaintenanceKind::EmailTokens => sweep!(identity.verification),
            MaintenanceKind::PasskeyChallenges => sweep!(identity.passkeys),
            MaintenanceKind::ProviderSignIns => sweep!(identity.provider_sign_in),
            MaintenanceKind::Invitations => sweep!(use_cases.administration.invitations),
            MaintenanceKind::UnverifiedAccounts => unverified_accounts(base, use_cases),
            MaintenanceKind::RateLimits => {
                swept_at(&parts.proofs.ports.attempts, &base.clock, |it, now| async move {
                    it.sweep(now).await
                })
            }
            MaintenanceKind::PasswordThrottle => {
                swept_at(&parts.throttle, &base.clock, |it, now| async move {
                    it.sweep(now - GuessRules::default().memory).await
                })
            }
            MaintenanceKind::AuditEntries => old_audit_entries(base, use_cases),
            MaintenanceKind::SyncEvents => old_sync_events(base, use_cases),
            MaintenanceKind::Feedback => sweep!(use_cases.feedback),
            MaintenanceKind::UnansweredQuestions => sweep!(questions),
            MaintenanceKind::Emails => sweep!(outbox),
            MaintenanceKind::DeletedTraces => deleted_traces(use_cases),
        }
    }
}

fn unverified_accounts(base: &Infrastructure<'_>, use_cases: &UseCases) -> MaintenanceTask {
    let unverified = UnverifiedAccountCleanup::new(
        Arc::clone(&use_cases.lifecycle.eraser),
        base.config.follow(|it| it.local_auth.accounts),
        base.config.follow(|it| it.local_auth.unverified_retention),
        base.clock(),
    );
    sweep!(unverified)
}

fn old_audit_entries(base: &Infrastructure<'_>, use_cases: &UseCases) -> MaintenanceTask {
    let retention = use_cases.lifecycle.audit_retention.clone();
    swept_at(&use_cases.lifecycle.audit, &base.clock, move |it, now| {
        let cutoff = now - *retention.get();
        async move { it.sweep(cutoff).await }
    })
}

fn old_sync_events(base: &Infrastructure<'_>, use_cases: &UseCases) -> MaintenanceTask {
    let retention = base.config.follow(|it| it.sync.event_retention);
    let support = Arc::new(use_cases.sync.support.clone());
    swept_at(&support, &base.clock, move |it, now| {
        let cutoff = now - *retention.get();
        async move { it.sweep(cutoff).await }
    })
}

/// Creates the task that checkpoints: deleted data stays in the database's
/// log while there are readers of it.
fn deleted_traces(use_cases: &UseCases) -> MaintenanceTask {
    let eraser = Arc::clone(&use_cases.lifecycle.eraser);
    MaintenanceTask::new(move || {
        let eraser = Arc::clone(&eraser);
        async move {
            if !eraser.settle().await? {
                tracing::info!("deleted data remains in the WAL until the next checkpoint");
            }
            Ok(0)
        }
    })
}

/// Creates a maintenance task that needs the current time.
fn swept_at<T, F, W>(store: &Arc<T>, clock: &Arc<dyn Clock>, work: F) -> MaintenanceTask
where
    T: ?Sized + Send + Sync + 'static,
    F: Fn(Arc<T>, Timestamp) -> W + Send + Sync + 'static,
    W: Future<Output = Result<u64, Unavailable>> + Send + 'static,
{
    let store = Arc::clone(store);
    let clock = Arc::clone(clock);
    MaintenanceTask::new(move || work(Arc::clone(&store), clock.now()))
}
