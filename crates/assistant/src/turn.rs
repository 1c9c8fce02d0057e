//! Turn of a conversation, which may take several calls of a model.

mod capable_models;

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use pia_kernel::Secret;
use serde_json::json;

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
use crate::request::sample::PromptText;
use crate::request::surface::Surface;
use crate::routing::attempts::{AttemptOutcome, may_be_repeated};
use crate::routing::keys::rest;
use crate::routing::refusal::explain_failure;
use crate::routing::route::{Route, route};
use crate::routing::target::{Mode, Target};
use crate::routing::upstream_limiter::Permit;
use crate::rules::GroupRules;
use crate::stream;
use crate::stream::start::{StartedStream, reject_error_body, start_stream};
use crate::tools::calls::{Call, assistant_message, tool_result};
use crate::tools::server::{ServerToolTask, ServerTools, format_results};
use capable_models::retain_capable;

/// Maximum number of upstream calls a turn; further tool calls are not run.
const MAX_UPSTREAM_CALLS: usize = 8;

/// Rough cost of a picture in tokens.
const TOKENS_PER_IMAGE: i64 = 1000;

/// Permission of a model to use tools of the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ToolMode {
    WithTools,
    Plainly,
}

impl ToolMode {
    /// Returns the mode of a persona that may use tools, or must not.
    fn filter(self, uses_tools: bool) -> Self {
        if uses_tools { self } else { Self::Plainly }
    }
}

/// A turn that is being answered.
pub(crate) struct Turn {
    gateway: Gateway,
    caller: AiCaller,
    /// Mode that is recorded where its caller names none.
    otherwise: Mode,
    rules: Arc<GroupRules>,
    route: Route,
    prompt: UpstreamPrompt,
    added: AddedMessages,
    tools: ServerTools,
    /// Number of times that a model may still have something done.
    rounds: u32,
    /// Usage of its earlier calls.
    pub(crate) previous_usage: Usage,
    /// Set once the caller was informed that there is an answer: from then on no
    /// other model is called.
    committed: Arc<AtomicBool>,
}

/// Pending call: the adapter's two methods have one shape.
type PendingCall<T> = Pin<Box<dyn Future<Output = Result<T, UpstreamError>> + Send>>;

impl Turn {
    /// Returns the surface that the call came through.
    pub(crate) fn surface(&self) -> Surface {
        self.caller.surface
    }

    pub(crate) async fn begin(
        gateway: Gateway,
        caller: AiCaller,
        otherwise: Mode,
        mut prompt: UpstreamPrompt,
        served: ToolMode,
    ) -> Result<Self, AssistantError> {
        let rules = gateway.rules.rules_of(caller.group).await?;
        let persona = caller.persona.filter(|_| otherwise == Mode::Assistant);
        let granted = match persona {
            Some(persona) => gateway.personas.granted(caller.group, persona).await?,
            None => None,
        };
        if let Some(granted) = &granted {
            prompt.apply_persona(granted);
        }
        let served = served.filter(granted.is_none_or(|it| it.uses_tools));
        let catalogue = gateway.catalogue.get();
        // Optimising is what its routes are for, named or not.
        let optimising = (otherwise == Mode::Optimize).then_some(otherwise);
        let mut route = route(&catalogue, &rules, caller.mode.or(optimising), &prompt.model_hint)
            .ok_or(AssistantError::NotConfigured)?;
        retain_capable(&mut route, &prompt)?;
        let tools = match (served, route.first()) {
            (ToolMode::WithTools, Some(first)) => {
                ServerTools::for_prompt(first, &catalogue, &mut prompt)
            }
            _ => ServerTools::default(),
        };
        if prompt.pictures {
            // The first sees them, or they would have been taken out.
            route.retain(|it| it.vision);
        }
        let rounds = gateway.settings.get().max_tool_rounds;
        let declared = if rounds > 0 { tools.declarations() } else { Vec::new() };
        let declared = declared.into_iter().map(Bytes::from).collect();
        Ok(Self {
            gateway,
            caller,
            otherwise,
            rules,
            route,
            prompt,
            added: AddedMessages { messages: Vec::new(), tools: declared },
            tools,
            rounds,
            previous_usage: Usage::default(),
            committed: Arc::default(),
        })
    }

    /// Returns whether its model may have something done, now or later.
    pub(crate) fn has_tools(&self) -> bool {
        self.tools.any()
    }

    /// Returns whether a tool is one of those that are done here.
    pub(crate) fn is_ours(&self, name: &str) -> bool {
        self.tools.has(name)
    }

    /// Returns whether its model may have something done once more.
    pub(crate) fn has_rounds_left(&self) -> bool {
        self.rounds > 0
    }

    /// Returns a flag that is set once the caller was informed that there is an
    /// answer.
    pub(crate) fn committed(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.committed)
    }

    /// Begins a streamed answer.
    pub(crate) async fn open(&mut self) -> Result<(StartedStream, MeteredCall), AssistantError> {
        let tools = self.prompt.tools;
        self.call_upstreams(|upstream, call| {
            Box::pin(async move { start_stream(upstream.open(call).await?, tools).await })
        })
        .await
    }

    /// Waits for a whole answer.
    pub(crate) async fn whole(&mut self) -> Result<(Bytes, MeteredCall), AssistantError> {
        let tools = self.prompt.tools;
        let asking = self.call_upstreams(|upstream, call| {
            Box::pin(async move { reject_error_body(upstream.complete(call).await?, tools) })
        });
        let (body, mut metered_call) = asking.await?;
        metered_call.meter.reported = stream::completion::usage(&body);
        if metered_call.meter.reported.is_none() {
            metered_call.meter.count_text(&stream::completion::text(&body));
        }
        Ok((body, metered_call))
    }

    /// A call of it is over, and was answered.
    pub(crate) fn settle(&mut self, mut metered_call: MeteredCall) {
        self.previous_usage = self.previous_usage.plus(&metered_call.used());
        metered_call.end = CallEnd::Completed;
    }

    /// Does what the model has called for, so that it can be asked again.
    pub(crate) async fn serve(&mut self, calls: Vec<Call>, text: &str) {
        self.rounds = self.rounds.saturating_sub(1);
        if self.rounds == 0 {
            self.added.tools.clear();
        }
        self.added.messages.push(assistant_message(text, &calls));
        for (at, call) in calls.iter().enumerate() {
            let message = if at < MAX_UPSTREAM_CALLS {
                self.run_task(self.tools.task(call)).await
            } else {
                "This was not done: too many calls at once.".to_owned()
            };
            self.added.messages.push(tool_result(call, &message));
        }
    }

    /// Outcome of a task, as the model gets it.
    async fn run_task(&mut self, task: ServerToolTask) -> String {
        match task {
            ServerToolTask::Nonsense(why) => why.to_owned(),
            ServerToolTask::Search(query) => self.run_search(&query).await,
            ServerToolTask::Look { picture, question } => {
                self.describe_picture(&picture, &question).await
            }
        }
    }

    async fn run_search(&self, query: &str) -> String {
        let failed = || "The search failed. Answer without it, and say so.".to_owned();
        let Some(provider) = &self.tools.search else { return failed() };
        let found = self.gateway.search_unless_stopped(provider, self.caller.group, query).await;
        found.map_or_else(failed, |it| format_results(&it))
    }

    /// Asks the model that sees; a call of its own, with its own costs.
    async fn describe_picture(&mut self, picture: &[u8], question: &str) -> String {
        let failed = || "The picture could not be looked at.".to_owned();
        let Some(sight) = &self.tools.vision else { return failed() };
        let picture = String::from_utf8_lossy(picture);
        let requested = question;
        let question = json!({ "type": "text", "text": question });
        let messages = format!(r#"[{{"role":"user","content":[{question},{picture}]}}]"#);
        let text = PromptText { besides: TOKENS_PER_IMAGE, ..PromptText::from_words(&[requested]) };
        let mut looking = Self {
            gateway: self.gateway.clone(),
            caller: self.caller,
            otherwise: self.otherwise,
            rules: Arc::clone(&self.rules),
            route: sight.route.clone(),
            prompt: UpstreamPrompt {
                pictures: true,
                ..UpstreamPrompt::from_messages(&messages, text)
            },
            added: AddedMessages::default(),
            tools: ServerTools::default(),
            rounds: 0,
            previous_usage: Usage::default(),
            committed: Arc::default(),
        };
        let Ok((body, mut metered_call)) = looking.whole().await else { return failed() };
        let seen =
            stream::completion::parse(&body).map(|it| it.text).filter(|it| !it.trim().is_empty());
        if seen.is_none() {
            metered_call.fail(Billable::Something);
            return failed();
        }
        self.settle(metered_call);
        seen.unwrap_or_else(failed)
    }

    /// Returns the request body. With the last attempt it is given away, unless
    /// it will be needed for another call: its memory is free once it is sent.
    fn body(&mut self, is_last: bool) -> ChatBody {
        let body = self.prompt.body(&self.added);
        if is_last && !self.has_tools() {
            self.prompt.release();
        }
        body
    }

    /// Asks the models of the route one after the other, each with its keys,
    /// until one begins to answer or has refused what no other would take.
    async fn call_upstreams<T>(
        &mut self,
        how: impl Fn(Arc<dyn ChatUpstream>, ChatCall) -> PendingCall<T>,
    ) -> Result<(T, MeteredCall), AssistantError> {
        let gateway = self.gateway.clone();
        let admitted = gateway.admit(self.admission_request()?).await?;
        let AdmittedCall { mut metered_call, prompt: tokens, max_output } = admitted;
        let mut refused = AssistantError::NotConfigured;
        let route = self.route.clone();
        for (at, target) in route.iter().enumerate() {
            metered_call.target = Arc::clone(target);
            metered_call.fee = target.fee(&self.prompt.hosted);
            metered_call.permit = None;
            metered_call.permit = match self.acquire_permit(target, tokens).await {
                Ok(slot) => Some(slot),
                Err(crowded) => {
                    refused = crowded;
                    continue;
                }
            };
            let keys = gateway.keys.order(&target.keys, gateway.timer.elapsed());
            let last_target = at + 1 == route.len();
            for (at, key) in keys.iter().enumerate() {
                let is_last = last_target && at + 1 == keys.len();
                let body = self.body(is_last);
                let call = self.call(target, key.clone(), body, max_output);
                let requested = how(Arc::clone(&gateway.upstream), call);
                let Some(answer) = gateway.unless_stopped(requested).await else {
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
                let outcome = AttemptOutcome::from_error(&err);
                gateway.attempts.count(target, outcome);
                refused = explain_failure(&err, self.prompt.tools, target);
                if !may_be_repeated(&err) || self.committed.load(Ordering::Relaxed) {
                    metered_call.fail(Billable::after_failure(&err));
                    return Err(refused);
                }
                if !outcome.blames_the_key() {
                    break;
                }
                gateway.keys.set_cooldown(key, gateway.timer.elapsed(), rest(&err));
            }
        }
        metered_call.fail(Billable::Nothing);
        Err(refused)
    }

    /// The next call, as it is to be admitted.
    fn admission_request(&self) -> Result<CallRequest<'_>, AssistantError> {
        let first = self.route.first().ok_or(AssistantError::NotConfigured)?;
        let hosted = &self.prompt.hosted;
        let mut text = self.prompt.text.clone();
        self.added.messages.iter().for_each(|it| text.words.add(it));
        Ok(CallRequest {
            caller: self.caller,
            mode: self.caller.mode.unwrap_or(self.otherwise),
            rules: &self.rules,
            target: Arc::clone(first),
            rates: self.route.iter().map(|it| it.rates).fold(first.rates, Rates::highest),
            fee: self.route.iter().map(|it| it.fee(hosted)).fold(Micros(0), Micros::max),
            prompt: text,
            max_output: self.prompt.max_output,
        })
    }

    /// Waits for room at an upstream; where another may answer, not for long.
    async fn acquire_permit(
        &self,
        target: &Arc<Target>,
        tokens: i64,
    ) -> Result<Permit, AssistantError> {
        let gateway = &self.gateway;
        let is_last = self.route.last().is_some_and(|it| Arc::ptr_eq(it, target));
        let patience = gateway.settings.get().max_wait;
        let patience = if is_last { patience } else { Duration::ZERO };
        gateway.acquire_permit(target, (self.caller.group, tokens), patience).await
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
#[path = "turn_tests.rs"]
mod tests;
