//! Provider type `OpenAICompatible`: any server with OpenAI's chat completions,
//! without parameters that it may not know.

use pia_assistant::{CapName, ChatCall, UpstreamError};

use super::ending::BodySuffix;
use super::{PreparedRequest, ResponseFormat, ResponseMode, address};

pub(super) fn prepare(
    call: &ChatCall,
    mode: ResponseMode,
) -> Result<PreparedRequest, UpstreamError> {
    let effort = if call.target.takes_reasoning_effort { call.effort } else { None };
    let ending = BodySuffix::model(&call.target.model)
        .cap(call.max_output, CapName::MaxTokens)
        .effort(effort)
        .response_mode(mode);
    Ok(PreparedRequest {
        url: address::join_path(&call.target, "/chat/completions"),
        headers: address::bearer(&call.key)?,
        body: ending.close(&call.body),
        format: ResponseFormat::Common,
    })
}
