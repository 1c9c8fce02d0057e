//! Embeddings of texts.
//!
//! A request names its model, which must be an embedding model that the group may choose.
//! The call is admitted and metered like a chat, then sent by `single_call.rs`.

mod background;
mod response;

use std::borrow::Cow;
use std::fmt::Write as _;
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
    text: PromptText,
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
            prompt: request.text,
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
    let mut violations = Vec::new();
    let model: Option<String> = parse_member(request.model).filter(|it: &String| !it.is_empty());
    if model.is_none() {
        violations.push(Violation::new("model", "required", "`model` must be a string."));
    }

    let input = parse_member::<Input<'_>>(request.input)
        .and_then(|input| input.text().map(|text| (text, input.count())));
    if input.is_none() {
        let message = "Must be a non-empty string, a list of 1 to 2048 of them, or tokens.";
        violations.push(Violation::new("input", "invalid", message));
    }

    let mut open_body = format!("{{\"input\":{}", request.input.map_or("null", RawValue::get));
    if let Some(format) = request.encoding_format.filter(|it| it.get() != "null") {
        if !["\"float\"", "\"base64\""].contains(&format.get()) {
            let message = "The formats are `float` and `base64`.";
            violations.push(Violation::new("encoding_format", "invalid", message));
        }
        // Writing to a string cannot fail.
        let _infallible = write!(open_body, ",\"encoding_format\":{}", format.get());
    }

    if let Some(dimensions_json) = request.dimensions.filter(|it| it.get() != "null") {
        match parse_member::<u16>(Some(dimensions_json)).filter(|it| *it > 0) {
            Some(dimensions) => {
                let _infallible = write!(open_body, ",\"dimensions\":{dimensions}");
            }
            None => violations.push(Violation::new(
                "dimensions",
                "invalid",
                "Give a number of dimensions, 1 to 65535.",
            )),
        }
    }

    let encoding = match request.encoding_format.map(RawValue::get) {
        Some(r#""base64""#) => VectorEncoding::Base64,
        _ => VectorEncoding::Floats,
    };
    let body = Bytes::from(open_body);

    match (model, input) {
        (Some(model), Some((text, inputs))) if violations.is_empty() => {
            Ok(CheckedRequest { model, text, inputs, encoding, body })
        }
        _ => Err(AssistantError::Invalid(violations)),
    }
}

fn parse_member<'a, T: Deserialize<'a>>(json: Option<&'a RawValue>) -> Option<T> {
    serde_json::from_str(json?.get()).ok()
}

impl Input<'_> {
    fn count(&self) -> usize {
        match self {
            Self::Text(_) | Self::Tokens(_) => 1,
            Self::Texts(texts) => texts.len(),
            Self::ManyTokens(inputs) => inputs.len(),
        }
    }

    /// Returns the text of the input, or `None` if a part is empty or there are too many.
    fn text(&self) -> Option<PromptText> {
        let mut prompt_text = PromptText::default();
        let mut count = |tokens: &[u32]| {
            let number = i64::try_from(tokens.len()).unwrap_or(i64::MAX);
            prompt_text.extra_tokens = prompt_text.extra_tokens.saturating_add(number);
            number > 0
        };
        let is_valid = match self {
            Self::Text(text) => {
                prompt_text.words.add(text.as_bytes());
                !text.is_empty()
            }
            Self::Texts(texts) => {
                for text in texts {
                    prompt_text.words.add(text.as_bytes());
                }
                (1..=MAX_INPUTS).contains(&texts.len()) && texts.iter().all(|it| !it.is_empty())
            }
            Self::Tokens(tokens) => count(tokens),
            Self::ManyTokens(inputs) => {
                let are_valid = inputs.iter().all(|it| count(it));
                are_valid && (1..=MAX_INPUTS).contains(&inputs.len())
            }
        };
        is_valid.then_some(prompt_text)
    }
}

#[cfg(test)]
#[path = "embeddings_tests.rs"]
mod tests;
