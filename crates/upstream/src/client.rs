//! The client for upstream models.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use bytes::Bytes;
use http::{HeaderMap, header};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use pia_assistant::{ChatCall, ChatUpstream, EmbeddingCall, Frames, UpstreamError};
use pia_kernel::LiveSetting;
use reqwest::redirect::Policy;
use reqwest::{Client, Response};
use tokio::time::timeout;

use crate::dialect::{self, PreparedRequest, ResponseFormat};
use crate::limits::UpstreamLimits;
use crate::max_tokens_param::{MaxTokensSupport, has_old_name};
use crate::pieces::Pieces;
use crate::reading::{FrameStream, Timeouts, connection_lost};
use crate::refusal::{refused, unreachable};
use crate::sampling::SamplingSupport;
use crate::single;
use crate::splitter::Splitter;
use crate::tls::Tls;

const EVENTS: &str = "text/event-stream";
pub(crate) const JSON: &str = "application/json";

/// Reason why the client could not be made.
#[derive(Debug, thiserror::Error)]
#[error("the client for upstream models could not be made")]
pub struct UpstreamSetupError(#[from] reqwest::Error);

/// Calls upstream models over HTTP.
///
/// A connection is driven by the runtime that opened it, so each worker of the
/// server makes a client of its own, and background work one more: through a
/// shared one, a busy worker would hold up the calls of all others.
///
/// Each type of upstream has a dialect that puts requests into its words and
/// answers into the common form, which is OpenAI's. No library writes the
/// requests: it would hold a conversation with images twice, and lose the
/// status and headers of refusals that are not in OpenAI's shape.
#[derive(Debug, Clone)]
pub struct Upstream {
    http: Client,
    limits: LiveSetting<UpstreamLimits>,
    pub(crate) caps: Arc<MaxTokensSupport>,
    pub(crate) sampling: Arc<SamplingSupport>,
}

impl Upstream {
    /// A client with connections of its own.
    ///
    /// It follows no redirects, since a key would go where nobody configured
    /// it to go, and asks the environment for no proxy. It speaks HTTP/1.1: a
    /// call that is dropped closes its own connection, and one that stalls
    /// holds up no other.
    pub fn new(limits: LiveSetting<UpstreamLimits>, tls: &Tls) -> Result<Self, UpstreamSetupError> {
        let now = limits.get();
        let http = Client::builder()
            .tls_backend_preconfigured(tls.config())
            .http1_only()
            .tcp_nodelay(true)
            .no_proxy()
            .redirect(Policy::none())
            .retry(reqwest::retry::never())
            .referer(false)
            .connect_timeout(now.connect)
            .pool_idle_timeout(now.idle)
            .user_agent(concat!("pia-server/", env!("CARGO_PKG_VERSION")))
            .build()?;
        Ok(Self { http, limits, caps: Arc::default(), sampling: Arc::default() })
    }

    /// Shares the parameter names that others have learnt.
    #[must_use]
    pub fn with_cap_names(self, caps: Arc<MaxTokensSupport>) -> Self {
        Self { caps, ..self }
    }

    /// Shares the sampling parameters that others have learnt.
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

    /// Sends a call and waits for the headers of a success. A call of which a
    /// sampling parameter is refused is sent once more without it, as long as
    /// there is one.
    async fn ask(
        &self,
        call: ChatCall,
        accept: &'static str,
        limits: &UpstreamLimits,
    ) -> Result<(Response, ResponseFormat), UpstreamError> {
        let mut call = self.sampling.filter(call);
        loop {
            let held = self.sampling.retry_copy(&call);
            let outcome = self.ask_capped(call, accept, limits).await;
            match held.and_then(|it| self.sampling.learn(it, &outcome)) {
                Some(less) => call = less,
                None => return outcome,
            }
        }
    }

    /// Sends a call whose parameter name may be refused: then it is sent once
    /// more, under the other name.
    async fn ask_capped(
        &self,
        call: ChatCall,
        accept: &'static str,
        limits: &UpstreamLimits,
    ) -> Result<(Response, ResponseFormat), UpstreamError> {
        let call = self.caps.with_supported_name(call);
        if !has_old_name(&call) {
            return self.send(call, accept, limits).await;
        }
        let (target, again) = (Arc::clone(&call.target), self.caps.retry_call(&call));
        let outcome = self.send(call, accept, limits).await;
        let refused = self.caps.learn(&target, &outcome);
        match again.filter(|_| refused) {
            Some(again) => self.send(again, accept, limits).await,
            None => outcome,
        }
    }

    async fn send(
        &self,
        call: ChatCall,
        accept: &'static str,
        limits: &UpstreamLimits,
    ) -> Result<(Response, ResponseFormat), UpstreamError> {
        let prepared = dialect::prepare(&call, accept == EVENTS)?;
        // Nothing but the request holds the memory of what is sent.
        drop(call);
        self.post(prepared, accept, limits).await
    }

    async fn post(
        &self,
        prepared: PreparedRequest,
        accept: &'static str,
        limits: &UpstreamLimits,
    ) -> Result<(Response, ResponseFormat), UpstreamError> {
        let response = self
            .http
            .post(prepared.url)
            .headers(prepared.headers)
            .header(header::CONTENT_TYPE, JSON)
            .header(header::ACCEPT, accept)
            .body(reqwest::Body::wrap(Pieces::new(prepared.body)))
            .send()
            .await
            .map_err(unreachable)?;
        if !response.status().is_success() {
            return Err(prepared.form.refusal(refused(response, limits.max_refusal).await));
        }
        Ok((response, prepared.form))
    }
}

#[async_trait]
impl ChatUpstream for Upstream {
    async fn open(&self, call: ChatCall) -> Result<Frames, UpstreamError> {
        let limits = self.limits.get();
        let (response, form) = timeout(limits.first_byte, self.ask(call, EVENTS, &limits))
            .await
            .map_err(|_elapsed| UpstreamError::Silent)??;
        match media_type(response.headers()).as_deref() {
            None | Some(EVENTS) => {
                let splitter = Splitter::new(Arc::new(form.stream_filter()), limits.max_event);
                let patience = Timeouts { silence: limits.silence, events: limits.answer };
                let reading = FrameStream::new(response.into(), splitter, patience);
                Ok(Box::pin(reading.translated(form.translation())))
            }
            Some(JSON) => {
                let answer = timeout(limits.answer, read_full(response, limits.max_answer))
                    .await
                    .map_err(|_elapsed| UpstreamError::Silent)??;
                let frames = single::frames(&form.full_response(answer)?)?;
                Ok(Box::pin(futures_util::stream::iter(frames.map(Ok))))
            }
            Some(_) => Err(refused(response, 0).await),
        }
    }

    async fn complete(&self, call: ChatCall) -> Result<Bytes, UpstreamError> {
        let limits = self.limits.get();
        let answer = async {
            let (response, form) = self.ask(call, JSON, &limits).await?;
            form.full_response(read_full(response, limits.max_answer).await?)
        };
        timeout(limits.answer, answer).await.map_err(|_elapsed| UpstreamError::Silent)?
    }

    async fn embed(&self, call: EmbeddingCall) -> Result<Bytes, UpstreamError> {
        let limits = self.limits.get();
        let answer = async {
            let prepared = dialect::prepare_embeddings(call)?;
            let (response, _) = self.post(prepared, JSON, &limits).await?;
            read_full(response, limits.max_answer).await
        };
        timeout(limits.answer, answer).await.map_err(|_elapsed| UpstreamError::Silent)?
    }
}

fn media_type(headers: &HeaderMap) -> Option<String> {
    let value = headers.get(header::CONTENT_TYPE)?.to_str().unwrap_or("unreadable");
    Some(value.split(';').next().unwrap_or_default().trim().to_ascii_lowercase())
}

pub(crate) async fn read_full(response: Response, limit: usize) -> Result<Bytes, UpstreamError> {
    let heard = AtomicBool::new(false);
    let body = Limited::new(reqwest::Body::from(response), limit).map_frame(|frame| {
        heard.store(true, Ordering::Relaxed);
        frame
    });
    match body.collect().await {
        Ok(collected) => Ok(collected.to_bytes()),
        Err(err) if err.is::<LengthLimitError>() => Err(UpstreamError::TooLong),
        Err(_) if !heard.load(Ordering::Relaxed) => Err(connection_lost()),
        Err(_) => Err(UpstreamError::Cut),
    }
}

#[cfg(test)]
#[path = "client_tests.rs"]
mod tests;

#[cfg(test)]
#[path = "stream_tests.rs"]
mod stream_tests;
