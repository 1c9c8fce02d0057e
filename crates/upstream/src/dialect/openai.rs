//! Provider type OpenAI: chat completions below the endpoint, with a bearer
//! token.

use pia_assistant::{CapName, ChatCall, UpstreamError};

use super::ending::BodySuffix;
use super::{PreparedRequest, ResponseFormat, ResponseMode, address};

pub(super) fn prepare(
    call: &ChatCall,
    mode: ResponseMode,
) -> Result<PreparedRequest, UpstreamError> {
    let mut ending = BodySuffix::model(&call.target.model)
        .cap(call.max_output, CapName::MaxCompletionTokens)
        .effort(call.effort);
    let mut format = ResponseFormat::Common;

    // Only search models accept this option, and they always search.
    if call.target.web_search {
        ending = ending.member("web_search_options", "{}");
        format = ResponseFormat::Cited;
    }

    Ok(PreparedRequest {
        url: address::join_path(&call.target, "/chat/completions"),
        headers: address::bearer(&call.key)?,
        body: ending.response_mode(mode).close(&call.body),
        format,
    })
}
