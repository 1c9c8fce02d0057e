//! Embeddings of texts.
//!
//! A request names its model, which must be an embedding model that the group may choose.
//! The call is admitted and metered like a chat, then sent by `single_call.rs`.

mod background;
mod response;

use std::borrow::Cow;
use std::sync::Arc;

use bytes::Bytes;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::ai_caller::AiCaller;
use crate::credits::admission::{AdmittedCall, CallRequest};
use crate::credits::metered_call::{Billable, CallEnd, MeteredCall};
use crate::credits::rates::{Micros, Rates};
use crate::error::{AssistantError, Violation};
use crate::gateway::Gateway;
use crate::ports::ModelCall;
use crate::request::chat_request::malformed_error;
use crate::request::sample::PromptText;
use crate::routing::route::may_choose;
use crate::routing::target::{Mode, Target};
use crate::routing::upstream_limiter::CallDemand;
use crate::single_call::CallFailure;
use crate::stream;
use response::VectorEncoding;

pub(crate) use background::parse as parse_vectors;
pub use background::{BackgroundEmbeddings, TextVectors};

/// Maximum number of inputs; that of OpenAI's API.
const MAX_INPUTS: usize = 2048;

/// Embeddings from an embedding model.
///
/// There are no fallbacks: vectors of different models cannot be compared.
#[derive(Clone)]
pub struct Embeddings {
    gateway: Gateway,
}

/// Request in the format of OpenAI's embeddings; other members are dropped.
#[derive(Deserialize)]
struct Request<'a> {
    #[serde(borrow)]
    model: Option<&'a RawValue>,
    #[serde(borrow)]
    input: Option<&'a RawValue>,
    #[serde(borrow)]
    encoding_format: Option<&'a RawValue>,
    #[serde(borrow)]
    dimensions: Option<&'a RawValue>,
}

/// Input of a request.
#[derive(Deserialize)]
#[serde(untagged)]
enum Input<'a> {
    Text(Cow<'a, str>),
    Texts(Vec<Cow<'a, str>>),
    /// Text as tokens of its model.
    Tokens(Vec<u32>),
    ManyTokens(Vec<Vec<u32>>),
}

/// Validated request.
struct CheckedRequest {
    model: String,
    prompt: PromptText,
    /// Number of inputs, each of which gets a vector.
    inputs: usize,
    encoding: VectorEncoding,
    /// JSON object without the model and the closing brace.
    body: Bytes,
}

impl Embeddings {
    /// Creates embeddings that call models through this gateway.
    pub fn new(gateway: Gateway) -> Self {
        Self { gateway }
    }

    /// Answers a request in the format of OpenAI's embeddings, at the expense
    /// of the caller's budget. The upstream's response is returned unchanged,
    /// except for vectors in another encoding than the requested one.
    pub async fn answer(&self, caller: AiCaller, body: &[u8]) -> Result<Bytes, AssistantError> {
        let request = parse(body)?;
        let rules = self.gateway.rules.rules_of(caller.group).await?;
        let catalogue = self.gateway.catalogue.get();
        let target = match catalogue.embedder(&request.model) {
            Some(target) if may_choose(&rules, &request.model) => Arc::clone(target),
            _ => return Err(AssistantError::UnknownModel),
        };

        let call_request = CallRequest {
            caller,
            mode: caller.mode.unwrap_or(Mode::Assistant),
            rules: &rules,
            target: Arc::clone(&target),
            rates: reservation_rates(target.rates),
            fee: Micros(0),
            prompt: request.prompt,
            max_output: None,
        };

        let AdmittedCall { mut metered_call, prompt: tokens, .. } =
            self.gateway.admit(call_request).await?;
        let max_wait = self.gateway.settings.get().max_wait;
        let demand = CallDemand { group: caller.group, tokens };
        // Budgets are checked before the queue: who has none left does not wait in it.
        match self.gateway.acquire_permit(&target, demand, max_wait).await {
            Ok(permit) => metered_call.permit = Some(permit),
            Err(err) => {
                metered_call.fail(Billable::Nothing);
                return Err(err);
            }
        }

        match call(&self.gateway, &target, &request.body).await {
            Ok(answer) => complete(answer, metered_call, request.inputs, request.encoding),
            Err(CallFailure { error, cost }) => {
                metered_call.fail(cost);
                Err(error)
            }
        }
    }
}

/// Calls an embedding model with each of its keys until one is accepted.
async fn call(gateway: &Gateway, target: &Arc<Target>, body: &Bytes) -> Result<Bytes, CallFailure> {
    let send = |key| {
        let target = Arc::clone(target);
        let body = body.clone();
        gateway.upstream.embed(ModelCall { target, key, body })
    };
    gateway.call_with_keys(target, send).await
}

/// Returns the rates to reserve at: the model may count twice our tokens.
/// Vectors cost nothing.
fn reservation_rates(rates: Rates) -> Rates {
    Rates { input: rates.input.saturating_mul(2), output: 0, ..rates }
}

/// Returns the response if it has a vector for each input. The usage that the
/// upstream reports is trusted.
fn complete(
    body: Bytes,
    mut metered_call: MeteredCall,
    inputs: usize,
    encoding: VectorEncoding,
) -> Result<Bytes, AssistantError> {
    metered_call.meter.reported = stream::completion::usage(&body);
    let Some(answer) = response::encode(body, inputs, encoding) else {
        tracing::warn!(
            upstream.model = metered_call.target.model,
            "upstream response has no embeddings"
        );
        let has_usage = metered_call.meter.reported.is_some();
        metered_call.fail(if has_usage { Billable::Something } else { Billable::Nothing });
        return Err(AssistantError::UpstreamFailed);
    };

    metered_call.end = CallEnd::Completed;

    Ok(answer)
}

fn parse(body: &[u8]) -> Result<CheckedRequest, AssistantError> {
    let request: Request<'_> = serde_json::from_slice(body).map_err(|err| malformed_error(&err))?;
    let model = parse_model(request.model);
    let input = parse_input(request.input);
    let encoding = parse_encoding(request.encoding_format);
    let dimensions = check_dimensions(request.dimensions);

    match (model, input, encoding, dimensions) {
        (Ok(model), Ok(input), Ok(encoding), Ok(())) => Ok(CheckedRequest {
            model,
            prompt: input.prompt_text(),
            inputs: input.count(),
            encoding,
            body: write_body(&request),
        }),
        (model, input, encoding, dimensions) => {
            let errors = [model.err(), input.err(), encoding.err(), dimensions.err()];
            Err(AssistantError::Invalid(errors.into_iter().flatten().collect()))
        }
    }
}

fn parse_model(json: Option<&RawValue>) -> Result<String, Violation> {
    parse_member(json)
        .filter(|it: &String| !it.is_empty())
        .ok_or_else(|| Violation::new("model", "required", "`model` must be a string."))
}

fn parse_input(json: Option<&RawValue>) -> Result<Input<'_>, Violation> {
    parse_member(json).filter(Input::is_valid).ok_or_else(|| {
        let message = "Must be a non-empty string, a list of 1 to 2048 of them, or tokens.";
        Violation::new("input", "invalid", message)
    })
}

/// Parses the encoding; vectors are floats unless another one is requested.
fn parse_encoding(json: Option<&RawValue>) -> Result<VectorEncoding, Violation> {
    match json.map(RawValue::get) {
        None | Some(r#""float""#) => Ok(VectorEncoding::Floats),
        Some(r#""base64""#) => Ok(VectorEncoding::Base64),
        Some(_) => {
            let message = "The formats are `float` and `base64`.";
            Err(Violation::new("encoding_format", "invalid", message))
        }
    }
}

fn check_dimensions(json: Option<&RawValue>) -> Result<(), Violation> {
    if json.is_none() || parse_member::<u16>(json).is_some_and(|it| it > 0) {
        return Ok(());
    }

    let message = "Give a number of dimensions, 1 to 65535.";
    Err(Violation::new("dimensions", "invalid", message))
}

/// Returns the value of a member; `None` if it is missing or of another type.
fn parse_member<'a, T: Deserialize<'a>>(json: Option<&'a RawValue>) -> Option<T> {
    serde_json::from_str(json?.get()).ok()
}

/// Returns the body for the upstream, as `CheckedRequest::body` describes it.
fn write_body(request: &Request<'_>) -> Bytes {
    let members: Vec<String> = [
        ("input", request.input),
        ("encoding_format", request.encoding_format),
        ("dimensions", request.dimensions),
    ]
    .into_iter()
    .filter_map(|(name, json)| Some(format!("\"{name}\":{}", json?.get())))
    .collect();
    Bytes::from(format!("{{{}", members.join(",")))
}

impl Input<'_> {
    /// Returns whether there are 1 to `MAX_INPUTS` inputs, and none of them is empty.
    fn is_valid(&self) -> bool {
        let has_empty_input = match self {
            Self::Text(text) => text.is_empty(),
            Self::Texts(texts) => texts.iter().any(|it| it.is_empty()),
            Self::Tokens(tokens) => tokens.is_empty(),
            Self::ManyTokens(inputs) => inputs.iter().any(Vec::is_empty),
        };
        !has_empty_input && (1..=MAX_INPUTS).contains(&self.count())
    }

    /// Returns the number of inputs.
    fn count(&self) -> usize {
        match self {
            Self::Text(_) | Self::Tokens(_) => 1,
            Self::Texts(texts) => texts.len(),
            Self::ManyTokens(inputs) => inputs.len(),
        }
    }

    /// Returns the text, from which tokens are estimated; tokens are counted exactly.
    fn prompt_text(&self) -> PromptText {
        match self {
            Self::Text(text) => PromptText::from_words(&[text.as_ref()]),
            Self::Texts(texts) => {
                let words: Vec<&str> = texts.iter().map(AsRef::as_ref).collect();
                PromptText::from_words(&words)
            }
            Self::Tokens(tokens) => text_of_tokens(tokens.len()),
            Self::ManyTokens(inputs) => text_of_tokens(inputs.iter().map(Vec::len).sum()),
        }
    }
}

/// Returns a prompt of tokens alone.
fn text_of_tokens(count: usize) -> PromptText {
    let extra_tokens = i64::try_from(count).unwrap_or(i64::MAX);
    PromptText { extra_tokens, ..PromptText::default() }
}

#[cfg(test)]
#[path = "embeddings_tests.rs"]
mod tests;
