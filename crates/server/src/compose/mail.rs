//! Mail over its adapters.

use std::sync::Arc;

use pia_kernel::Clock;
use pia_mail::{PlainLetters, SmtpRelay};
use pia_outbox::{Postman, PostmanPorts, PostmanSettings};
use pia_storage_outbox::SqlOutbox;
use pia_web::Metrics;
use tokio_util::task::TaskTracker;

use super::ground::Ground;
use crate::config::LiveConfig;
use crate::rounds::Rounds;

/// What sends what waits in the outbox, once it is run.
pub(super) fn rounds(
    config: &LiveConfig,
    ground: &Ground,
    (metrics, tasks): (&Metrics, &TaskTracker),
    clock: &Arc<dyn Clock>,
) -> Rounds {
    let public_url = config.latest().server.public_url.clone();
    let relay = SmtpRelay::new(config.follow(|it| it.smtp.relay.clone()), &public_url.host());
    let language = config.follow(|it| it.smtp.language);
    let ports = PostmanPorts {
        outbox: Arc::new(SqlOutbox::new(ground.db.clone())),
        letters: Arc::new(PlainLetters::new(public_url.to_string(), language)),
        relay: Arc::new(relay),
    };
    let postman = Postman::new(ports, PostmanSettings::default(), Arc::clone(clock));
    count(metrics, &postman);
    Rounds { postman, set_up: ground.mail.clone(), tasks: tasks.clone() }
}

/// Counts what becomes of mails.
fn count(metrics: &Metrics, postman: &Postman) {
    let [sent, waiting, postponed, given_up] = [(); 4].map(|()| postman.clone());
    metrics.counter(
        "mails_sent",
        "Mails that the relay took",
        Box::new(move || sent.tally().all_sent()),
    );
    metrics.counter(
        "mail_tries_failed",
        "Times that a mail could not be sent and was left for later",
        Box::new(move || postponed.tally().all_postponed()),
    );
    metrics.counter(
        "mails_given_up",
        "Mails that will never be sent",
        Box::new(move || given_up.tally().all_given_up()),
    );
    metrics.gauge(
        "mails_waiting",
        "Mails that wait to be sent, by any instance",
        Box::new(move || waiting.tally().waiting()),
    );
}
