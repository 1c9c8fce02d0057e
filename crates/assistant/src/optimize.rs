//! Improving a text.

pub(crate) mod drafting;
pub(crate) mod languages;
pub(crate) mod prompt;
pub(crate) mod sanitise;
pub(crate) mod templates;

use pia_kernel::utf16_len;
use uuid::Uuid;

use crate::ai_caller::AiCaller;
use crate::answering::FullAnswer;
use crate::credits::metered_call::CallEnd;
use crate::credits::usage::Usage;
use crate::error::{AssistantError, Violation};
use crate::gateway::Gateway;
use crate::optimize::prompt::{OptimizeTask, TextOrigin, prompt};
use crate::optimize::sanitise::{clean, unfenced};
use crate::optimize::templates::{DEFAULT, templates};
use crate::request::prompt_body::{ModelHint, UpstreamPrompt};
use crate::routing::target::Mode;
use crate::stream::answer::{ChatStream, UsageChunks};
use crate::stream::completion::{self, Completion};
use crate::turn::ToolMode;

/// Maximum length of a user's own instructions, in UTF-16 code units.
const MAX_PROMPT_CHARS: usize = 20_000;
/// Maximum length of their name.
const MAX_NAME_CHARS: usize = 255;

/// Request to optimise a text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OptimizeRequest {
    /// The text.
    pub text: String,
    /// The id or name of a template of ours, or the id of the user's own; the
    /// default one where there is none.
    pub template: Option<String>,
    /// The entry of the catalogue that is to answer, where the caller's group
    /// may choose it; whatever else it names is as if nobody had named it.
    pub provider: Option<String>,
    /// The language to write in, as a tag such as `DE`; that of the text where
    /// there is none, or one we do not know.
    pub language: Option<String>,
    /// True if the text was dictated.
    pub is_voice_input: bool,
    /// The user's own instructions. Those of a template of ours come first.
    pub custom_prompt: Option<String>,
    /// User's name for the instructions.
    pub custom_template_name: Option<String>,
}

/// A text that was improved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OptimizedText {
    /// The text.
    pub text: String,
    /// Usage, as the upstream reported or as we estimate.
    pub usage: Usage,
}

/// Improves texts.
#[derive(Clone)]
pub struct Optimize {
    gateway: Gateway,
}

impl Optimize {
    /// Improves texts through this gateway.
    pub fn new(gateway: Gateway) -> Self {
        Self { gateway }
    }

    /// Improves a text and gives it whole. An answer that is empty, or was cut
    /// off for its length, would lose what the user wrote: it is a failure, of
    /// the caller's budget where that left no room for all of it.
    pub async fn run(
        &self,
        caller: AiCaller,
        request: OptimizeRequest,
    ) -> Result<OptimizedText, AssistantError> {
        let prompt = self.prompt(&request)?;
        let requested = self.gateway.answer_full(caller, Mode::Optimize, prompt, ToolMode::Plainly);
        let FullAnswer { body, mut metered_call, .. } = requested.await?;
        let read = completion::parse(&body);
        let cut_off = read.as_ref().is_some_and(Completion::is_cut_off);
        let answer = read
            .filter(|_| !cut_off)
            .map(|it| unfenced(&it.text).to_owned())
            .filter(|it| !it.is_empty());
        let Some(text) = answer else {
            tracing::warn!(
                upstream.model = metered_call.target.model,
                "upstream model returned no text, or truncated text"
            );
            return Err(metered_call.fail_incomplete(cut_off));
        };
        metered_call.end = CallEnd::Completed;
        Ok(OptimizedText { text, usage: metered_call.used() })
    }

    /// Improves a text and gives it as it comes, in chunks of OpenAI's shape;
    /// the last one reports usage.
    pub async fn stream(
        &self,
        caller: AiCaller,
        request: OptimizeRequest,
    ) -> Result<ChatStream, AssistantError> {
        let prompt = self.prompt(&request)?;
        let how = (ToolMode::Plainly, UsageChunks::Sent);
        self.gateway.stream(caller, Mode::Optimize, prompt, how).await
    }

    fn prompt(&self, request: &OptimizeRequest) -> Result<UpstreamPrompt, AssistantError> {
        let limit = self.gateway.settings.get().max_optimize_text;
        if utf16_len(&request.text) > limit {
            return Err(AssistantError::TextTooLong { limit });
        }
        let mut wrong = Vec::new();
        let text = clean(&request.text);
        if text.trim().is_empty() {
            wrong.push(Violation::new("text", "required", "The text is missing."));
        }
        let task = task(request, &mut wrong);
        if !wrong.is_empty() {
            return Err(AssistantError::Invalid(wrong));
        }
        let origin = if request.is_voice_input { TextOrigin::Spoken } else { TextOrigin::Typed };
        let language = request.language.as_deref().and_then(languages::named);
        let model = non_blank(request.provider.as_ref()).map(str::to_owned);
        let wish = ModelHint { model, ..ModelHint::default() };
        Ok(UpstreamPrompt { model_hint: wish, ..prompt(&text, &task, origin, language) })
    }
}

/// A template of ours, or else the user's own instructions. The id of a
/// template that is neither is an error, not the default: the user would get
/// another text than they requested, and not know why.
fn task(request: &OptimizeRequest, wrong: &mut Vec<Violation>) -> OptimizeTask {
    let named = non_blank(request.template.as_ref());
    if let Some(prompt) = named.and_then(built_in) {
        return OptimizeTask::BuiltIn(prompt);
    }
    let wishes = request.custom_prompt.as_deref().map(clean).unwrap_or_default();
    if wishes.trim().is_empty() {
        if named.is_some() {
            let message = "No such template, and no instructions were given.";
            wrong.push(Violation::new("templateId", "unknown_template", message));
        }
        return OptimizeTask::BuiltIn(DEFAULT.prompt);
    }
    let name = request.custom_template_name.as_deref().map(clean).unwrap_or_default();
    check_length("customPrompt", &wishes, MAX_PROMPT_CHARS, wrong);
    check_length("customTemplateName", &name, MAX_NAME_CHARS, wrong);
    // A name is one line, and cannot end its quotation.
    let name = name.replace('"', " ").split_whitespace().collect::<Vec<_>>().join(" ");
    OptimizeTask::Custom { name, wishes }
}

fn non_blank(value: Option<&String>) -> Option<&str> {
    value.map(|it| it.trim()).filter(|it| !it.is_empty())
}

fn built_in(named: &str) -> Option<&'static str> {
    let id = Uuid::try_parse(named).ok();
    let found =
        templates().iter().find(|it| id == Some(it.id) || it.name.eq_ignore_ascii_case(named))?;
    Some(found.prompt)
}

fn check_length(field: &str, value: &str, max: usize, wrong: &mut Vec<Violation>) {
    if utf16_len(value) > max {
        let message = format!("{field} must not be longer than {max} characters.");
        wrong.push(Violation::new(field, "too_long", message));
    }
}

#[cfg(test)]
#[path = "optimize_tests.rs"]
mod tests;
