//! Requests of callers in a booking: they are taken from the queue, and answered once it has
//! ended.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use pia_assistant::{
    AdmissionOutcome, AdmissionRequest, Micros, ReservationGuard, ReservationLine, Settlement,
    SettlementSink,
};
use pia_kernel::Unavailable;
use pia_storage::DbError;
use tokio::sync::oneshot;
use uuid::Uuid;

use crate::booking::AdmissionVerdict;
use crate::context::BookingContext;
use crate::queue::{AdmissionResult, Entry, PendingRequest};
use crate::sequencer::{MAX_BATCH_ENTRIES, source_message};
use crate::tally::add;

/// Request with the id of its reservation.
pub(crate) struct NumberedRequest {
    pub(crate) id: Uuid,
    pub(crate) request: AdmissionRequest,
    pub(crate) reply: oneshot::Sender<AdmissionResult>,
}

/// Takes the queued requests that a caller still waits for. Without a lease they are answered
/// with an error.
pub(crate) async fn open_requests(context: &BookingContext) -> Vec<NumberedRequest> {
    let requests = context.queue.take_requests(MAX_BATCH_ENTRIES);
    if requests.is_empty() {
        return Vec::new();
    }
    if !context.lease.holds()
        && let Err(err) = context.lease.renew(&context.db).await
    {
        let cause = source_message(&err);
        tracing::error!(error = %err, cause, "failed to renew the instance lease");
        for PendingRequest { reply, .. } in requests {
            drop(reply.send(Err(Unavailable::new("credits", "no lease"))));
        }
        return Vec::new();
    }

    requests
        .into_iter()
        .filter(|it| !it.reply.is_closed())
        .map(|it| NumberedRequest { id: Uuid::now_v7(), request: it.request, reply: it.reply })
        .collect()
}

/// Answers each request by its verdict.
pub(crate) fn answer_requests(
    context: &BookingContext,
    requests: Vec<NumberedRequest>,
    verdicts: Vec<AdmissionVerdict>,
) {
    add(&context.tally.booked_entries, verdicts.len() as u64);
    for (NumberedRequest { id, reply, .. }, verdict) in requests.into_iter().zip(verdicts) {
        // If the caller is gone, the reservation is dropped here, which
        // settles it.
        drop(reply.send(admission_result(context, id, verdict)));
    }
}

/// Counts a verdict and returns it as the result for the caller.
fn admission_result(
    context: &BookingContext,
    id: Uuid,
    verdict: AdmissionVerdict,
) -> AdmissionResult {
    match verdict {
        AdmissionVerdict::Granted(grant) => {
            add(&context.tally.admitted, 1);
            context.tally.open.fetch_add(1, Ordering::Relaxed);
            let sink: Arc<dyn SettlementSink> =
                Arc::clone(&context.queue) as Arc<dyn SettlementSink>;
            Ok(AdmissionOutcome::Granted {
                reservation: ReservationGuard::new(id, grant.lines, sink),
                output: grant.output,
                truncation_cause: grant.truncation_cause,
            })
        }
        AdmissionVerdict::Refused(refusal) => {
            add(&context.tally.refused, 1);
            Ok(AdmissionOutcome::Refused(refusal))
        }
        AdmissionVerdict::Gone => {
            Err(Unavailable::new("credits", "the account or its group is gone"))
        }
    }
}

/// Answers requests with an error. If the outcome of the transaction is unknown,
/// reservations that it may have made are released later.
pub(crate) fn refuse_requests(
    context: &BookingContext,
    requests: Vec<NumberedRequest>,
    err: &DbError,
) {
    let cause = source_message(err);
    tracing::error!(error = %err, cause, requests = requests.len(), "failed to admit calls");
    let may_be_booked = matches!(err, DbError::Query(_));

    for NumberedRequest { id, request, reply } in requests {
        drop(reply.send(Err(Unavailable::new("credits", "database is unavailable"))));

        if may_be_booked {
            let lines = request
                .holder
                .windows()
                .map(|window| ReservationLine { window, amount: Micros(0) })
                .collect();
            context.tally.open.fetch_add(1, Ordering::Relaxed);
            context.queue.push(Entry::Settled(Settlement {
                reservation: id,
                lines,
                spent: Micros(0),
                usage: None,
            }));
        }
    }
}
