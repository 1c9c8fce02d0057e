//! Optimisation of texts.
//!
//! A request is cleaned (`sanitise.rs`), its task is a template or the user's instructions,
//! and `prompt.rs` fences both, so that neither gives orders to the model. `drafting.rs`
//! writes such instructions from a description.

pub(crate) mod drafting;
pub(crate) mod languages;
pub(crate) mod prompt;
pub(crate) mod sanitise;
pub(crate) mod templates;

use pia_kernel::utf16_len;
use uuid::Uuid;

use crate::ai_caller::AiCaller;
use crate::answering::{ChatStreamOptions, FullAnswer};
use crate::credits::metered_call::CallEnd;
use crate::credits::usage::Usage;
use crate::error::{AssistantError, Violation};
use crate::gateway::Gateway;
use crate::optimize::prompt::{OptimizeTask, TextOrigin, prompt};
use crate::optimize::sanitise::{clean, strip_fence};
use crate::optimize::templates::{DEFAULT, templates};
use crate::request::prompt_body::{ModelHint, UpstreamPrompt};
use crate::routing::target::Mode;
use crate::stream::answer::{ChatStream, UsageChunks};
use crate::stream::completion::{self, Completion};
use crate::turn::ToolMode;

/// Maximum length of a user's instructions in UTF-16 code units.
const MAX_PROMPT_CHARS: usize = 20_000;
/// Maximum length of their name in UTF-16 code units.
const MAX_NAME_CHARS: usize = 255;

/// Request to optimise a text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OptimizeRequest {
    /// Text to optimise, as the user typed or dictated it.
    pub text: String,
    /// Id or name of a built-in template, or the id of the user's own; the
    /// default one if absent.
    pub template: Option<String>,
    /// Catalogue entry of the model. It is ignored unless the caller's group
    /// may choose it.
    pub provider: Option<String>,
    /// Target language, as a tag such as `DE`; that of the text if absent or
    /// unknown.
    pub language: Option<String>,
    /// Set if the text was dictated.
    pub is_voice_input: bool,
    /// User's instructions. A built-in template takes precedence.
    pub custom_prompt: Option<String>,
    /// User's name for the instructions.
    pub custom_template_name: Option<String>,
}

/// Optimised text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OptimizedText {
    /// Improved text, without a fence around it.
    pub text: String,
    /// Usage, as reported by the upstream or estimated.
    pub usage: Usage,
}

/// Optimiser of texts.
#[derive(Clone)]
pub struct Optimize {
    gateway: Gateway,
}

impl Optimize {
    /// Creates an optimiser that calls models through this gateway.
    pub fn new(gateway: Gateway) -> Self {
        Self { gateway }
    }

    /// Improves a text and returns it in full. A response that is empty, or was
    /// cut off for its length, would lose the user's text: it is an error, of
    /// the caller's budget if that shortened it.
    pub async fn run(
        &self,
        caller: AiCaller,
        request: OptimizeRequest,
    ) -> Result<OptimizedText, AssistantError> {
        let prompt = self.prompt(&request)?;
        let call = self.gateway.answer_full(caller, Mode::Optimize, prompt, ToolMode::WithoutTools);
        let FullAnswer { body, mut metered_call, .. } = call.await?;
        let completion = completion::parse(&body);
        let cut_off = completion.as_ref().is_some_and(Completion::is_cut_off);
        let Some(text) = usable_text(completion) else {
            tracing::warn!(
                upstream.model = metered_call.target.model,
                "upstream model returned no text, or truncated text"
            );
            return Err(metered_call.fail_incomplete(cut_off));
        };

        metered_call.end = CallEnd::Completed;

        Ok(OptimizedText { text, usage: metered_call.usage() })
    }

    /// Improves a text and streams it, in chunks of OpenAI's format; the last
    /// one has usage.
    pub async fn stream(
        &self,
        caller: AiCaller,
        request: OptimizeRequest,
    ) -> Result<ChatStream, AssistantError> {
        let prompt = self.prompt(&request)?;
        let options =
            ChatStreamOptions { tool_mode: ToolMode::WithoutTools, usage: UsageChunks::Included };
        self.gateway.stream(caller, Mode::Optimize, prompt, options).await
    }

    /// Returns the prompt of a valid request. A text that is too long is not even cleaned.
    fn prompt(&self, request: &OptimizeRequest) -> Result<UpstreamPrompt, AssistantError> {
        let limit = self.gateway.settings.get().max_optimize_text;
        if utf16_len(&request.text) > limit {
            return Err(AssistantError::TextTooLong { limit });
        }

        let mut violations = Vec::new();
        let text = clean(&request.text);
        if text.trim().is_empty() {
            violations.push(Violation::new("text", "required", "The text is missing."));
        }

        let task = parse_task(request, &mut violations);
        if !violations.is_empty() {
            return Err(AssistantError::Invalid(violations));
        }

        let origin = if request.is_voice_input { TextOrigin::Spoken } else { TextOrigin::Typed };
        let language = request.language.as_deref().and_then(languages::name_of);
        let model = non_blank(request.provider.as_ref()).map(str::to_owned);
        let model_hint = ModelHint { model, ..ModelHint::default() };

        Ok(UpstreamPrompt { model_hint, ..prompt(&text, &task, origin, language) })
    }
}

/// Returns the text of a response without its fence; `None` if it is missing,
/// empty or cut off.
fn usable_text(completion: Option<Completion>) -> Option<String> {
    let completion = completion.filter(|it| !it.is_cut_off())?;
    let text = strip_fence(&completion.text);
    (!text.is_empty()).then(|| text.to_owned())
}

/// Returns the task: a built-in template, or else the user's instructions. An
/// unknown template without instructions is an error and not the default: the
/// user would get another text than requested without knowing why.
fn parse_task(request: &OptimizeRequest, violations: &mut Vec<Violation>) -> OptimizeTask {
    let template = non_blank(request.template.as_ref());
    if let Some(prompt) = template.and_then(built_in) {
        return OptimizeTask::BuiltIn(prompt);
    }

    let instructions = request.custom_prompt.as_deref().map(clean).unwrap_or_default();
    if instructions.trim().is_empty() {
        if template.is_some() {
            let message = "No such template, and no instructions were given.";
            violations.push(Violation::new("templateId", "unknown_template", message));
        }
        return OptimizeTask::BuiltIn(DEFAULT.prompt);
    }

    let name = request.custom_template_name.as_deref().map(clean).unwrap_or_default();
    check_length("customPrompt", &instructions, MAX_PROMPT_CHARS, violations);
    check_length("customTemplateName", &name, MAX_NAME_CHARS, violations);
    // A name is one line, and cannot end its quotation.
    let quotable_name = name.replace('"', " ").split_whitespace().collect::<Vec<_>>().join(" ");
    OptimizeTask::Custom { name: quotable_name, instructions }
}

fn non_blank(value: Option<&String>) -> Option<&str> {
    value.map(|it| it.trim()).filter(|it| !it.is_empty())
}

/// Returns the prompt of the built-in template with this id or name.
fn built_in(id_or_name: &str) -> Option<&'static str> {
    let id = Uuid::try_parse(id_or_name).ok();
    let template = templates()
        .iter()
        .find(|it| id == Some(it.id) || it.name.eq_ignore_ascii_case(id_or_name))?;
    Some(template.prompt)
}

fn check_length(field: &str, value: &str, max: usize, violations: &mut Vec<Violation>) {
    if utf16_len(value) > max {
        let message = format!("{field} must not be longer than {max} characters.");
        violations.push(Violation::new(field, "too_long", message));
    }
}

#[cfg(test)]
#[path = "optimize_tests.rs"]
mod tests;
