//! Submitted form of a browser that is signed in.
//!
//! As an extractor, `FormFields` reads the body and checks the CSRF token before the
//! handler is called. `parse` is for forms before the sign-in, which have no token.

use actix_web::dev::Payload;
use actix_web::http::StatusCode;
use actix_web::web::Data;
use actix_web::{FromRequest, HttpRequest};
use futures_util::FutureExt as _;
use futures_util::future::LocalBoxFuture;
use pia_kernel::Secret;
use pia_web::{ApiError, Gates, RawBody};

use crate::setup::is_form;
use crate::ui::form::original_name;

/// Maximum number of fields in a form.
const MAX_FIELDS: usize = 1000;

/// Fields of a submitted form, whose CSRF token is verified.
pub(crate) struct FormFields(Vec<(String, String)>);

impl FromRequest for FormFields {
    type Error = ApiError;
    type Future = LocalBoxFuture<'static, Result<Self, ApiError>>;

    fn from_request(request: &HttpRequest, payload: &mut Payload) -> Self::Future {
        let body = RawBody::from_request(request, payload);
        let request = request.clone();
        async move {
            let fields = Self::parse(&request, &body.await?)?;
            fields.check_csrf(&request)?;
            Ok(fields)
        }
        .boxed_local()
    }
}

impl FormFields {
    /// Parses a form without a session.
    pub(crate) fn parse(request: &HttpRequest, body: &[u8]) -> Result<Self, ApiError> {
        if !is_form(request) {
            let message = "Send a form, with `application/x-www-form-urlencoded`.";
            let status = StatusCode::UNSUPPORTED_MEDIA_TYPE;
            return Err(ApiError::refused(status, "unsupported_media_type", message));
        }
        let fields: Option<Vec<_>> = serde_urlencoded::from_bytes(body).ok();
        fields.filter(|it| it.len() <= MAX_FIELDS).map(Self).ok_or_else(Self::malformed)
    }

    /// Creates the fields of a form that was parsed elsewhere, or of none.
    pub(crate) fn from_pairs(pairs: Vec<(String, String)>) -> Self {
        Self(pairs)
    }

    /// Returns the error of a form that cannot be parsed.
    pub(crate) fn malformed() -> ApiError {
        ApiError::refused(StatusCode::BAD_REQUEST, "invalid_form", "The form is malformed.")
    }

    /// Checks that a page of this server sent it.
    pub(crate) fn check_csrf(&self, request: &HttpRequest) -> Result<(), ApiError> {
        let gates = request
            .app_data::<Data<Gates>>()
            .ok_or_else(|| ApiError::internal("no gates are configured"))?;
        gates.check_form(request, self.text("csrfToken"))
    }

    /// Returns the value of a field, trimmed; empty if it is missing.
    pub(crate) fn text(&self, name: &str) -> &str {
        self.raw(name).trim()
    }

    /// Returns the value of a field that is not empty.
    pub(crate) fn some(&self, name: &str) -> Option<String> {
        Some(self.text(name)).filter(|it| !it.is_empty()).map(str::to_owned)
    }

    /// Returns a password as it was typed.
    pub(crate) fn secret(&self, name: &str) -> Secret<String> {
        Secret::new(self.raw(name).to_owned())
    }

    /// Returns the values of check boxes.
    pub(crate) fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.0.iter().filter(move |it| it.0 == name).map(|it| it.1.as_str())
    }

    /// Returns whether a field differs from its original value; true if the form has none.
    pub(crate) fn is_changed(&self, name: &str) -> bool {
        let current = self.all(name).collect::<Vec<_>>().join(" ");
        self.original(name).is_none_or(|it| !is_same_text(it, &current))
    }

    /// Checks that the stored value of a field is still its original one, if the form has that.
    pub(crate) fn check_original(&self, name: &str, stored: &str) -> Result<(), ApiError> {
        if self.original(name).is_none_or(|it| is_same_text(it, stored)) {
            return Ok(());
        }
        let message = "The entry was changed in the meantime. Load it again.";
        Err(ApiError::refused(StatusCode::PRECONDITION_FAILED, "precondition_failed", message))
    }

    /// Returns the original value of a field, if the form has it; of check boxes all, separated
    /// by spaces.
    pub(crate) fn original(&self, name: &str) -> Option<&str> {
        let name = original_name(name);
        self.0.iter().find(|it| it.0 == name).map(|it| it.1.as_str())
    }

    /// Returns all names with their values, in the order of the form.
    pub(crate) fn pairs(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|it| (it.0.as_str(), it.1.as_str()))
    }

    fn raw(&self, name: &str) -> &str {
        self.0.iter().find(|it| it.0 == name).map_or("", |it| it.1.as_str())
    }
}

/// Returns whether texts are the same but for blanks around them and the ends of their lines,
/// which browsers replace.
fn is_same_text(one: &str, other: &str) -> bool {
    one.trim().lines().eq(other.trim().lines())
}
