//! HTTP client for upstream models.
//!
//! `open` and `complete` send a chat call through `request`, which repeats it without
//! parameters that the model refuses: all attempts share the timeout of the call.
//! `embed` and `rerank` send theirs once. A refusal is an error with the upstream's
//! status and body, which `assistant` translates for the caller.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use bytes::Bytes;
use http::{HeaderMap, header};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use pia_assistant::{ChatCall, ChatUpstream, Frames, ModelCall, UpstreamError};
use pia_kernel::LiveSetting;
use reqwest::redirect::Policy;
use reqwest::{Client, Response};
use tokio::time::timeout;

use crate::dialect::{self, PreparedRequest, ResponseFormat, ResponseMode};
use crate::limits::UpstreamLimits;
use crate::max_tokens_support::{MaxTokensSupport, uses_max_tokens};
use crate::pieces::Pieces;
use crate::reading::{FrameStream, Timeouts, connection_lost};
use crate::refusal::{read_refusal, unreachable_error};
use crate::sampling::SamplingSupport;
use crate::single;
use crate::splitter::Splitter;
use crate::tls::Tls;

pub(crate) const EVENTS: &str = "text/event-stream";
pub(crate) const JSON: &str = "application/json";

/// Error of a client that could not be created.
#[derive(Debug, thiserror::Error)]
#[error("the client for upstream models could not be created")]
pub struct UpstreamSetupError(#[from] reqwest::Error);

/// Client that calls upstream models over HTTP.
///
/// A connection is driven by the runtime that opened it, so each worker of the
/// server creates its own client, and background work one more: a busy worker
/// would delay all calls of a shared client.
///
/// Each type of upstream has a dialect that translates requests into its format
/// and responses into the common format, which is OpenAI's. No library writes
/// the requests: it would hold a conversation with images twice, and lose the
/// status and headers of refusals that are not in OpenAI's format.
#[derive(Debug, Clone)]
pub struct Upstream {
    http: Client,
    limits: LiveSetting<UpstreamLimits>,
    pub(crate) max_tokens: Arc<MaxTokensSupport>,
    pub(crate) sampling: Arc<SamplingSupport>,
}

impl Upstream {
    /// Creates a client with its own connections.
    ///
    /// The client follows no redirects, which would send a key to an address that
    /// is not configured, and ignores proxies from the environment. It uses
    /// HTTP/1.1: a dropped call closes its own connection, and a stalled one
    /// blocks no other.
    pub fn new(limits: LiveSetting<UpstreamLimits>, tls: &Tls) -> Result<Self, UpstreamSetupError> {
        let initial_limits = limits.get();
        let http = Client::builder()
            .tls_backend_preconfigured(tls.config())
            .http1_only()
            .tcp_nodelay(true)
            .no_proxy()
            .redirect(Policy::none())
            .retry(reqwest::retry::never())
            .referer(false)
            .connect_timeout(initial_limits.connect)
            .pool_idle_timeout(initial_limits.idle)
            .user_agent(concat!("pia-server/", env!("CARGO_PKG_VERSION")))
            .build()?;

        Ok(Self { http, limits, max_tokens: Arc::default(), sampling: Arc::default() })
    }

    /// Shares the parameter names that other clients have learnt.
    #[must_use]
    pub fn with_max_tokens_support(self, max_tokens: Arc<MaxTokensSupport>) -> Self {
        Self { max_tokens, ..self }
    }

    /// Shares the sampling parameters that other clients have learnt.
    #[must_use]
    pub fn with_sampling(self, sampling: Arc<SamplingSupport>) -> Self {
        Self { sampling, ..self }
    }

    pub(crate) fn http(&self) -> &Client {
        &self.http
    }

    pub(crate) fn limits(&self) -> Arc<UpstreamLimits> {
        self.limits.get()
    }

    /// Sends a call and waits for the headers of a success. While a sampling
    /// parameter is refused, the call is repeated without it.
    async fn request(
        &self,
        call: ChatCall,
        mode: ResponseMode,
        limits: &UpstreamLimits,
    ) -> Result<(Response, ResponseFormat), UpstreamError> {
        let mut call = self.sampling.filter(call);
        loop {
            let retry = self.sampling.retry_copy(&call);
            let outcome = self.request_with_max_tokens_retry(call, mode, limits).await;
            match retry.and_then(|it| self.sampling.learn(it, &outcome)) {
                Some(reduced) => call = reduced,
                None => return outcome,
            }
        }
    }

    /// Sends a call. If the model refuses `max_tokens`, repeats it with
    /// `max_completion_tokens`.
    async fn request_with_max_tokens_retry(
        &self,
        call: ChatCall,
        mode: ResponseMode,
        limits: &UpstreamLimits,
    ) -> Result<(Response, ResponseFormat), UpstreamError> {
        let call = self.max_tokens.with_supported_name(call);
        if !uses_max_tokens(&call) {
            return self.send(call, mode, limits).await;
        }

        let target = Arc::clone(&call.target);
        let retry = self.max_tokens.retry_call(&call);
        let outcome = self.send(call, mode, limits).await;
        let name_refused = self.max_tokens.learn(&target, &outcome);

        match retry {
            Some(retry) if name_refused => self.send(retry, mode, limits).await,
            _ => outcome,
        }
    }

    async fn send(
        &self,
        call: ChatCall,
        mode: ResponseMode,
        limits: &UpstreamLimits,
    ) -> Result<(Response, ResponseFormat), UpstreamError> {
        let prepared = dialect::prepare(&call, mode)?;
        // From here on only the request holds the memory of the body.
        drop(call);
        self.post(prepared, mode, limits).await
    }

    /// Posts a request and waits for the headers of a success.
    async fn post(
        &self,
        prepared: PreparedRequest,
        mode: ResponseMode,
        limits: &UpstreamLimits,
    ) -> Result<(Response, ResponseFormat), UpstreamError> {
        let response = self
            .http
            .post(prepared.url)
            .headers(prepared.headers)
            .header(header::CONTENT_TYPE, JSON)
            .header(header::ACCEPT, mode.media_type())
            .body(reqwest::Body::wrap(Pieces::new(prepared.body)))
            .send()
            .await
            .map_err(unreachable_error)?;

        if !response.status().is_success() {
            return Err(prepared.format.refusal(read_refusal(response, limits.max_refusal).await));
        }

        Ok((response, prepared.format))
    }

    /// Sends a request and waits for the full body of a success.
    async fn exchange(&self, prepared: PreparedRequest) -> Result<Bytes, UpstreamError> {
        let limits = self.limits.get();
        timeout(limits.answer, async {
            let (response, _) = self.post(prepared, ResponseMode::Full, &limits).await?;
            read_full(response, limits.max_answer).await
        })
        .await
        .map_err(|_elapsed| UpstreamError::Silent)?
    }
}

#[async_trait]
impl ChatUpstream for Upstream {
    async fn open(&self, call: ChatCall) -> Result<Frames, UpstreamError> {
        let limits = self.limits.get();
        let (response, format) =
            timeout(limits.first_byte, self.request(call, ResponseMode::Streamed, &limits))
                .await
                .map_err(|_elapsed| UpstreamError::Silent)??;

        match media_type(response.headers()).as_deref() {
            None | Some(EVENTS) => {
                let splitter = Splitter::new(Arc::new(format.stream_filter()), limits.max_event);
                let timeouts = Timeouts { silence: limits.silence, events: limits.answer };
                let frames = FrameStream::new(response.into(), splitter, timeouts);
                Ok(Box::pin(frames.translated(format.translation())))
            }
            // The upstream does not stream with this model.
            Some(JSON) => {
                let answer = timeout(limits.answer, read_full(response, limits.max_answer))
                    .await
                    .map_err(|_elapsed| UpstreamError::Silent)??;
                let frames = single::frames(&format.full_response(answer)?)?;
                Ok(Box::pin(futures_util::stream::iter(frames.map(Ok))))
            }
            // Neither events nor JSON: an error without a body that could be translated.
            Some(_) => Err(read_refusal(response, 0).await),
        }
    }

    async fn complete(&self, call: ChatCall) -> Result<Bytes, UpstreamError> {
        let limits = self.limits.get();
        timeout(limits.answer, async {
            let (response, format) = self.request(call, ResponseMode::Full, &limits).await?;
            format.full_response(read_full(response, limits.max_answer).await?)
        })
        .await
        .map_err(|_elapsed| UpstreamError::Silent)?
    }

    async fn embed(&self, call: ModelCall) -> Result<Bytes, UpstreamError> {
        self.exchange(dialect::prepare_embeddings(call)?).await
    }

    async fn rerank(&self, call: ModelCall) -> Result<Bytes, UpstreamError> {
        self.exchange(dialect::prepare_ranking(call)?).await
    }
}

fn media_type(headers: &HeaderMap) -> Option<String> {
    let value = headers.get(header::CONTENT_TYPE)?.to_str().unwrap_or("unreadable");
    Some(value.split(';').next().unwrap_or_default().trim().to_ascii_lowercase())
}

/// Reads a body of at most `limit` bytes. A connection that breaks before the first of
/// them counts as unreachable, and as cut off after it.
pub(crate) async fn read_full(response: Response, limit: usize) -> Result<Bytes, UpstreamError> {
    let received = AtomicBool::new(false);
    let body = Limited::new(reqwest::Body::from(response), limit).map_frame(|frame| {
        received.store(true, Ordering::Relaxed);
        frame
    });
    match body.collect().await {
        Ok(collected) => Ok(collected.to_bytes()),
        Err(err) if err.is::<LengthLimitError>() => Err(UpstreamError::TooLong),
        Err(_) if !received.load(Ordering::Relaxed) => Err(connection_lost()),
        Err(_) => Err(UpstreamError::Cut),
    }
}

#[cfg(test)]
#[path = "client_tests.rs"]
mod tests;

#[cfg(test)]
#[path = "stream_tests.rs"]
mod stream_tests;
