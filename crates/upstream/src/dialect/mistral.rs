//! Provider type Mistral: chat completions, or an agent's, with a few words of
//! its own, and contents in chunks of several types.

mod answer;
mod request;

use pia_assistant::{ChatCall, UpstreamError};

pub(super) use answer::{Stream, whole};

use super::{Form, Prepared, address};

/// The tool of Mistral's own that we ask for.
const WEB_SEARCH: &str = "web_search";

pub(super) fn prepare(call: ChatCall, streamed: bool) -> Result<Prepared, UpstreamError> {
    let path = match call.target.agent {
        Some(_) => "/agents/completions",
        None => "/chat/completions",
    };
    let (url, headers) = (address::below_version(&call, path), address::bearer(&call.key)?);
    let (body, search) = request::body(call, streamed)?;
    Ok(Prepared { url, headers, body, form: Form::Mistral(search) })
}
