//! Deciding whether a call may be made, and out of which budget.

use std::sync::Arc;

use crate::ai_caller::AiCaller;
use crate::credits::meter::{Meter, PromptTokens};
use crate::credits::metered_call::{CallEnd, MeteredCall};
use crate::credits::rates::{Micros, Rates};
use crate::credits::{
    Admission, AdmissionRequest, BudgetRefusal, CreditHolder, ReservationGuard, TruncationCause,
};
use crate::error::AssistantError;
use crate::gateway::Gateway;
use crate::ports::OutputCap;
use crate::request::sample::PromptText;
use crate::routing::target::{Mode, Target};
use crate::rules::GroupRules;

/// A call that somebody would like to make.
pub(crate) struct CallRequest<'a> {
    pub(crate) caller: AiCaller,
    /// For what it is written down.
    pub(crate) mode: Mode,
    /// Rules of the caller's group.
    pub(crate) rules: &'a GroupRules,
    /// Model that is asked first.
    pub(crate) target: Arc<Target>,
    /// Highest rates of its tokens, whichever model answers in the end.
    pub(crate) rates: Rates,
    /// Highest fee of its tools, besides its tokens.
    pub(crate) fee: Micros,
    /// Text of its prompt.
    pub(crate) prompt: PromptText,
    /// Maximum length of the answer that the caller requested.
    pub(crate) max_output: Option<OutputCap>,
}

/// A call that may be made.
pub(crate) struct AdmittedCall {
    pub(crate) metered_call: MeteredCall,
    /// Our estimate of its prompt, in tokens.
    pub(crate) prompt: i64,
    /// Maximum length of the response, as sent upstream.
    pub(crate) max_output: Option<OutputCap>,
}

/// Result of an admission.
struct ReservationOutcome {
    /// Reservation of the call; none where nothing is limited.
    reservation: Option<ReservationGuard>,
    /// The tokens of the prompt, where they were counted.
    prompt: Option<i64>,
    max_output: Option<OutputCap>,
    truncation_cause: Option<Box<TruncationCause>>,
}

impl Gateway {
    /// Decides whether a call may be made, and reserves what it may spend. A
    /// call that nothing limits waits for nobody.
    pub(crate) async fn admit(
        &self,
        wanted: CallRequest<'_>,
    ) -> Result<AdmittedCall, AssistantError> {
        let ReservationOutcome {
            reservation: hold,
            prompt: counted,
            max_output,
            truncation_cause: short,
        } = self.reserved(&wanted).await?;
        let CallRequest { caller, mode, target, fee, prompt, .. } = wanted;
        let estimate = counted.unwrap_or_else(|| prompt.estimate());
        let metered = counted.map_or(PromptTokens::PromptText(prompt), PromptTokens::Counted);
        let metered_call = MeteredCall {
            caller,
            mode,
            target,
            fee,
            meter: Meter::of_prompt(metered),
            end: CallEnd::Open,
            reservation: hold,
            truncation_cause: short,
            permit: None,
            log: Arc::clone(&self.usage),
            tokens: Arc::clone(&self.tokens),
            clock: Arc::clone(&self.clock),
        };
        Ok(AdmittedCall { metered_call, prompt: estimate, max_output })
    }

    /// Reserves the call's full cost; a refusal is re-checked against fresh group rules.
    async fn reserved(
        &self,
        wanted: &CallRequest<'_>,
    ) -> Result<ReservationOutcome, AssistantError> {
        let refused = match self.reserve(wanted, wanted.rules).await {
            Err(refused @ AssistantError::OverBudget(_)) => refused,
            other => return other,
        };
        let fresh = self.rules.fresh(wanted.caller.group).await?;
        let same = fresh.credits == wanted.rules.credits && fresh.free == wanted.rules.free;
        if same { Err(refused) } else { self.reserve(wanted, &fresh).await }
    }

    async fn reserve(
        &self,
        wanted: &CallRequest<'_>,
        rules: &GroupRules,
    ) -> Result<ReservationOutcome, AssistantError> {
        let settings = self.credits.get();
        let AiCaller { user, group, key, .. } = wanted.caller;
        if settings.suspends(group, rules) {
            let now = self.clock.now();
            let refusal = BudgetRefusal::suspended(settings.weeks.end(now), now);
            return Err(AssistantError::OverBudget(refusal));
        }
        let name = wanted.max_output.and_then(|it| it.name);
        let requested = wanted.max_output.map(|it| it.tokens);
        let holder = CreditHolder { member: user, group, key, limits: rules.credits };
        if holder.is_unlimited() {
            let bound = requested.into_iter().chain(settings.max_output).min();
            let max_output = bound.map(|tokens| OutputCap { tokens, name });
            return Ok(ReservationOutcome {
                reservation: None,
                prompt: None,
                max_output,
                truncation_cause: None,
            });
        }
        let output = settings.output(requested);
        let prompt = wanted.prompt.tokens(&*self.tokens);
        let ask = AdmissionRequest { holder, rates: wanted.rates, fee: wanted.fee, prompt, output };
        match self.credit_store.admit(ask).await {
            Ok(Admission::Granted {
                reservation: hold,
                output: tokens,
                truncation_cause: short,
            }) => {
                let max_output = Some(OutputCap { tokens, name });
                Ok(ReservationOutcome {
                    reservation: Some(hold),
                    prompt: Some(prompt),
                    max_output,
                    truncation_cause: short,
                })
            }
            Ok(Admission::Refused(refusal)) => Err(AssistantError::OverBudget(refusal)),
            Err(err) => Err(err.into()),
        }
    }
}

#[cfg(test)]
#[path = "admission_tests.rs"]
mod tests;
