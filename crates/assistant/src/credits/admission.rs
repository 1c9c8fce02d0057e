//! Admission of calls, and reservation of their cost.
//!
//! `Gateway::admit` is called once for each call, whatever number of models its route has:
//! the reservation covers the most expensive of them. Only limited calls reach the store.

use std::sync::Arc;

use crate::ai_caller::AiCaller;
use crate::credits::meter::{Meter, PromptTokens};
use crate::credits::metered_call::{CallEnd, MeteredCall};
use crate::credits::rates::{Micros, Rates};
use crate::credits::{
    AdmissionOutcome, AdmissionRequest, BudgetRefusal, CreditHolder, ReservationGuard,
    TruncationCause,
};
use crate::error::AssistantError;
use crate::gateway::Gateway;
use crate::ports::OutputCap;
use crate::request::sample::PromptText;
use crate::routing::target::{Mode, Target};
use crate::rules::GroupRules;

/// Call that waits for its admission.
pub(crate) struct CallRequest<'a> {
    pub(crate) caller: AiCaller,
    /// Mode that the usage record names.
    pub(crate) mode: Mode,
    /// Rules of the caller's group.
    pub(crate) rules: &'a GroupRules,
    /// First model of the route.
    pub(crate) target: Arc<Target>,
    /// Highest token rates of all models of the route.
    pub(crate) rates: Rates,
    /// Highest fee of its tools, besides its tokens.
    pub(crate) fee: Micros,
    /// Text of its prompt, of which only a sample is stored.
    pub(crate) prompt: PromptText,
    /// Maximum length of the response that the caller requested.
    pub(crate) max_output: Option<OutputCap>,
}

/// Call that was admitted.
pub(crate) struct AdmittedCall {
    pub(crate) metered_call: MeteredCall,
    /// Estimate of its prompt in tokens.
    pub(crate) prompt: i64,
    /// Maximum length of its response, to be sent upstream.
    pub(crate) max_output: Option<OutputCap>,
}

/// Result of an admission.
struct ReservationOutcome {
    /// Reservation of the call; `None` if nothing is limited.
    reservation: Option<ReservationGuard>,
    /// Tokens of the prompt; `None` if nothing is limited, as they were not counted.
    prompt: Option<i64>,
    max_output: Option<OutputCap>,
    truncation_cause: Option<Box<TruncationCause>>,
}

impl Gateway {
    /// Decides whether a call may be made, and reserves what it may spend. A
    /// call without limits makes no store request.
    pub(crate) async fn admit(
        &self,
        request: CallRequest<'_>,
    ) -> Result<AdmittedCall, AssistantError> {
        let ReservationOutcome { reservation, prompt: prompt_tokens, max_output, truncation_cause } =
            self.reserve_checked(&request).await?;
        let CallRequest { caller, mode, target, fee, prompt, .. } = request;
        // Counted tokens are used if there are any: unlimited calls have only an estimate.
        let estimate = prompt_tokens.unwrap_or_else(|| prompt.estimate());
        let tokens_to_meter =
            prompt_tokens.map_or(PromptTokens::PromptText(prompt), PromptTokens::Counted);
        let metered_call = MeteredCall {
            caller,
            mode,
            target,
            fee,
            meter: Meter::for_prompt(tokens_to_meter),
            end: CallEnd::Open,
            reservation,
            truncation_cause,
            permit: None,
            log: Arc::clone(&self.usage),
            tokens: Arc::clone(&self.tokens),
            clock: Arc::clone(&self.clock),
            timer: Arc::clone(&self.timer),
            admitted_at: self.timer.elapsed(),
        };

        Ok(AdmittedCall { metered_call, prompt: estimate, max_output })
    }

    /// Reserves the call's full cost. A refusal is checked again under the group's current rules,
    /// if they differ from the cached ones.
    async fn reserve_checked(
        &self,
        request: &CallRequest<'_>,
    ) -> Result<ReservationOutcome, AssistantError> {
        let refusal = match self.reserve(request, request.rules).await {
            Err(err @ AssistantError::OverBudget(_)) => err,
            outcome => return outcome,
        };
        let rules = self.rules.fresh(request.caller.group).await?;
        let is_unchanged =
            rules.credits == request.rules.credits && rules.free == request.rules.free;
        if is_unchanged { Err(refusal) } else { self.reserve(request, &rules).await }
    }

    /// Reserves the call's cost under these rules. Without limits, nothing is reserved or counted:
    /// the operator's maximum alone limits the response.
    async fn reserve(
        &self,
        request: &CallRequest<'_>,
        rules: &GroupRules,
    ) -> Result<ReservationOutcome, AssistantError> {
        let settings = self.credits.get();
        let AiCaller { user, group, key, .. } = request.caller;
        if settings.suspends(group, rules) {
            let now = self.clock.now();
            let refusal = BudgetRefusal::suspended(settings.weeks.end(now), now);
            return Err(AssistantError::OverBudget(refusal));
        }

        // The cap is sent under the name that the caller used, whoever lowers it.
        let name = request.max_output.and_then(|it| it.name);
        let max_output_tokens = request.max_output.map(|it| it.tokens);
        let holder = CreditHolder { member: user, group, key, limits: rules.credits };
        if holder.is_unlimited() {
            let bound = max_output_tokens.into_iter().chain(settings.max_output).min();
            let max_output = bound.map(|tokens| OutputCap { tokens, name });
            return Ok(ReservationOutcome {
                reservation: None,
                prompt: None,
                max_output,
                truncation_cause: None,
            });
        }

        // Counting takes milliseconds, so only limited calls pay for it.
        let output = settings.output(max_output_tokens);
        let prompt = request.prompt.tokens(&*self.tokens);
        let admission_request =
            AdmissionRequest { holder, rates: request.rates, fee: request.fee, prompt, output };
        match self.credit_store.admit(admission_request).await {
            Ok(AdmissionOutcome::Granted { reservation, output: tokens, truncation_cause }) => {
                let max_output = Some(OutputCap { tokens, name });
                Ok(ReservationOutcome {
                    reservation: Some(reservation),
                    prompt: Some(prompt),
                    max_output,
                    truncation_cause,
                })
            }
            Ok(AdmissionOutcome::Refused(refusal)) => Err(AssistantError::OverBudget(refusal)),
            Err(err) => Err(err.into()),
        }
    }
}

#[cfg(test)]
#[path = "admission_tests.rs"]
mod tests;
