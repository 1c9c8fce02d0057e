//! Metering of one call, from before it is made until it is recorded.

use std::sync::Arc;

use pia_kernel::Clock;
use uuid::Uuid;

use crate::ai_caller::AiCaller;
use crate::credits::meter::Meter;
use crate::credits::rates::Micros;
use crate::credits::usage::{CallOutcome, Usage, UsageRecord};
use crate::credits::{Charge, ReservationGuard, TruncationCause};
use crate::error::AssistantError;
use crate::ports::{TokenCounter, UpstreamError, UsageLog};
use crate::routing::target::{Mode, Target};
use crate::routing::upstream_limiter::Permit;

/// Call that is being metered: caller, model, and the cost so far. Dropping it
/// records that and settles its reservation, so no path can forget to.
///
/// A caller who leaves before the answer leaves a record, too: the upstream has
/// the prompt by then and may bill it. So does an upstream that falls silent or
/// breaks off. Only a call that was refused, or never arrived, cost nothing.
pub(crate) struct MeteredCall {
    pub(crate) caller: AiCaller,
    pub(crate) mode: Mode,
    /// Model that answers; its rates price the call.
    pub(crate) target: Arc<Target>,
    /// Fee of its tools, besides its tokens.
    pub(crate) fee: Micros,
    pub(crate) meter: Meter,
    pub(crate) end: CallEnd,
    /// Reservation, where anything limits the caller.
    pub(crate) reservation: Option<ReservationGuard>,
    /// Facts about the budget that shortens the answer.
    pub(crate) truncation_cause: Option<Box<TruncationCause>>,
    /// The room that it takes at its upstream.
    pub(crate) permit: Option<Permit>,
    pub(crate) log: Arc<dyn UsageLog>,
    pub(crate) tokens: Arc<dyn TokenCounter>,
    pub(crate) clock: Arc<dyn Clock>,
}

/// End of a call, as far as is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CallEnd {
    /// Call is running; dropped in this state, its caller has left.
    Open,
    /// The whole answer is there.
    Completed,
    /// The upstream, or this server's stop, has ended it.
    Failed,
    /// Call cost nothing.
    Void,
}

impl MeteredCall {
    /// Ends a call that its upstream failed. Nothing is owed to one that has
    /// said nothing but that it would not answer.
    pub(crate) fn fail(&mut self, cost: Billable) {
        self.end = match cost {
            Billable::Nothing => CallEnd::Void,
            Billable::Something => CallEnd::Failed,
        };
    }

    /// Ends a call whose answer is of no use, as it lacks all or its end: the
    /// upstream's fault, unless it was cut off where the caller's budget did
    /// not reach for more.
    pub(crate) fn fail_incomplete(&mut self, cut_off: bool) -> AssistantError {
        self.fail(Billable::Something);
        let Some(short) = self.truncation_cause.take().filter(|_| cut_off) else {
            return AssistantError::UpstreamFailed;
        };
        let tokens = self.meter.tokens_so_far(&*self.tokens);
        let rates = &self.target.rates;
        let charge = Charge::charge_for(rates, &tokens, self.fee);
        let refusal = short.after(charge, self.clock.now());
        AssistantError::OverBudget(refusal)
    }

    /// The tokens so far, as the upstream reported them or as we count them.
    pub(crate) fn used(&self) -> Usage {
        self.meter.tokens(&*self.tokens)
    }

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
            UpstreamError::Refused { .. } | UpstreamError::Unreachable(_) => Self::Nothing,
            UpstreamError::Silent | UpstreamError::Cut | UpstreamError::TooLong => Self::Something,
        }
    }
}

impl Drop for MeteredCall {
    fn drop(&mut self) {
        let tokens = match self.end {
            CallEnd::Completed => self.used(),
            CallEnd::Open | CallEnd::Failed | CallEnd::Void => {
                self.meter.tokens_so_far(&*self.tokens)
            }
        };
        if let Some(slot) = &mut self.permit {
            slot.took = tokens.input.saturating_add(tokens.output);
        }
        let outcome = match self.end {
            // What was reserved is released as it is dropped.
            CallEnd::Void => return,
            CallEnd::Open => CallOutcome::Abandoned,
            CallEnd::Completed => CallOutcome::Completed,
            CallEnd::Failed => CallOutcome::Failed,
        };
        let usage = self.record(outcome, tokens);
        let charge = Charge::charge_for(&usage.rates, &tokens, self.fee);
        match self.reservation.take() {
            Some(hold) => hold.settle_call(usage, charge),
            None => self.log.record(usage),
        }
    }
}
