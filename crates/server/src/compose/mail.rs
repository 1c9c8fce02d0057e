//! Mail over its adapters.

use std::sync::Arc;

use pia_kernel::EffectWriter;
use pia_mail::{EmailTemplates, SmtpRelay};
use pia_outbox::{MailQueue, OutboxSender, OutboxSenderPorts, OutboxSenderSettings};
use pia_storage_outbox::{SqlMailQueue, SqlOutbox};
use pia_web::Metrics;
use tokio_util::task::TaskTracker;

use super::infrastructure::Infrastructure;
use crate::outbox_worker::OutboxWorker;

/// Returns the worker that delivers the outbox.
pub(super) fn outbox_worker(
    base: &Infrastructure<'_>,
    metrics: &Metrics,
    tasks: &TaskTracker,
) -> OutboxWorker {
    let config = base.config;
    let public_url = config.latest().server.public_url.clone();
    let relay = SmtpRelay::new(config.follow(|it| it.smtp.relay.clone()), &public_url.host());
    let language = config.follow(|it| it.smtp.language);
    let ports = OutboxSenderPorts {
        outbox: Arc::new(SqlOutbox::new(base.db.clone())),
        renderer: Arc::new(EmailTemplates::new(public_url.to_string(), language)),
        relay: Arc::new(relay),
    };
    let sender = OutboxSender::new(ports, OutboxSenderSettings::default(), base.clock());
    register_metrics(metrics, &sender);

    OutboxWorker { sender, configured: base.mail.clone(), tasks: tasks.clone() }
}

/// Returns the administrators' view of the outbox that a worker delivers.
pub(super) fn queue(
    base: &Infrastructure<'_>,
    worker: &OutboxWorker,
    effects: Arc<dyn EffectWriter>,
) -> MailQueue {
    let store = Arc::new(SqlMailQueue::new(base.db.clone()));
    MailQueue::new(store, effects, worker.sender.clone(), base.mail.clone(), base.clock())
}

/// Registers the metrics of emails.
fn register_metrics(metrics: &Metrics, sender: &OutboxSender) {
    let reader = |count: fn(&OutboxSender) -> u64| {
        let sender = sender.clone();
        Box::new(move || count(&sender))
    };

    metrics.counter("mails_sent", "Mails that the relay took", reader(|it| it.tally().all_sent()));

    metrics.counter(
        "mail_tries_failed",
        "Times that a mail could not be sent and was left for later",
        reader(|it| it.tally().all_postponed()),
    );

    metrics.counter(
        "mails_given_up",
        "Mails that will never be sent",
        reader(|it| it.tally().all_abandoned()),
    );

    metrics.gauge(
        "mails_waiting",
        "Mails that wait to be sent, by any instance",
        reader(|it| it.tally().waiting()),
    );
}
