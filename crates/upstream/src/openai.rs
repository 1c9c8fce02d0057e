//! Provider type OpenAI: chat completions below the endpoint, with a bearer.

use async_openai::config::Config;
use http::{HeaderMap, HeaderValue, header};
use pia_assistant::{ChatCall, UpstreamError};
use secrecy::SecretString;

/// Where and as whom a target is called.
///
/// Not async-openai's own `OpenAIConfig`: that one takes what it is not given
/// from the environment, and panics at a key that no header may carry.
pub(crate) struct OpenAi {
    base: String,
    key: SecretString,
    headers: HeaderMap,
}

impl OpenAi {
    pub(crate) fn new(call: &ChatCall) -> Result<Self, UpstreamError> {
        let (target, key) = (&call.target, call.key.expose());
        let mut headers = HeaderMap::new();
        if !key.is_empty() {
            let mut bearer =
                HeaderValue::try_from(format!("Bearer {key}")).map_err(|_invalid| {
                    UpstreamError::Unreachable("its key cannot be sent in a header".to_owned())
                })?;
            bearer.set_sensitive(true);
            headers.insert(header::AUTHORIZATION, bearer);
        }
        let base = target.endpoint.trim_end_matches('/').to_owned();
        Ok(Self { base, key: key.clone().into(), headers })
    }
}

impl Config for OpenAi {
    fn headers(&self) -> HeaderMap {
        self.headers.clone()
    }

    fn url(&self, path: &str) -> String {
        format!("{}{path}", self.base)
    }

    fn query(&self) -> Vec<(&str, &str)> {
        Vec::new()
    }

    fn api_base(&self) -> &str {
        &self.base
    }

    fn api_key(&self) -> &SecretString {
        &self.key
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use pia_assistant::{ProviderType, Target};
    use pia_kernel::Secret;

    use super::*;

    fn called(key: &str) -> ChatCall {
        let target = Target::new(ProviderType::OpenAi, "https://models.example/v1/", "m");
        ChatCall {
            target: Arc::new(target),
            key: Secret::new(key.to_owned()),
            body: Vec::new(),
            max_output: None,
            effort: None,
        }
    }

    #[test]
    fn the_key_is_in_the_authorization_header_and_hidden_from_debug() {
        let config = OpenAi::new(&called("sk-1")).unwrap();

        let headers = config.headers();

        assert_eq!(headers[header::AUTHORIZATION], "Bearer sk-1");
        assert!(!format!("{headers:?}").contains("sk-1"));
        assert_eq!(config.url("/chat/completions"), "https://models.example/v1/chat/completions");
    }

    #[test]
    fn an_upstream_that_wants_no_key_gets_none() {
        assert!(OpenAi::new(&called("")).unwrap().headers().is_empty());
    }

    #[test]
    fn a_key_that_no_header_may_carry_is_an_error_that_does_not_tell_it() {
        let err = OpenAi::new(&called("sk\n1")).err().unwrap();

        assert!(!err.to_string().contains("sk"), "{err}");
    }
}
