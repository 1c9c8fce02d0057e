//! Maintenance of all domains: deletion of expired rows.

use std::sync::Arc;

use pia_identity::{GuessRules, UnverifiedAccountCleanup};
use pia_kernel::{Clock, Timestamp, Unavailable};
use pia_knowledge::UnansweredQuestions;

use super::infrastructure::Infrastructure;
use super::use_cases::UseCases;
use crate::housekeeping::MaintenanceTask;

/// Creates a task of a service that determines itself what is expired.
macro_rules! sweep {
    ($what:literal, $of:expr) => {{
        let of = $of.clone();
        MaintenanceTask::new($what, move || {
            let of = of.clone();
            async move { of.sweep().await }
        })
    }};
}

/// Returns the maintenance tasks.
pub(super) fn tasks(
    base: &Infrastructure<'_>,
    use_cases: &UseCases,
    questions: &UnansweredQuestions,
) -> Vec<MaintenanceTask> {
    let mut tasks = identity_tasks(base, use_cases);
    tasks.push(old_audit_entries(base, use_cases));
    tasks.push(old_sync_events(base, use_cases));
    tasks.push(sweep!("old feedback", use_cases.feedback));
    tasks.push(sweep!("old unanswered questions", questions));
    tasks.push(deleted_traces(use_cases));
    tasks
}

fn identity_tasks(base: &Infrastructure<'_>, use_cases: &UseCases) -> Vec<MaintenanceTask> {
    let UseCases { identity, identity_parts: parts, .. } = use_cases;
    let unverified = UnverifiedAccountCleanup::new(
        Arc::clone(&use_cases.lifecycle.eraser),
        base.config.follow(|it| it.local_auth.accounts),
        base.config.follow(|it| it.local_auth.unverified_stored),
        base.clock(),
    );
    vec![
        sweep!("expired sessions", identity.sessions),
        sweep!("old sign-ins", identity.history),
        sweep!("sign-ins that waited for a factor", parts.challenges),
        sweep!("factors that were never put on", identity.second_factors),
        sweep!("links of letters", identity.verification),
        sweep!("passkey challenges", identity.passkeys),
        sweep!("sign-ins at providers", identity.provider_sign_in),
        sweep!("invitations", use_cases.administration.invitations),
        sweep!("accounts that were never verified", unverified),
        swept_at(
            "full rate buckets",
            &parts.proofs.ports.attempts,
            &base.clock,
            |it, now| async move { it.sweep(now).await },
        ),
        swept_at("old guesses", &parts.throttle, &base.clock, |it, now| async move {
            it.sweep(now - GuessRules::default().memory).await
        }),
    ]
}

fn old_audit_entries(base: &Infrastructure<'_>, use_cases: &UseCases) -> MaintenanceTask {
    let retention = use_cases.lifecycle.audit_retention.clone();
    swept_at("old audit entries", &use_cases.lifecycle.audit, &base.clock, move |it, now| {
        let before = now - *retention.get();
        async move { it.sweep(before).await }
    })
}

fn old_sync_events(base: &Infrastructure<'_>, use_cases: &UseCases) -> MaintenanceTask {
    let retention = base.config.follow(|it| it.sync.events_stored);
    let support = Arc::new(use_cases.sync.support.clone());
    swept_at("old sync events", &support, &base.clock, move |it, now| {
        let before = now - *retention.get();
        async move { it.sweep(before).await }
    })
}

/// Creates the task that checkpoints: deleted data stays in the database's
/// log while there are readers of it.
fn deleted_traces(use_cases: &UseCases) -> MaintenanceTask {
    let eraser = Arc::clone(&use_cases.lifecycle.eraser);
    MaintenanceTask::new("traces of deleted accounts", move || {
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
fn swept_at<T, F, W>(
    what: &'static str,
    store: &Arc<T>,
    clock: &Arc<dyn Clock>,
    work: F,
) -> MaintenanceTask
where
    T: ?Sized + Send + Sync + 'static,
    F: Fn(Arc<T>, Timestamp) -> W + Send + Sync + 'static,
    W: Future<Output = Result<u64, Unavailable>> + Send + 'static,
{
    let (store, clock) = (Arc::clone(store), Arc::clone(clock));
    MaintenanceTask::new(what, move || work(Arc::clone(&store), clock.now()))
}
