//! Maintenance of all domains: deletion of expired rows.
//!
//! `MaintainedDomains::task` has one arm for each `MaintenanceKind`.

use std::sync::Arc;

use pia_assistant::UsageReport;
use pia_identity::{GuessRules, UnverifiedAccountCleanup};
use pia_kernel::{Eraser, MaintenanceKind, MaintenanceLog, Unavailable};
use pia_knowledge::UnansweredQuestions;
use pia_outbox::OutboxSender;
use pia_storage_assistant::SqlUsageSums;

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

/// Creates a task that evaluates `$work` with clones of the named values, which are
/// given by reference.
macro_rules! task {
    ($($name:ident = $value:expr),+; $work:expr) => {{
        $(let $name = Clone::clone($value);)+
        MaintenanceTask::new(move || {
            $(let $name = Clone::clone(&$name);)+
            async move { $work.await }
        })
    }};
}

impl MaintainedDomains<'_> {
    /// Returns the runner of all maintenance tasks.
    pub(super) fn housekeeping(&self, log: Arc<dyn MaintenanceLog>) -> Housekeeping {
        let tasks = MaintenanceKind::ALL.into_iter().map(|it| (it, self.task(it))).collect();
        let clock = self.base.clock();
        Housekeeping { tasks, log, clock, instance: instance_name() }
    }

    fn task(&self, kind: MaintenanceKind) -> MaintenanceTask {
        let Self { base, use_cases, questions, outbox } = *self;
        let UseCases { identity, identity_parts: parts, administration, .. } = use_cases;

        match kind {
            MaintenanceKind::Sessions => {
                task!(sessions = &identity.sessions; sessions.sweep())
            }
            MaintenanceKind::SignInHistory => {
                task!(history = &identity.history; history.sweep())
            }
            MaintenanceKind::FactorChallenges => {
                task!(challenges = &parts.challenges; challenges.sweep())
            }
            MaintenanceKind::UnfinishedFactors => {
                task!(factors = &identity.second_factors; factors.sweep())
            }
            MaintenanceKind::EmailTokens => {
                task!(verification = &identity.verification; verification.sweep())
            }
            MaintenanceKind::PasskeyChallenges => {
                task!(passkeys = &identity.passkeys; passkeys.sweep())
            }
            MaintenanceKind::ProviderSignIns => {
                task!(sign_in = &identity.provider_sign_in; sign_in.sweep())
            }
            MaintenanceKind::Invitations => {
                task!(invitations = &administration.invitations; invitations.sweep())
            }
            MaintenanceKind::UnverifiedAccounts => unverified_accounts(base, use_cases),
            MaintenanceKind::RateLimits => {
                let attempts = &parts.proofs.ports.attempts;
                task!(attempts = attempts, clock = &base.clock; attempts.sweep(clock.now()))
            }
            MaintenanceKind::PasswordThrottle => {
                let memory = GuessRules::default().memory;
                let throttle = &parts.throttle;
                task!(
                    throttle = throttle, clock = &base.clock;
                    throttle.sweep(clock.now() - memory)
                )
            }
            MaintenanceKind::AuditEntries => old_audit_entries(base, use_cases),
            MaintenanceKind::SyncEvents => old_sync_events(base, use_cases),
            MaintenanceKind::Feedback => {
                task!(feedback = &use_cases.feedback; feedback.sweep())
            }
            MaintenanceKind::UnansweredQuestions => {
                task!(questions = questions; questions.sweep())
            }
            MaintenanceKind::UsageHours => old_usage_hours(base),
            MaintenanceKind::Emails => task!(outbox = outbox; outbox.sweep()),
            MaintenanceKind::DeletedTraces => deleted_traces(use_cases),
        }
    }
}

fn unverified_accounts(base: &Infrastructure<'_>, use_cases: &UseCases) -> MaintenanceTask {
    let cleanup = UnverifiedAccountCleanup::new(
        Arc::clone(&use_cases.lifecycle.eraser),
        base.config.follow(|it| it.local_auth.accounts),
        base.config.follow(|it| it.local_auth.unverified_retention),
        base.clock(),
    );
    task!(cleanup = &cleanup; cleanup.sweep())
}

fn old_audit_entries(base: &Infrastructure<'_>, use_cases: &UseCases) -> MaintenanceTask {
    let audit = &use_cases.lifecycle.audit;
    let retention = &use_cases.lifecycle.audit_retention;
    task!(
        audit = audit, retention = retention, clock = &base.clock;
        audit.sweep(clock.now() - *retention.get())
    )
}

fn old_sync_events(base: &Infrastructure<'_>, use_cases: &UseCases) -> MaintenanceTask {
    let support = &use_cases.sync.support;
    let retention = base.config.follow(|it| it.sync.event_retention);
    task!(
        support = support, retention = &retention, clock = &base.clock;
        support.sweep(clock.now() - *retention.get())
    )
}

fn old_usage_hours(base: &Infrastructure<'_>) -> MaintenanceTask {
    let usage = UsageReport::new(Arc::new(SqlUsageSums::new(base.db.clone())), base.clock());
    task!(usage = &usage; usage.sweep_hours())
}

fn deleted_traces(use_cases: &UseCases) -> MaintenanceTask {
    task!(eraser = &use_cases.lifecycle.eraser; remove_traces(&*eraser))
}

/// Removes deleted data that a concurrent reader kept in the database's log. Returns 0,
/// since no rows are deleted.
async fn remove_traces(eraser: &dyn Eraser) -> Result<u64, Unavailable> {
    if !eraser.settle().await? {
        tracing::info!("deleted data remains in the WAL until the next checkpoint");
    }
    Ok(0)
}
