//! Provider type `OpenAICompatible`: whatever speaks OpenAI's chat completions,
//! with no word that such a server may not know.

use pia_assistant::{CapName, ChatCall, UpstreamError};

use super::ending::Ending;
use super::{Form, Prepared, address};

pub(super) fn prepare(call: ChatCall, streamed: bool) -> Result<Prepared, UpstreamError> {
    let effort = call.effort.filter(|_| call.target.takes_reasoning_effort);
    let ending = Ending::model(&call.target.model)
        .cap(call.max_output, CapName::MaxTokens)
        .effort(effort)
        .streamed(streamed);
    Ok(Prepared {
        url: address::below(&call, "/chat/completions"),
        headers: address::bearer(&call.key)?,
        body: ending.close(call.body),
        form: Form::Common,
    })
}
