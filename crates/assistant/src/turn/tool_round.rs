//! Rounds of server tools: their calls are run, and the model is called again with the
//! results.

use std::sync::Arc;

use serde_json::json;

use super::Turn;
use super::knowledge_search::SEARCH_FAILED;
use crate::ai_caller::AiCaller;
use crate::credits::metered_call::Billable;
use crate::credits::usage::Usage;
use crate::request::prompt_body::{AddedMessages, UpstreamPrompt};
use crate::request::sample::PromptText;
use crate::routing::route::Route;
use crate::stream;
use crate::tools::calls::{Call, ToolFailure, ToolUse, assistant_message, tool_result};
use crate::tools::presentation::format_results;
use crate::tools::server::{ServerToolTask, ServerTools};

/// Maximum number of tool calls that are run at once; further ones are refused.
const MAX_UPSTREAM_CALLS: usize = 8;

/// Result of a call beyond that number, for the model.
const TOO_MANY_CALLS: &str = "This was not done: too many calls at once.";

/// Rough cost of a picture in tokens.
const TOKENS_PER_IMAGE: i64 = 1000;

impl Turn {
    /// Runs the calls of server tools, so that the model can be called again.
    pub(crate) async fn serve(&mut self, calls: Vec<Call>, text: &str) {
        self.rounds = self.rounds.saturating_sub(1);

        // The last call has no tools of the server, so that the model must answer.
        if self.rounds == 0 {
            self.added.tools.clear();
        }

        self.added.messages.push(assistant_message(text, &calls));

        for (index, call) in calls.iter().enumerate() {
            let result_text = if index < MAX_UPSTREAM_CALLS {
                self.run_call(call).await
            } else {
                TOO_MANY_CALLS.to_owned()
            };
            self.added.messages.push(tool_result(call, &result_text));
        }
    }

    /// Runs a call. Returns the text for the model: the result, or the reason for the failure.
    async fn run_call(&mut self, call: &Call) -> String {
        let result = self.run_task(self.tools.task(call)).await;
        self.tool_uses.push(ToolUse { name: call.name.clone(), failed: result.is_err() });
        result.unwrap_or_else(|failure| failure.0)
    }

    /// Runs a task and returns its result for the model.
    async fn run_task(&mut self, task: ServerToolTask) -> Result<String, ToolFailure> {
        match task {
            ServerToolTask::Invalid(message) => Err(failure(message)),
            ServerToolTask::Search(query) => self.run_search(&query).await,
            ServerToolTask::SearchKnowledge(question) => match &self.knowledge {
                Some(knowledge) => knowledge.run(&question).await,
                None => Err(failure(SEARCH_FAILED)),
            },
            ServerToolTask::Connector { name, arguments } => {
                let AiCaller { user, group, .. } = self.caller;
                let call = self.gateway.connectors.call(user, group, &name, &arguments);
                let result = self.gateway.unless_stopped(call).await;
                result.unwrap_or_else(|| Err(failure("The server stops.")))
            }
            ServerToolTask::Look { picture, question } => {
                let description = self.describe_picture(&picture, &question).await;
                description.ok_or_else(|| failure("The picture could not be looked at."))
            }
        }
    }

    async fn run_search(&self, query: &str) -> Result<String, ToolFailure> {
        let search_failure = || failure(SEARCH_FAILED);
        let provider = self.tools.search.as_ref().ok_or_else(search_failure)?;
        let results = self.gateway.search_unless_stopped(provider, self.caller.group, query).await;
        results.map(|it| format_results(&it)).ok_or_else(search_failure)
    }

    /// Calls the vision model; this is a separate call with its own cost.
    async fn describe_picture(&mut self, picture: &[u8], question: &str) -> Option<String> {
        let vision_model = self.tools.vision.as_ref()?;
        let route = vision_model.route.clone();
        let mut vision_turn = self.single_call_turn(route, picture_prompt(picture, question));
        let (body, mut metered_call) = vision_turn.complete().await.ok()?;
        let description =
            stream::completion::parse(&body).map(|it| it.text).filter(|it| !it.trim().is_empty());
        // The upstream may bill a response without a text.
        if description.is_none() {
            metered_call.fail(Billable::Something);
            return None;
        }

        self.settle(metered_call);

        description
    }

    /// Returns a turn for one call of other models, without tools and knowledge.
    fn single_call_turn(&self, route: Route, prompt: UpstreamPrompt) -> Self {
        Self {
            gateway: self.gateway.clone(),
            caller: self.caller,
            default_mode: self.default_mode,
            rules: Arc::clone(&self.rules),
            route,
            prompt,
            added: AddedMessages::default(),
            tools: ServerTools::default(),
            knowledge: None,
            rounds: 0,
            tool_uses: Vec::new(),
            previous_usage: Usage::default(),
            response_started: Arc::default(),
        }
    }
}

/// Returns the prompt for a question about a picture, which is a JSON part of a message.
fn picture_prompt(picture: &[u8], question: &str) -> UpstreamPrompt {
    let picture_json = String::from_utf8_lossy(picture);
    let question_json = json!({ "type": "text", "text": question });
    let messages = format!(r#"[{{"role":"user","content":[{question_json},{picture_json}]}}]"#);
    let text = PromptText { extra_tokens: TOKENS_PER_IMAGE, ..PromptText::from_words(&[question]) };
    UpstreamPrompt { pictures: true, ..UpstreamPrompt::from_messages(&messages, text) }
}

fn failure(text: &str) -> ToolFailure {
    ToolFailure(text.to_owned())
}
