//! Metering of one call, from its admission to its usage record.
//!
//! The file that ends a call sets `end`, with `fail` or to `Completed`, and then drops it. A call
//! that is dropped while `Open` was left by its caller. The drop also returns the permit of
//! the upstream's limiter, with the tokens that were used.

use std::sync::Arc;
use std::time::Duration;

use pia_kernel::Clock;
use uuid::Uuid;

use crate::ai_caller::AiCaller;
use crate::credits::meter::Meter;
use crate::credits::rates::Micros;
use crate::credits::usage::{CallOutcome, Usage, UsageRecord};
use crate::credits::{Charge, ReservationGuard, TruncationCause};
use crate::error::AssistantError;
use crate::ports::{Timer, TokenCounter, UpstreamError, UsageLog};
use crate::routing::target::{Mode, Target};
use crate::routing::upstream_limiter::Permit;

/// Metered call: caller, model, and usage so far. Dropping it records its usage
/// and settles its reservation, so that no path can forget to.
///
/// Calls whose caller leaves early are recorded, too: the upstream has the
/// prompt and may bill it. So are calls whose upstream stalls or breaks off.
/// Only a call that was refused, or never arrived, costs nothing.
pub(crate) struct MeteredCall {
    pub(crate) caller: AiCaller,
    pub(crate) mode: Mode,
    /// Model that answers; its rates price the call.
    pub(crate) target: Arc<Target>,
    /// Fee of its tools, besides its tokens.
    pub(crate) fee: Micros,
    pub(crate) meter: Meter,
    pub(crate) end: CallEnd,
    /// Reservation, if the caller is limited.
    pub(crate) reservation: Option<ReservationGuard>,
    /// Facts about the budget that shortens the response.
    pub(crate) truncation_cause: Option<Box<TruncationCause>>,
    /// Permit of its upstream's limiter.
    pub(crate) permit: Option<Permit>,
    pub(crate) log: Arc<dyn UsageLog>,
    pub(crate) tokens: Arc<dyn TokenCounter>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) timer: Arc<dyn Timer>,
    /// Time of its admission, by the timer.
    pub(crate) admitted_at: Duration,
}

/// State of the end of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CallEnd {
    /// Running; if it is dropped in this state, its caller has left.
    Open,
    /// Ended with its full response.
    Completed,
    /// Ended by the upstream, or by this server's stop.
    Failed,
    /// Ended without cost: it was refused, or never arrived.
    Void,
}

impl MeteredCall {
    /// Ends a call that its upstream failed.
    pub(crate) fn fail(&mut self, cost: Billable) {
        self.end = match cost {
            Billable::Nothing => CallEnd::Void,
            Billable::Something => CallEnd::Failed,
        };
    }

    /// Ends a call whose response is empty or incomplete, and returns the
    /// error: the upstream's failure, unless the caller's budget shortened the
    /// response and it was cut off there.
    pub(crate) fn fail_incomplete(&mut self, cut_off: bool) -> AssistantError {
        self.fail(Billable::Something);
        let cause = match self.truncation_cause.take() {
            Some(cause) if cut_off => cause,
            _ => return AssistantError::UpstreamFailed,
        };
        let tokens = self.meter.tokens_so_far(&*self.tokens);
        let rates = &self.target.rates;
        let charge = Charge::new(rates, &tokens, self.fee);
        let refusal = cause.after(charge, self.clock.now());
        AssistantError::OverBudget(refusal)
    }

    /// Returns the reported tokens so far, or an estimate.
    pub(crate) fn usage(&self) -> Usage {
        self.meter.tokens(&*self.tokens)
    }

    /// Returns the usage record of the call, as of now.
    fn record(&self, outcome: CallOutcome, tokens: Usage) -> UsageRecord {
        let rates = self.target.rates;
        UsageRecord {
            id: Uuid::now_v7(),
            at: self.clock.now(),
            user: self.caller.user,
            group: self.caller.group,
            key: self.caller.key.map(|it| it.key),
            mode: self.mode,
            provider: self.target.provider.name(),
            entry: self.target.id.clone(),
            model: self.target.model.clone(),
            tokens,
            rates,
            spent: rates.price(&tokens).plus(self.fee),
            estimated: self.meter.reported.is_none(),
            outcome,
            duration: self.timer.elapsed().saturating_sub(self.admitted_at),
        }
    }
}

/// Possible cost of a failed call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Billable {
    Nothing,
    Something,
}

impl Billable {
    /// Returns whether an upstream may bill a call that failed so.
    pub(crate) fn after_failure(err: &UpstreamError) -> Self {
        match err {
            UpstreamError::Refused { .. }
            | UpstreamError::UnsupportedPart(_)
            | UpstreamError::Malformed
            | UpstreamError::Unreachable(_) => Self::Nothing,
            UpstreamError::Silent | UpstreamError::Cut | UpstreamError::TooLong => Self::Something,
        }
    }
}

impl Drop for MeteredCall {
    fn drop(&mut self) {
        let tokens = match self.end {
            CallEnd::Completed => self.usage(),
            CallEnd::Open | CallEnd::Failed | CallEnd::Void => {
                self.meter.tokens_so_far(&*self.tokens)
            }
        };

        if let Some(permit) = &mut self.permit {
            permit.used_tokens = tokens.input.saturating_add(tokens.output);
        }

        let outcome = match self.end {
            // The reservation is released by its drop.
            CallEnd::Void => return,
            CallEnd::Open => CallOutcome::Abandoned,
            CallEnd::Completed => CallOutcome::Completed,
            CallEnd::Failed => CallOutcome::Failed,
        };
        let usage = self.record(outcome, tokens);
        let charge = Charge::new(&usage.rates, &tokens, self.fee);

        match self.reservation.take() {
            Some(reservation) => reservation.settle_call(usage, charge),
            None => self.log.record(usage),
        }
    }
}
