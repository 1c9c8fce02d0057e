//! Error responses: `{ "error": code, "message": text }`.
//!
//! Handlers and gates return `ApiError`; a domain's error becomes one in a
//! `refusals` module (`web/src/refusals` for identity, `http/src/refusals` for the
//! other domains). The code is stable and meant for programs, the message for people,
//! and the cause only for the log. `dialects.rs` writes the same error in the forms
//! of OpenAI and SCIM, `console` as a page.

mod dialects;

use std::borrow::Cow;
use std::error::Error;
use std::fmt;
use std::time::Duration;

use actix_web::http::StatusCode;
use actix_web::http::header::{ALLOW, HeaderName, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE};
use actix_web::{HttpResponse, HttpResponseBuilder, ResponseError};
use pia_kernel::Unavailable;
use pia_policy::Feature;
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::Dialect;

type Cause = Box<dyn Error + Send + Sync>;

/// Time after which a client may repeat a request that an outage or overload
/// refused.
pub const RETRY_SOON: Duration = Duration::from_secs(1);

/// Header that prevents OpenAI's clients from repeating a request.
const NO_RETRY: (HeaderName, HeaderValue) =
    (HeaderName::from_static("x-should-retry"), HeaderValue::from_static("false"));

/// Invalid part of a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FieldError {
    /// Path of the value: `messages[0].role`; empty for the body itself.
    pub field: String,
    /// Error code, for programs: `required`.
    pub code: &'static str,
    /// Description, for people.
    pub message: String,
}

/// Error in the form of OpenAI's API, where it is not derived from the rest of
/// an [`ApiError`].
#[derive(Debug, Clone)]
pub struct OpenAiForm {
    /// HTTP status.
    pub status: u16,
    /// Field `type`: `invalid_request_error`.
    pub kind: &'static str,
    /// Field `code`: `context_length_exceeded`.
    pub code: &'static str,
    /// Field `message`, for people.
    pub message: Cow<'static, str>,
}

/// Failed request: the response for the client, and the cause for the log.
pub struct ApiError(Box<ErrorParts>);

struct ErrorParts {
    status: StatusCode,
    code: &'static str,
    message: String,
    /// Further fields of the body.
    fields: Map<String, Value>,
    retry_after: Option<Duration>,
    allow: Option<HeaderValue>,
    /// True if the same request would be refused again.
    is_final: bool,
    /// True if the connection is closed after the response.
    closes: bool,
    /// Error for OpenAI's clients, where that is not derived from the rest.
    openai: Option<OpenAiForm>,
    cause: Option<Cause>,
}

impl ApiError {
    /// Creates an error of a refused request. With 429 the client may try again soon,
    /// unless the error sets another time.
    pub fn refused(status: StatusCode, code: &'static str, message: impl fmt::Display) -> Self {
        Self(Box::new(ErrorParts {
            status,
            code,
            message: message.to_string(),
            fields: Map::new(),
            retry_after: (status == StatusCode::TOO_MANY_REQUESTS).then_some(RETRY_SOON),
            allow: None,
            is_final: false,
            closes: false,
            openai: None,
            cause: None,
        }))
    }

    /// Creates a validation error that lists all invalid fields.
    pub fn invalid(errors: Vec<FieldError>) -> Self {
        let message = errors.first().map(|it| it.message.clone()).unwrap_or_default();
        let error_list: Value = errors
            .into_iter()
            .map(|it| json!({ "field": it.field, "code": it.code, "message": it.message }))
            .collect();
        Self::refused(StatusCode::BAD_REQUEST, "validation_failed", message)
            .with("errors", error_list)
    }

    /// Creates an error that the client cannot act on.
    pub fn internal(cause: impl Into<Cause>) -> Self {
        let message = "The server failed; its log says why.";
        Self::refused(StatusCode::INTERNAL_SERVER_ERROR, "internal_error", message).because(cause)
    }

    /// Adds a field to the body.
    #[must_use]
    pub fn with(mut self, field: &str, value: impl Into<Value>) -> Self {
        self.0.fields.insert(field.to_owned(), value.into());
        self
    }

    /// Sets the time after which the client may try again.
    #[must_use]
    pub fn retry_after(mut self, wait: Duration) -> Self {
        self.0.retry_after = Some(wait);
        self
    }

    /// Sets the cause, which is logged but not sent.
    #[must_use]
    pub fn because(mut self, cause: impl Into<Cause>) -> Self {
        self.0.cause = Some(cause.into());
        self
    }

    /// Marks the error as permanent, for clients that would otherwise repeat
    /// the request (`x-should-retry`).
    #[must_use]
    pub fn without_retry(mut self) -> Self {
        self.0.is_final = true;
        self
    }

    /// Closes the connection after the response.
    #[must_use]
    pub(crate) fn closing(mut self) -> Self {
        self.0.closes = true;
        self
    }

    /// Sets the form in which OpenAI's clients receive it.
    #[must_use]
    pub fn in_openai(mut self, error: OpenAiForm) -> Self {
        self.0.openai = Some(error);
        self
    }
}

/// Errors of several routes and of the gates.
impl ApiError {
    /// Creates an error for a caller who is not signed in, or no longer.
    pub fn unauthenticated() -> Self {
        let message = "The access token is missing, invalid or expired: sign in.";
        Self::refused(StatusCode::UNAUTHORIZED, "unauthorized", message)
    }

    /// Creates an error for a caller who must reauthenticate.
    pub fn fresh_sign_in_required() -> Self {
        let message = "Send your `password`, a `code` or a `recoveryCode`, or sign in again: this \
                       needs a sign-in of the last ten minutes.";
        Self::refused(StatusCode::FORBIDDEN, "fresh_sign_in_required", message)
    }

    pub(crate) fn session_unproved() -> Self {
        let message = "Send your `password`, a `code` or a `recoveryCode` to \
                       `POST /api/admin/session/proof`, or sign in again: this needs a proof of \
                       the last ten minutes.";
        Self::refused(StatusCode::FORBIDDEN, "fresh_sign_in_required", message)
    }

    pub(crate) fn not_licensed(feature: Feature) -> Self {
        let message = format!("The server's licence does not include {}.", feature.name());
        Self::refused(StatusCode::FORBIDDEN, "feature_not_licensed", message)
            .with("feature", feature.name())
    }

    /// Creates an error for a caller with too many requests, who may retry
    /// after `wait`.
    pub fn over_budget(wait: Duration) -> Self {
        let message = "Too many requests: try again after the time that Retry-After tells.";
        Self::refused(StatusCode::TOO_MANY_REQUESTS, "rate_limited", message).retry_after(wait)
    }

    pub(crate) fn too_many_bodies() -> Self {
        let message = "Too much of yours is being uploaded at once: wait until one upload ends.";
        Self::refused(StatusCode::TOO_MANY_REQUESTS, "rate_limited", message)
    }

    pub(crate) fn too_large(limit: usize) -> Self {
        let message = format!("The body may have {limit} bytes.");
        Self::refused(StatusCode::PAYLOAD_TOO_LARGE, "body_too_large", message).with("limit", limit)
    }

    pub(crate) fn overloaded(cause: &'static str) -> Self {
        let message = "The server is busy: try again in a moment.";
        Self::refused(StatusCode::SERVICE_UNAVAILABLE, "overloaded", message)
            .retry_after(RETRY_SOON)
            .because(cause)
    }

    pub(crate) fn other_methods(allowed: &str) -> Self {
        let message = format!("This path takes {allowed}.");
        let mut error =
            Self::refused(StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed", message);
        error.0.allow = HeaderValue::from_str(allowed).ok();
        error
    }

    /// Creates an error for a missing row, or for one of another user: the
    /// caller cannot tell which.
    pub fn not_found() -> Self {
        let message = "Nothing has this ID here. It may have been deleted.";
        Self::refused(StatusCode::NOT_FOUND, "not_found", message)
    }

    /// Creates an error for an account that was deleted.
    pub(crate) fn no_such_account() -> Self {
        let message = "This account no longer exists.";
        Self::refused(StatusCode::NOT_FOUND, "user_not_found", message)
    }

    /// Creates an error for suspended registration.
    pub(crate) fn suspended() -> Self {
        let message = "Registration is closed at the moment.";
        Self::refused(StatusCode::FORBIDDEN, "free_tier_suspended", message)
    }

    pub(crate) fn no_such_path() -> Self {
        Self::refused(StatusCode::NOT_FOUND, "not_found", "No such path.")
    }
}

/// Responses that report an error.
impl ApiError {
    /// Returns the response in the form that the client reads. It does not log
    /// the cause, unlike [`error_response`](ResponseError::error_response), which
    /// precedes each translation.
    pub(crate) fn response(&self, dialect: Dialect) -> HttpResponse {
        match dialect {
            Dialect::Pia => self.pia_response(),
            Dialect::OpenAi => self.openai_response(),
            Dialect::Scim => self.scim_response(),
        }
    }

    /// Returns code and message, for a response in another form. Logs the
    /// cause.
    pub fn code_and_message(&self) -> (&'static str, &str) {
        self.log();
        (self.0.code, &self.0.message)
    }

    /// Returns the body of the response in our own form.
    pub fn body(&self) -> Map<String, Value> {
        let mut body = Map::new();
        body.insert("error".to_owned(), self.0.code.into());
        body.insert("message".to_owned(), self.0.message.as_str().into());
        body.extend(self.0.fields.clone());

        if self.0.status == StatusCode::BAD_REQUEST {
            // Every error with status 400 has the list; without a field, the
            // error concerns the body.
            let ErrorParts { code, message, .. } = &*self.0;
            let error_list = || json!([{ "field": "", "code": code, "message": message }]);
            body.entry("errors").or_insert_with(error_list);
        }

        body
    }

    fn pia_response(&self) -> HttpResponse {
        self.head(self.0.status).json(self.body())
    }

    /// Logs the cause.
    pub(crate) fn log(&self) {
        if let Some(cause) = &self.0.cause {
            tracing::error!(error = %Chain(&**cause), "request failed: {}", self.0.code);
        }
    }

    /// Creates the response with its headers.
    fn head(&self, status: StatusCode) -> HttpResponseBuilder {
        let mut response = HttpResponse::build(status);
        if self.0.closes {
            response.force_close();
        }

        if self.0.is_final {
            response.insert_header(NO_RETRY);
        }

        if let Some(wait) = self.0.retry_after {
            // Rounded up: a client that returned sooner would be refused again.
            let seconds = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
            response.insert_header((RETRY_AFTER, seconds.max(1)));
        }

        if let Some(allow) = &self.0.allow {
            response.insert_header((ALLOW, allow.clone()));
        }

        if self.0.status == StatusCode::UNAUTHORIZED {
            response.insert_header((WWW_AUTHENTICATE, HeaderValue::from_static("Bearer")));
        }

        response
    }
}

impl From<Unavailable> for ApiError {
    fn from(err: Unavailable) -> Self {
        let message = "Part of the server is not responding. Try again in a moment.";
        Self::refused(StatusCode::SERVICE_UNAVAILABLE, "unavailable", message)
            .retry_after(RETRY_SOON)
            .because(err)
    }
}

/// Omits the other fields, which may contain a token.
impl fmt::Debug for ApiError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ErrorParts { status, code, message, cause, .. } = &*self.0;
        let mut debug = f.debug_struct("ApiError");
        debug.field("status", status).field("code", code).field("message", message);
        debug.field("cause", cause).finish_non_exhaustive()
    }
}

impl fmt::Display for ApiError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.0.code, self.0.message)
    }
}

impl ResponseError for ApiError {
    fn status_code(&self) -> StatusCode {
        self.0.status
    }

    fn error_response(&self) -> HttpResponse {
        self.log();
        self.pia_response()
    }
}

/// Error and its causes, on one line.
struct Chain<'a>(&'a (dyn Error + 'static));

impl fmt::Display for Chain<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)?;
        let mut next = self.0.source();
        while let Some(err) = next {
            write!(f, ": {err}")?;
            next = err.source();
        }
        Ok(())
    }
}
