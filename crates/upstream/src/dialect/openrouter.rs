//! Provider type `OpenRouter`: OpenAI's chat completions with `reasoning` and
//! plugins, and with errors within responses that began successfully.

use bytes::Bytes;
use memchr::memmem;
use pia_assistant::{CapName, ChatCall, UpstreamError};
use serde_json::{Value, json};

use super::cited::{self, CitationTranslator};
use super::ending::{BodySuffix, effort_json};
use super::reply::{Translate, TranslatedFrames, refusal};
use super::{PreparedRequest, ResponseFormat, ResponseMode, SearchMode, address};

pub(super) fn prepare(
    call: &ChatCall,
    mode: ResponseMode,
) -> Result<PreparedRequest, UpstreamError> {
    let mut ending =
        BodySuffix::model(&call.target.model).cap_as(call.max_output, CapName::MaxTokens);
    if let Some(effort) = call.effort {
        ending = ending.member("reasoning", &format!(r#"{{"effort":{}}}"#, effort_json(effort)));
    }

    let search = SearchMode::for_target(&call.target);
    if search == SearchMode::On {
        ending = ending.member("plugins", r#"[{"id":"web"}]"#);
    }

    Ok(PreparedRequest {
        url: address::join_path(&call.target, "/chat/completions"),
        headers: address::bearer(&call.key)?,
        body: ending.response_mode(mode).close(&call.body),
        format: ResponseFormat::OpenRouter(search),
    })
}

/// Corrects the status of a refusal of tools: if no provider of a model accepts
/// tools, `OpenRouter` reports the model as not found.
pub(super) fn correct_refusal(err: UpstreamError) -> UpstreamError {
    match err {
        UpstreamError::Refused { status: 404, retry_after, body }
            if memmem::find(&body, b"support tool use").is_some() =>
        {
            UpstreamError::Refused { status: 400, retry_after, body }
        }
        unchanged => unchanged,
    }
}

/// Translation of a stream, which may end with an error.
#[derive(Debug)]
pub(super) struct Stream(Option<CitationTranslator>);

impl Stream {
    pub(super) fn new(search: SearchMode) -> Self {
        Self((search == SearchMode::On).then(CitationTranslator::default))
    }
}

impl Translate for Stream {
    fn event(&mut self, json: &Bytes, first: bool, output: &mut TranslatedFrames) {
        let Ok(event) = serde_json::from_slice::<Value>(json) else {
            return output.push_upstream_event(json);
        };
        match error_in(&event) {
            Some(error) => output.push_error(status_of(&error), &error, first),
            None => match &mut self.0 {
                Some(cited) => cited.event(json, first, output),
                None => output.push_upstream_event(json),
            },
        }
    }

    fn done(&mut self, output: &mut TranslatedFrames) {
        match &mut self.0 {
            Some(cited) => cited.done(output),
            None => output.frames.push_back(pia_assistant::Frame::Done),
        }
    }
}

pub(super) fn openrouter_full_response(answer: Bytes) -> Result<Bytes, UpstreamError> {
    let error = serde_json::from_slice::<Value>(&answer).ok().as_ref().and_then(error_in);
    match error {
        Some(error) => Err(refusal(status_of(&error).unwrap_or(502), &error)),
        None => Ok(cited::link_citations(answer)),
    }
}

/// Returns the error of a response: its own, that of a choice, or one that only
/// the finish reason reports.
fn error_in(answer: &Value) -> Option<Value> {
    if let Some(error) = answer.get("error")
        && !error.is_null()
    {
        return Some(error.clone());
    }

    let choices = answer.get("choices").and_then(Value::as_array)?;
    if let Some(error) = choices.iter().find_map(|choice| choice.get("error"))
        && !error.is_null()
    {
        return Some(error.clone());
    }

    let mut reasons = choices.iter().filter_map(|choice| choice.get("finish_reason"));
    reasons.any(|reason| reason == "error").then(|| json!({ "type": "upstream_error" }))
}

fn status_of(error: &Value) -> Option<u16> {
    let code = error.get("code")?;
    let status = code.as_u64().or_else(|| code.as_str()?.parse().ok())?;
    u16::try_from(status).ok().filter(|it| (400..=599).contains(it))
}
