//! Provider type Anthropic: the Messages API, whose format differs in every
//! respect. Requests are translated into it without copying large parts, and
//! responses are translated into the common format.

mod answer;
mod request;
mod stream;
mod thinking;
mod turns;

use http::{HeaderName, HeaderValue};
use pia_assistant::{ChatCall, UpstreamError};

pub(super) use answer::anthropic_full_response;
pub(super) use stream::Stream;

use super::{PreparedRequest, ResponseFormat, ResponseMode, address};

const API_KEY: HeaderName = HeaderName::from_static("x-api-key");
const VERSION: HeaderName = HeaderName::from_static("anthropic-version");

pub(super) fn prepare(
    call: &ChatCall,
    mode: ResponseMode,
) -> Result<PreparedRequest, UpstreamError> {
    let mut headers = address::with_key(&call.key, API_KEY, "")?;
    headers.insert(VERSION, HeaderValue::from_static("2023-06-01"));
    Ok(PreparedRequest {
        url: address::join_versioned_path(&call.target, "/messages"),
        headers,
        body: request::body(call, mode)?,
        format: ResponseFormat::Anthropic,
    })
}
