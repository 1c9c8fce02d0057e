//! Parts of calls that one model answers, without fallbacks.
//!
//! Embeddings, rankings, and calls of the server for itself use them: first a permit, then
//! `call_with_keys`. No budget is involved: `embeddings.rs` admits and meters its calls itself.

use std::time::Duration;

use pia_kernel::{GroupId, Secret};
use uuid::Uuid;

use crate::credits::metered_call::Billable;
use crate::error::AssistantError;
use crate::gateway::Gateway;
use crate::ports::UpstreamError;
use crate::routing::attempts::AttemptOutcome;
use crate::routing::keys::requested_cooldown;
use crate::routing::refusal::{Tools, explain_failure};
use crate::routing::target::Target;
use crate::routing::upstream_limiter::{CallDemand, Permit};

/// Maximum time for which a call of the server itself waits for a permit of its
/// upstream.
const MAX_WAIT: Duration = Duration::from_secs(30);

/// Purpose of a call of the server itself. Purposes take turns at an upstream, as
/// groups do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BackgroundPurpose {
    /// Work for which nobody waits, such as the ingestion of documents.
    Work,
    /// Part of an answer for which a user waits.
    Question,
}

impl BackgroundPurpose {
    /// Returns the group that stands for this in the queue of an upstream.
    pub(crate) fn group(self) -> GroupId {
        GroupId(Uuid::from_u128(match self {
            Self::Work => 0,
            Self::Question => 1,
        }))
    }
}

/// Failure of a call, and what it costs.
pub(crate) struct CallFailure {
    pub(crate) error: AssistantError,
    pub(crate) cost: Billable,
}

impl Gateway {
    /// Waits for a permit of an upstream, for a call of the server itself with
    /// this many tokens.
    pub(crate) async fn acquire_background_permit(
        &self,
        target: &Target,
        purpose: BackgroundPurpose,
        tokens: i64,
    ) -> Result<Permit, AssistantError> {
        let demand = CallDemand { group: purpose.group(), tokens };
        self.acquire_permit(target, demand, MAX_WAIT).await
    }

    /// Sends a call with one key of its model after the other, until one is
    /// accepted, or the call fails in a way that no other key would avoid.
    pub(crate) async fn call_with_keys<T, F: Future<Output = Result<T, UpstreamError>>>(
        &self,
        target: &Target,
        send: impl Fn(Secret<String>) -> F,
    ) -> Result<T, CallFailure> {
        let mut failure =
            CallFailure { error: AssistantError::NotConfigured, cost: Billable::Nothing };
        for key in self.keys.order(&target.keys, self.timer.elapsed()) {
            let err = match self.unless_stopped(send(key.clone())).await {
                // The upstream may have the call already, and bill it.
                None => {
                    return Err(CallFailure {
                        error: AssistantError::Stopping,
                        cost: Billable::Something,
                    });
                }
                Some(Ok(answer)) => {
                    self.attempts.count(target, AttemptOutcome::Answered);
                    return Ok(answer);
                }
                Some(Err(err)) => err,
            };
            let outcome = AttemptOutcome::from_error(&err);
            self.attempts.count(target, outcome);
            let error = explain_failure(&err, Tools::None, target);
            failure = CallFailure { error, cost: Billable::after_failure(&err) };
            if !outcome.is_key_failure() {
                break;
            }

            self.keys.set_cooldown(&key, self.timer.elapsed(), requested_cooldown(&err));
        }

        Err(failure)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use futures_util::future::join_all;

    use super::*;
    use crate::fakes::{TestEnv, target};
    use crate::routing::target::Protection;

    #[tokio::test]
    async fn a_question_waits_for_one_call_of_other_work_at_most() {
        let protection = Protection { concurrent: Some(1), ..Protection::default() };
        let target = Target { protection, ..(*target("model")).clone() };
        let gateway = TestEnv::with_scripts(Vec::new()).gateway();
        let order = Mutex::default();
        let call = async |purpose: BackgroundPurpose| {
            let _permit = gateway.acquire_background_permit(&target, purpose, 1).await.unwrap();
            Mutex::<Vec<BackgroundPurpose>>::lock(&order).unwrap().push(purpose);
            tokio::task::yield_now().await;
        };
        let work = [BackgroundPurpose::Work; 4];

        join_all(work.into_iter().chain([BackgroundPurpose::Question]).map(call)).await;

        let order = order.into_inner().unwrap();
        let at = order.iter().position(|it| *it == BackgroundPurpose::Question);
        assert!(order.len() == 5 && at.is_some_and(|at| at <= 2), "{order:?}");
    }
}
