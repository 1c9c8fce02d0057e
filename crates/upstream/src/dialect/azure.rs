//! Provider type `AzureOpenAI`: OpenAI's models as deployments.

use http::HeaderName;
use pia_assistant::{CapName, ChatCall, ModelCall, Target, UpstreamError};
use url::Url;

use super::ending::BodySuffix;
use super::{PreparedRequest, ResponseFormat, ResponseMode, address};

const API_KEY: HeaderName = HeaderName::from_static("api-key");

pub(super) fn prepare(
    call: &ChatCall,
    mode: ResponseMode,
) -> Result<PreparedRequest, UpstreamError> {
    // The deployment is part of the URL and replaces the model.
    let ending = BodySuffix::default()
        .cap(call.max_output, CapName::MaxCompletionTokens)
        .effort(call.effort)
        .response_mode(mode);
    Ok(PreparedRequest {
        url: url(&call.target, &["chat", "completions"])?,
        headers: address::with_key(&call.key, API_KEY, "")?,
        body: ending.close(&call.body),
        format: ResponseFormat::Common,
    })
}

/// Prepares a request for embeddings of a deployment.
pub(super) fn embeddings(call: ModelCall) -> Result<PreparedRequest, UpstreamError> {
    Ok(PreparedRequest {
        url: url(&call.target, &["embeddings"])?,
        headers: address::with_key(&call.key, API_KEY, "")?,
        body: BodySuffix::default().close_members(call.body),
        format: ResponseFormat::Common,
    })
}

fn url(target: &Target, operation: &[&str]) -> Result<String, UpstreamError> {
    let invalid = || UpstreamError::Unreachable("its endpoint is no URL".to_owned());
    let mut url = Url::parse(&target.endpoint).map_err(|_invalid| invalid())?;
    let has_root = url.path().trim_end_matches('/').ends_with("/openai");
    let deployment = target.deployment.as_deref().unwrap_or(&target.model);

    {
        let mut path = url.path_segments_mut().map_err(|()| invalid())?;
        path.pop_if_empty();
        if !has_root {
            path.push("openai");
        }
        path.extend(["deployments", deployment]).extend(operation);
    }

    if let Some(version) = &target.api_version {
        url.query_pairs_mut().append_pair("api-version", version);
    }

    Ok(url.into())
}
