//! Provider type Ollama, by its OpenAI-compatible API: its own has another form
//! of streams. Reasoning comes as `reasoning`, which callers read.

use pia_assistant::{CapName, ChatCall, UpstreamError};

use super::ending::Ending;
use super::{Form, Prepared, address};

pub(super) fn prepare(call: ChatCall, streamed: bool) -> Result<Prepared, UpstreamError> {
    let ending = Ending::model(&call.target.model)
        .cap_as(call.max_output, CapName::MaxTokens)
        .effort_of_three(call.effort)
        .streamed(streamed);
    Ok(Prepared {
        url: address::below_version(&call, "/chat/completions"),
        headers: address::bearer(&call.key)?,
        body: ending.close(call.body),
        form: Form::Common,
    })
}
