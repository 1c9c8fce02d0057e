//! Provider type OpenAI: chat completions below the endpoint, with a bearer.

use pia_assistant::{CapName, ChatCall, UpstreamError};

use super::ending::Ending;
use super::{Form, Prepared, address};

pub(super) fn prepare(call: ChatCall, streamed: bool) -> Result<Prepared, UpstreamError> {
    let ending = Ending::model(&call.target.model)
        .cap(call.max_output, CapName::MaxCompletionTokens)
        .effort(call.effort);
    // Only models made for it search; they always do.
    let (ending, form) = if call.target.web_search {
        (ending.member("web_search_options", "{}"), Form::Cited)
    } else {
        (ending, Form::Common)
    };
    Ok(Prepared {
        url: address::below(&call, "/chat/completions"),
        headers: address::bearer(&call.key)?,
        body: ending.streamed(streamed).close(call.body),
        form,
    })
}
