//! Provider type Mistral: chat completions, or an agent's, with some parameters
//! of its own, and contents in chunks of several types.

mod answer;
mod request;

use pia_assistant::{ChatCall, UpstreamError};

pub(super) use answer::{Stream, mistral_full_response};

use super::{PreparedRequest, ResponseFormat, ResponseMode, address};

/// Built-in tool of Mistral that is requested.
const WEB_SEARCH: &str = "web_search";

pub(super) fn prepare(
    call: &ChatCall,
    mode: ResponseMode,
) -> Result<PreparedRequest, UpstreamError> {
    let path = match call.target.agent {
        Some(_) => "/agents/completions",
        None => "/chat/completions",
    };
    let url = address::join_versioned_path(&call.target, path);
    let headers = address::bearer(&call.key)?;
    let (body, search) = request::body(call, mode)?;
    Ok(PreparedRequest { url, headers, body, format: ResponseFormat::Mistral(search) })
}
