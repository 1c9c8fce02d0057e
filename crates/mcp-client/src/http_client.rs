//! Servers over streamable HTTP.
//!
//! `HttpClient` wraps rmcp's client for reqwest. It sends the token, which it does not
//! pass through rmcp's configuration, and reduces errors to what may be logged:
//! neither the address nor a text of the server.

use std::collections::HashMap;
use std::error::Error;
use std::sync::Arc;

use futures_util::StreamExt;
use futures_util::stream::BoxStream;
use http::{HeaderName, HeaderValue};
use pia_kernel::Secret;
use reqwest::Client;
use rmcp::model::ClientJsonRpcMessage;
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::{
    SseError, StreamableHttpClient, StreamableHttpClientTransportConfig, StreamableHttpError,
    StreamableHttpPostResponse, StreamableHttpResponseLimits,
};
use sse_stream::Sse;
use url::Url;

use crate::client::{MAX_MESSAGE_BYTES, McpClient};
use crate::error::McpError;

/// Maximum length of an error page that is read.
const MAX_ERROR_BYTES: usize = 4 * 1024;

/// Maximum number of requests at once.
const MAX_REQUESTS: usize = 16;

type Headers = HashMap<HeaderName, HeaderValue>;
type HttpResult<T> = Result<T, StreamableHttpError<HttpError>>;

impl McpClient {
    /// Connects with a server, and initializes it. The token is sent as a
    /// bearer token.
    ///
    /// The client limits where connections may lead: it should resolve names to
    /// permitted addresses only, follow no redirects, and have a timeout for
    /// connecting. A timeout for responses would end streams of events.
    pub async fn connect(
        url: Url,
        http: Client,
        token: Option<Secret<String>>,
    ) -> Result<Self, McpError> {
        if !matches!(url.scheme(), "https" | "http") {
            return Err(McpError::Address);
        }

        let is_token = |it: &Secret<String>| HeaderValue::from_str(it.expose()).is_ok();
        if !token.as_ref().is_none_or(is_token) {
            return Err(McpError::MalformedToken);
        }

        let config = StreamableHttpClientTransportConfig::with_uri(String::from(url))
            .max_concurrent_requests(MAX_REQUESTS)
            .max_sse_event_size(MAX_MESSAGE_BYTES)
            .max_json_response_size(MAX_MESSAGE_BYTES)
            .max_error_response_size(MAX_ERROR_BYTES);

        let http = HttpClient { http, token: token.clone() };
        let transport = StreamableHttpClientTransport::with_client(http, config);

        Self::initialize(transport, token).await
    }
}

/// Error of a request, without its address and without what a server wrote.
#[derive(Debug, thiserror::Error)]
pub(crate) enum HttpError {
    #[error("unauthorized")]
    Unauthorized,
    #[error("status {0}")]
    Status(u16),
    #[error("{0}")]
    Failed(&'static str),
}

impl HttpError {
    /// Returns the error among the sources of another.
    pub(crate) fn find<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a Self> {
        let mut source = Some(error);
        while let Some(error) = source {
            if let Some(StreamableHttpError::Client(client_error)) =
                error.downcast_ref::<StreamableHttpError<Self>>()
            {
                return Some(client_error);
            }
            source = error.source();
        }
        None
    }
}

impl From<&HttpError> for McpError {
    fn from(error: &HttpError) -> Self {
        match error {
            HttpError::Unauthorized => Self::Unauthorized,
            HttpError::Status(status) => Self::Transport(format!("status {status}").into()),
            HttpError::Failed(reason) => Self::Transport((*reason).into()),
        }
    }
}

impl From<reqwest::Error> for HttpError {
    fn from(error: reqwest::Error) -> Self {
        match error.status().map(|it| it.as_u16()) {
            Some(401 | 403) => Self::Unauthorized,
            Some(status) => Self::Status(status),
            None if error.is_timeout() => Self::Failed("no response in time"),
            None if error.is_connect() => Self::Failed("no connection"),
            None => Self::Failed("the request failed"),
        }
    }
}

/// Client whose errors, which are logged, reveal nothing.
#[derive(Clone)]
struct HttpClient {
    http: Client,
    token: Option<Secret<String>>,
}

impl HttpClient {
    fn token(&self) -> Option<String> {
        self.token.as_ref().map(|it| it.expose().clone())
    }
}

impl StreamableHttpClient for HttpClient {
    type Error = HttpError;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        token: Option<String>,
        headers: Headers,
    ) -> HttpResult<StreamableHttpPostResponse> {
        let limits = StreamableHttpResponseLimits::default();
        self.post_message_with_response_limits(uri, message, session, token, headers, limits).await
    }

    async fn post_message_with_response_limits(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        _: Option<String>,
        headers: Headers,
        limits: StreamableHttpResponseLimits,
    ) -> HttpResult<StreamableHttpPostResponse> {
        let token = self.token();
        self.http
            .post_message_with_response_limits(uri, message, session, token, headers, limits)
            .await
            .map_err(without_details)
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session: Arc<str>,
        _: Option<String>,
        headers: Headers,
    ) -> HttpResult<()> {
        self.http.delete_session(uri, session, self.token(), headers).await.map_err(without_details)
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session: Option<Arc<str>>,
        last_event: Option<String>,
        token: Option<String>,
        headers: Headers,
    ) -> HttpResult<BoxStream<'static, Result<Sse, SseError>>> {
        let max = MAX_MESSAGE_BYTES;
        self.get_stream_with_max_sse_event_size(uri, session, last_event, token, headers, max).await
    }

    async fn get_stream_with_max_sse_event_size(
        &self,
        uri: Arc<str>,
        session: Option<Arc<str>>,
        last_event: Option<String>,
        _: Option<String>,
        headers: Headers,
        max_bytes: usize,
    ) -> HttpResult<BoxStream<'static, Result<Sse, SseError>>> {
        let token = self.token();
        let events = self
            .http
            .get_stream_with_max_sse_event_size(uri, session, last_event, token, headers, max_bytes)
            .await
            .map_err(without_details)?;
        // A server does not choose how fast the client comes back.
        Ok(events.map(|it| it.map(|event| Sse { retry: None, ..event })).boxed())
    }
}

/// Removes from an error what a server wrote.
fn without_details(error: StreamableHttpError<reqwest::Error>) -> StreamableHttpError<HttpError> {
    StreamableHttpError::Client(match error {
        StreamableHttpError::SessionExpired => return StreamableHttpError::SessionExpired,
        StreamableHttpError::ServerDoesNotSupportSse => {
            return StreamableHttpError::ServerDoesNotSupportSse;
        }
        StreamableHttpError::Client(error) => error.into(),
        StreamableHttpError::AuthRequired(_) | StreamableHttpError::InsufficientScope(_) => {
            HttpError::Unauthorized
        }
        StreamableHttpError::HttpStatus(error) => HttpError::Status(error.status),
        StreamableHttpError::UnexpectedServerResponse(text) => from_status(&text),
        StreamableHttpError::ResponseBodyTooLarge { .. } => {
            HttpError::Failed("its response is too large")
        }
        StreamableHttpError::UnexpectedContentType(_) => {
            HttpError::Failed("its response has another content type")
        }
        _ => HttpError::Failed("its response is malformed"),
    })
}

/// Converts an unexpected response, whose text begins with its status.
fn from_status(text: &str) -> HttpError {
    let status = text.strip_prefix("HTTP ").and_then(|it| it.get(..3)?.parse().ok());
    match status {
        Some(401 | 403) => HttpError::Unauthorized,
        Some(status) => HttpError::Status(status),
        None => HttpError::Failed("its response is malformed"),
    }
}
