//! Operation of the server: models, the outbox and maintenance.

use std::sync::Arc;

use pia_assistant::{Gateway, Models};
use pia_kernel::{EffectWriter, MaintenanceLog};
use pia_knowledge::UnansweredQuestions;
use pia_outbox::MailQueue;
use pia_policy::LicenceReplacement;
use pia_storage_lifecycle::{SqlEffectWriter, SqlMaintenanceLog};
use pia_web::Metrics;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::infrastructure::Infrastructure;
use super::mail;
use super::maintenance::MaintainedDomains;
use super::use_cases::UseCases;

/// Use cases with which administrators operate the server.
pub(super) struct OperationParts {
    pub(super) models: Models,
    pub(super) mails: MailQueue,
    pub(super) maintenance: Arc<dyn MaintenanceLog>,
    pub(super) licences: LicenceReplacement,
}

/// Parts of the server that administrators operate.
pub(super) struct OperatedParts<'a> {
    pub(super) base: &'a Infrastructure<'a>,
    pub(super) use_cases: &'a UseCases,
    pub(super) gateway: &'a Gateway,
    pub(super) questions: &'a UnansweredQuestions,
    pub(super) metrics: &'a Metrics,
}

impl OperatedParts<'_> {
    /// Composes the use cases, and starts the delivery of emails and maintenance,
    /// until stopped.
    pub(super) fn start(&self, tasks: &TaskTracker, stop: &CancellationToken) -> OperationParts {
        let Self { base, use_cases, gateway, questions, metrics } = *self;
        let effects: Arc<dyn EffectWriter> = Arc::new(SqlEffectWriter::new(base.db.clone()));
        let worker = mail::outbox_worker(base, metrics, tasks);
        let maintenance: Arc<dyn MaintenanceLog> =
            Arc::new(SqlMaintenanceLog::new(base.db.clone()));
        let outbox = &worker.sender;
        let maintained = MaintainedDomains { base, use_cases, questions, outbox };
        let housekeeping = maintained.housekeeping(Arc::clone(&maintenance));
        tasks.spawn(housekeeping.run(stop.clone()));

        let parts = OperationParts {
            models: Models::new(gateway.clone(), Arc::clone(&effects)),
            licences: LicenceReplacement::new(
                Arc::new(base.setup.clone()),
                Arc::clone(&effects),
                base.clock(),
            ),
            mails: mail::queue(base, &worker, effects),
            maintenance,
        };

        tasks.spawn(worker.run(stop.clone()));

        parts
    }
}
