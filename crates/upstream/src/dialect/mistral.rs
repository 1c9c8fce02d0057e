//! Provider type Mistral: chat completions, or an agent's, with a few words of
//! its own, and contents in chunks of several types.

mod answer;
mod request;

use pia_assistant::{ChatCall, UpstreamError};

pub(super) use answer::{Stream, whole};

use super::{Form, Prepared, Search, address};

pub(super) fn prepare(call: ChatCall, streamed: bool) -> Result<Prepared, UpstreamError> {
    let path = match call.target.agent {
        Some(_) => "/agents/completions",
        None => "/chat/completions",
    };
    Ok(Prepared {
        url: address::below_version(&call, path),
        headers: address::bearer(&call.key)?,
        form: Form::Mistral(Search::of(&call)),
        body: request::body(call, streamed)?,
    })
}
