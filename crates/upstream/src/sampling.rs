//! Sampling parameters that models refuse.
//!
//! For each call `client.rs` applies `filter`, takes a `retry_copy`, sends, and reports
//! the outcome to `learn`, which returns the call without the refused parameters until
//! none is refused. A refusal is recognised by phrases in its text.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};

use pia_assistant::{ChatBody, ChatCall, SAMPLING, Target, UpstreamError};

/// Phrases by which upstreams refuse a parameter.
const UNSUPPORTED_PHRASES: [&str; 8] = [
    "unsupported",
    "not support",
    "deprecated",
    "not permitted",
    "not allowed",
    "only the default",
    "cannot both",
    "extra_forbidden",
];

/// Sampling parameters that models were found to refuse: `temperature`, `top_p`
/// or `top_k`, which callers send to any model. Shared by all workers of a
/// process, so that each model refuses each of them once.
#[derive(Debug, Default)]
pub struct SamplingSupport(Mutex<BTreeMap<String, ModelSampling>>);

/// Findings about a model.
#[derive(Debug, Default)]
struct ModelSampling {
    refused: BTreeSet<&'static str>,
    accepted: BTreeSet<&'static str>,
}

impl SamplingSupport {
    /// Returns the call without the parameters that its model is known to
    /// refuse.
    pub(crate) fn filter(&self, call: ChatCall) -> ChatCall {
        let mut refused: BTreeSet<_> = call.target.unsupported.iter().copied().collect();
        self.with_model(&call.target, |model| refused.extend(&model.refused));
        without_parameters(call, &refused)
    }

    /// Returns a copy to repeat if a parameter is refused, or `None` if the
    /// model is known to accept all of them, since the copy holds the entire
    /// call.
    pub(crate) fn retry_copy(&self, call: &ChatCall) -> Option<ChatCall> {
        let parameters = sampling_parameters(&call.body);
        let may_refuse = self.with_model(&call.target, |model| {
            parameters.iter().any(|it| !model.accepted.contains(it))
        });
        may_refuse.then(|| call.clone())
    }

    /// Records the outcome of a call. If parameters were refused, returns the
    /// call without them.
    pub(crate) fn learn<T>(
        &self,
        call: ChatCall,
        outcome: &Result<T, UpstreamError>,
    ) -> Option<ChatCall> {
        let parameters = sampling_parameters(&call.body);
        let refused = match outcome {
            Ok(_) => {
                self.with_model(&call.target, |model| model.accepted.extend(parameters));
                return None;
            }
            Err(UpstreamError::Refused { status: 400 | 422, body, .. }) => {
                refused_parameters(body, &parameters)
            }
            Err(_) => return None,
        };

        if refused.is_empty() {
            return None;
        }

        self.with_model(&call.target, |model| model.refused.extend(&refused));

        Some(without_parameters(call, &refused))
    }

    /// Reads or updates the findings about a target's model.
    fn with_model<T>(&self, target: &Target, access: impl FnOnce(&mut ModelSampling) -> T) -> T {
        let mut models = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        access(models.entry(target.model_key()).or_default())
    }
}

/// Returns the sampling parameters that a request has.
fn sampling_parameters(body: &ChatBody) -> BTreeSet<&'static str> {
    let is_present = |name: &&str| body.parameters.iter().any(|(key, _)| key == name);
    SAMPLING.into_iter().filter(is_present).collect()
}

/// Returns those of a request's parameters that a refusal names, except the first of two that
/// exclude each other.
fn refused_parameters(body: &[u8], parameters: &BTreeSet<&'static str>) -> BTreeSet<&'static str> {
    let text = String::from_utf8_lossy(body).to_ascii_lowercase();
    if !UNSUPPORTED_PHRASES.iter().any(|it| text.contains(it)) {
        return BTreeSet::new();
    }
    let mut named: Vec<_> =
        SAMPLING.into_iter().filter(|it| parameters.contains(it) && text.contains(it)).collect();
    if text.contains("cannot both") && named.len() > 1 {
        named.remove(0);
    }
    named.into_iter().collect()
}

/// Returns the call without these parameters.
fn without_parameters(mut call: ChatCall, names: &BTreeSet<&'static str>) -> ChatCall {
    call.body.parameters.retain(|(key, _)| !names.contains(key));
    call
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use pia_assistant::ChatUpstream;
    use serde_json::{Value, json};
    use wiremock::matchers::method;
    use wiremock::{Mock, MockServer, Request, ResponseTemplate};

    use super::*;
    use crate::UpstreamLimits;
    use crate::peer::{chat_call, new_upstream};

    const ANSWER: &str = r#"{"choices":[{"message":{"content":"Hi"}}]}"#;
    const BODY: &str = r#"{"messages":[],"temperature":0.2,"top_p":0.9,"seed":1"#;

    /// Starts an upstream that refuses these parameters, one at a time.
    async fn start_refusing(
        names: &'static [&'static str],
        message_template: &'static str,
    ) -> MockServer {
        let server = MockServer::start().await;
        let response = move |request: &Request| {
            let body: Value = serde_json::from_slice(&request.body).unwrap();
            match names.iter().find(|it| body.get(**it).is_some()) {
                None => ResponseTemplate::new(200).set_body_raw(ANSWER, "application/json"),
                Some(name) => {
                    let message = message_template.replace('@', name);
                    ResponseTemplate::new(400)
                        .set_body_json(json!({ "error": { "message": message } }))
                }
            }
        };
        Mock::given(method("POST")).respond_with(response).mount(&server).await;
        server
    }

    /// Returns the sampling parameters of each request.
    async fn sent_parameters(server: &MockServer) -> Vec<Vec<&'static str>> {
        let requests = server.received_requests().await.unwrap();
        let names = |request: &Request| {
            let body: Value = serde_json::from_slice(&request.body).unwrap();
            assert_eq!(body["seed"], 1);
            SAMPLING.into_iter().filter(|it| body.get(it).is_some()).collect()
        };
        requests.iter().map(names).collect()
    }

    #[tokio::test]
    async fn a_model_refuses_each_parameter_once() {
        let words = "Unsupported value: '@' does not support 0.2 with this model. Only the \
                     default (1) value is supported.";
        let server = start_refusing(&["temperature", "top_p"], words).await;
        let upstream = new_upstream(UpstreamLimits::default());
        let request_call = || chat_call(&format!("{}/v1", server.uri()), &[BODY]);

        assert_eq!(upstream.complete(request_call()).await.unwrap(), ANSWER);
        assert_eq!(upstream.complete(request_call()).await.unwrap(), ANSWER);

        let both_parameters = vec!["temperature", "top_p"];
        assert_eq!(
            sent_parameters(&server).await,
            [both_parameters, vec!["top_p"], vec![], vec![]]
        );

        // Another worker shares the findings.
        let other_upstream =
            new_upstream(UpstreamLimits::default()).with_sampling(Arc::clone(&upstream.sampling));
        assert_eq!(other_upstream.complete(request_call()).await.unwrap(), ANSWER);
        assert_eq!(sent_parameters(&server).await.len(), 5);
    }

    #[tokio::test]
    async fn of_two_exclusive_parameters_the_first_is_sent() {
        let words = "`temperature` and `top_p` cannot both be specified for this model.";
        let server = start_refusing(&["top_p"], words).await;

        let request_call = chat_call(&format!("{}/v1", server.uri()), &[BODY]);
        new_upstream(UpstreamLimits::default()).complete(request_call).await.unwrap();

        assert_eq!(
            sent_parameters(&server).await,
            [vec!["temperature", "top_p"], vec!["temperature"]]
        );
    }

    #[tokio::test]
    async fn parameters_that_the_catalogue_excludes_are_not_sent() {
        let server = start_refusing(&["temperature"], "`@` is deprecated for this model.").await;
        let call = chat_call(&format!("{}/v1", server.uri()), &[BODY]);
        let target = Target { unsupported: vec!["temperature"], ..Target::clone(&call.target) };

        let call = ChatCall { target: Arc::new(target), ..call };
        new_upstream(UpstreamLimits::default()).complete(call).await.unwrap();

        assert_eq!(sent_parameters(&server).await, [["top_p"]]);
    }

    #[tokio::test]
    async fn a_value_out_of_range_is_the_callers_fault() {
        let server = start_refusing(&["temperature"], "@ must be less than 0.1").await;
        let upstream = new_upstream(UpstreamLimits::default());

        let request_call = || chat_call(&format!("{}/v1", server.uri()), &[BODY]);
        assert!(upstream.complete(request_call()).await.is_err());
        assert!(upstream.complete(request_call()).await.is_err());

        assert_eq!(sent_parameters(&server).await, [["temperature", "top_p"]; 2]);
    }

    #[tokio::test]
    async fn a_call_is_not_copied_once_its_model_accepted_all_parameters() {
        let server = start_refusing(&[], "").await;
        let upstream = new_upstream(UpstreamLimits::default());
        let request_call = || chat_call(&format!("{}/v1", server.uri()), &[BODY]);

        assert!(upstream.sampling.retry_copy(&request_call()).is_some());
        upstream.complete(request_call()).await.unwrap();

        assert!(upstream.sampling.retry_copy(&request_call()).is_none());
        let call_without_parameters =
            chat_call(&format!("{}/v2", server.uri()), &["{\"messages\":[]"]);
        assert!(upstream.sampling.retry_copy(&call_without_parameters).is_none());
    }
}
