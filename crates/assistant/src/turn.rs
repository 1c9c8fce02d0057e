//! Turns of a conversation, which may take several calls of a model.
//!
//! `begin` (`turn/begin.rs`) prepares a turn. Each call is then `open` for a stream or
//! `complete` for a full response, and both run through `call_upstreams`: admit once, then
//! try each model of the route with each of its keys. If the model calls tools of the
//! server, pass the call to `settle` and its tool calls to `serve` (`turn/tool_round.rs`),
//! and call the model again. `answering.rs` and `stream/answer/closing.rs` drive a turn in
//! this way.

mod begin;
mod capable_models;
mod knowledge_search;
mod tool_round;

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use pia_kernel::Secret;

use crate::ai_caller::AiCaller;
use crate::credits::admission::{AdmittedCall, CallRequest};
use crate::credits::metered_call::{Billable, CallEnd, MeteredCall};
use crate::credits::rates::{Micros, Rates};
use crate::credits::usage::Usage;
use crate::error::AssistantError;
use crate::gateway::Gateway;
use crate::ports::{ChatCall, ChatUpstream, OutputCap, UpstreamError};
use crate::request::chat_body::ChatBody;
use crate::request::prompt_body::{AddedMessages, UpstreamPrompt};
use crate::request::surface::Surface;
use crate::routing::attempts::{AttemptOutcome, may_be_repeated};
use crate::routing::keys::requested_cooldown;
use crate::routing::refusal::explain_failure;
use crate::routing::route::Route;
use crate::routing::target::{Mode, Target};
use crate::routing::upstream_limiter::{CallDemand, Permit};
use crate::rules::GroupRules;
use crate::stream;
use crate::stream::start::{StartedStream, reject_error_body, start_stream};
use crate::tools::calls::ToolUse;
use crate::tools::server::ServerTools;
use knowledge_search::KnowledgeSearch;

/// Permission of a model to use tools of the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ToolMode {
    WithTools,
    WithoutTools,
}

impl ToolMode {
    /// Returns the mode with a persona's permission applied.
    fn filter(self, uses_tools: bool) -> Self {
        if uses_tools { self } else { Self::WithoutTools }
    }
}

/// Turn that is running, up to its last call of a model.
pub(crate) struct Turn {
    gateway: Gateway,
    caller: AiCaller,
    /// Mode that is recorded if the caller names none.
    default_mode: Mode,
    rules: Arc<GroupRules>,
    route: Route,
    prompt: UpstreamPrompt,
    added: AddedMessages,
    tools: ServerTools,
    /// Search of the caller's knowledge bases, if there are any.
    knowledge: Option<KnowledgeSearch>,
    /// Remaining rounds of server tools.
    rounds: u32,
    /// Calls of server tools that were run.
    pub(crate) tool_uses: Vec<ToolUse>,
    /// Usage of its earlier calls.
    pub(crate) previous_usage: Usage,
    /// Set once the caller's response has started: from then on no other model
    /// is called.
    response_started: Arc<AtomicBool>,
}

/// Attempt that may follow a failed one.
enum NextAttempt {
    None,
    WithNextKey,
    WithNextModel,
}

/// Pending call of either method of the adapter.
type PendingCall<T> = Pin<Box<dyn Future<Output = Result<T, UpstreamError>> + Send>>;

impl Turn {
    /// Returns the surface that the call came through.
    pub(crate) fn surface(&self) -> Surface {
        self.caller.surface
    }

    /// Returns whether its model has tools of the server.
    pub(crate) fn has_tools(&self) -> bool {
        self.tools.any()
    }

    /// Returns the names of the tools of the server.
    pub(crate) fn tool_names(&self) -> Vec<String> {
        self.tools.names()
    }

    /// Returns whether a tool is one of the server's.
    pub(crate) fn is_server_tool(&self, name: &str) -> bool {
        self.tools.has(name)
    }

    /// Returns whether a round of server tools remains.
    pub(crate) fn has_rounds_left(&self) -> bool {
        self.rounds > 0
    }

    /// Returns the flag to set once the caller's response has started.
    pub(crate) fn start_flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.response_started)
    }

    /// Calls the models until one starts to stream.
    pub(crate) async fn open(&mut self) -> Result<(StartedStream, MeteredCall), AssistantError> {
        let tools = self.prompt.tools;
        self.call_upstreams(|upstream, call| {
            Box::pin(async move { start_stream(upstream.open(call).await?, tools).await })
        })
        .await
    }

    /// Waits for a full response.
    pub(crate) async fn complete(&mut self) -> Result<(Bytes, MeteredCall), AssistantError> {
        let tools = self.prompt.tools;
        let call = self.call_upstreams(|upstream, call| {
            Box::pin(async move { reject_error_body(upstream.complete(call).await?, tools) })
        });
        let (body, mut metered_call) = call.await?;
        metered_call.meter.reported = stream::completion::usage(&body);
        if metered_call.meter.reported.is_none() {
            metered_call.meter.count_text(&stream::completion::text(&body));
        }
        Ok((body, metered_call))
    }

    /// Completes a call of the turn and adds its usage.
    pub(crate) fn settle(&mut self, mut metered_call: MeteredCall) {
        self.previous_usage = self.previous_usage.plus(&metered_call.usage());
        metered_call.end = CallEnd::Completed;
    }

    /// Returns the request body. The last attempt takes the prompt's memory,
    /// which is freed as it is sent, unless another call needs it.
    fn body(&mut self, is_last: bool) -> ChatBody {
        let body = self.prompt.body(&self.added);
        if is_last && !self.has_tools() {
            self.prompt.release();
        }
        body
    }

    /// Calls the models of the route one after the other, each with its keys,
    /// until one starts to respond, or fails in a way that no other model would
    /// avoid.
    async fn call_upstreams<T>(
        &mut self,
        send: impl Fn(Arc<dyn ChatUpstream>, ChatCall) -> PendingCall<T>,
    ) -> Result<(T, MeteredCall), AssistantError> {
        let gateway = self.gateway.clone();
        let AdmittedCall { mut metered_call, prompt: tokens, max_output } =
            gateway.admit(self.admission_request()?).await?;
        let mut error = AssistantError::NotConfigured;
        let route = self.route.clone();
        for (target_index, target) in route.iter().enumerate() {
            metered_call.target = Arc::clone(target);
            metered_call.fee = target.fee(&self.prompt.hosted);
            // Released before the next one is awaited, so that no call has two.
            metered_call.permit = None;

            metered_call.permit = match self.acquire_permit(target, tokens).await {
                Ok(permit) => Some(permit),
                Err(err) => {
                    error = err;
                    continue;
                }
            };
            let keys = gateway.keys.order(&target.keys, gateway.timer.elapsed());
            let is_last_target = target_index + 1 == route.len();

            for (key_index, key) in keys.iter().enumerate() {
                let is_last = is_last_target && key_index + 1 == keys.len();
                let body = self.body(is_last);
                let call = self.call(target, key.clone(), body, max_output);
                let pending_call = send(Arc::clone(&gateway.upstream), call);
                // At a stop the upstream may have the call already, and bill it.
                let Some(answer) = gateway.unless_stopped(pending_call).await else {
                    metered_call.fail(Billable::Something);
                    return Err(AssistantError::Stopping);
                };

                let err = match answer {
                    Ok(answer) => {
                        gateway.attempts.count(target, AttemptOutcome::Answered);
                        return Ok((answer, metered_call));
                    }
                    Err(err) => err,
                };

                error = explain_failure(&err, self.prompt.tools, target);
                match self.record_failure(target, key, &err) {
                    NextAttempt::None => {
                        metered_call.fail(Billable::after_failure(&err));
                        return Err(error);
                    }
                    NextAttempt::WithNextModel => break,
                    NextAttempt::WithNextKey => {}
                }
            }
        }

        metered_call.fail(Billable::Nothing);

        Err(error)
    }

    /// Counts a failed attempt and returns the one that may follow. A key that failed is not used
    /// again for a while.
    fn record_failure(
        &self,
        target: &Target,
        key: &Secret<String>,
        err: &UpstreamError,
    ) -> NextAttempt {
        let outcome = AttemptOutcome::from_error(err);
        self.gateway.attempts.count(target, outcome);
        if !may_be_repeated(err) || self.response_started.load(Ordering::Relaxed) {
            return NextAttempt::None;
        }
        if !outcome.is_key_failure() {
            return NextAttempt::WithNextModel;
        }

        let now = self.gateway.timer.elapsed();
        self.gateway.keys.set_cooldown(key, now, requested_cooldown(err));

        NextAttempt::WithNextKey
    }

    /// Returns the admission request of the next call.
    fn admission_request(&self) -> Result<CallRequest<'_>, AssistantError> {
        let first_target = self.route.first().ok_or(AssistantError::NotConfigured)?;
        let hosted = &self.prompt.hosted;
        let mut text = self.prompt.text.clone();
        self.added.messages.iter().for_each(|it| text.words.add(it));

        Ok(CallRequest {
            caller: self.caller,
            mode: self.caller.mode.unwrap_or(self.default_mode),
            rules: &self.rules,
            target: Arc::clone(first_target),
            rates: self.route.iter().map(|it| it.rates).fold(first_target.rates, Rates::highest),
            fee: self.route.iter().map(|it| it.fee(hosted)).fold(Micros(0), Micros::max),
            prompt: text,
            max_output: self.prompt.max_output,
        })
    }

    /// Waits for a permit of an upstream, or only tries to get one if another
    /// model may answer.
    async fn acquire_permit(
        &self,
        target: &Arc<Target>,
        tokens: i64,
    ) -> Result<Permit, AssistantError> {
        let gateway = &self.gateway;
        let is_last = self.route.last().is_some_and(|it| Arc::ptr_eq(it, target));
        let max_wait = if is_last { gateway.settings.get().max_wait } else { Duration::ZERO };
        let demand = CallDemand { group: self.caller.group, tokens };
        gateway.acquire_permit(target, demand, max_wait).await
    }

    fn call(
        &self,
        target: &Arc<Target>,
        key: Secret<String>,
        body: ChatBody,
        max_output: Option<OutputCap>,
    ) -> ChatCall {
        ChatCall {
            target: Arc::clone(target),
            key,
            body,
            max_output,
            effort: self.prompt.effort.or(target.reasoning_effort),
        }
    }
}

#[cfg(test)]
mod tests;
