//! Provider type `VLlm`: vLLM's server. Its reasoning comes as `reasoning`, in
//! older versions as `reasoning_content`, and callers read both.

use pia_assistant::{CapName, ChatCall, ReasoningEffort, UpstreamError};

use super::ending::BodySuffix;
use super::{PreparedRequest, ResponseFormat, ResponseMode, address};

/// Parameters that disable reasoning; a model's template knows one of the two names.
const NO_THINKING: &str = r#"{"enable_thinking":false,"thinking":false}"#;

pub(super) fn prepare(
    call: &ChatCall,
    mode: ResponseMode,
) -> Result<PreparedRequest, UpstreamError> {
    let capped = BodySuffix::model(&call.target.model).cap(call.max_output, CapName::MaxTokens);
    let ending = match call.effort {
        Some(ReasoningEffort::None) => capped.member("chat_template_kwargs", NO_THINKING),
        effort => capped.effort_of_three(effort),
    };
    Ok(PreparedRequest {
        url: address::join_versioned_path(&call.target, "/chat/completions"),
        headers: address::bearer(&call.key)?,
        body: ending.response_mode(mode).close(&call.body),
        format: ResponseFormat::Common,
    })
}
