//! Provider type Ollama, through its OpenAI-compatible API: its own has another
//! stream format. Reasoning comes as `reasoning`, which callers read.

use pia_assistant::{CapName, ChatCall, UpstreamError};

use super::ending::BodySuffix;
use super::{PreparedRequest, ResponseFormat, ResponseMode, address};

pub(super) fn prepare(
    call: &ChatCall,
    mode: ResponseMode,
) -> Result<PreparedRequest, UpstreamError> {
    let ending = BodySuffix::model(&call.target.model)
        .cap_as(call.max_output, CapName::MaxTokens)
        .effort_of_three(call.effort)
        .response_mode(mode);
    Ok(PreparedRequest {
        url: address::join_versioned_path(&call.target, "/chat/completions"),
        headers: address::bearer(&call.key)?,
        body: ending.close(&call.body),
        format: ResponseFormat::Common,
    })
}
