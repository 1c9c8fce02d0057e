//! Submitted form with files, of a browser that is signed in.

use actix_web::dev::Payload;
use actix_web::http::StatusCode;
use actix_web::http::header::CONTENT_TYPE;
use actix_web::web::Bytes;
use actix_web::{FromRequest, HttpRequest};
use futures_util::FutureExt as _;
use futures_util::future::LocalBoxFuture;
use pia_web::{ApiError, RawBody};

use crate::form_fields::FormFields;
use crate::multipart::{self, FormPart};

/// Fields and files of a submitted form, whose CSRF token is verified. Files
/// are slices of the body, whose memory is reserved until they are dropped.
pub(crate) struct UploadedForm {
    /// Fields.
    pub(crate) fields: FormFields,
    files: Vec<FormPart>,
}

impl FromRequest for UploadedForm {
    type Error = ApiError;
    type Future = LocalBoxFuture<'static, Result<Self, ApiError>>;

    fn from_request(request: &HttpRequest, payload: &mut Payload) -> Self::Future {
        let (body, request) = (RawBody::from_request(request, payload), request.clone());
        async move {
            let form = Self::parse(&request, &body.await?.into_bytes())?;
            form.fields.check_csrf(&request)?;
            Ok(form)
        }
        .boxed_local()
    }
}

impl UploadedForm {
    fn parse(request: &HttpRequest, body: &Bytes) -> Result<Self, ApiError> {
        let content_type = request.headers().get(CONTENT_TYPE).and_then(|it| it.to_str().ok());
        let content_type = content_type.unwrap_or_default();
        if !multipart::is_multipart(content_type) {
            let message = "Send a form with files, as `multipart/form-data`.";
            let status = StatusCode::UNSUPPORTED_MEDIA_TYPE;
            return Err(ApiError::refused(status, "unsupported_media_type", message));
        }
        let parts = multipart::parse(content_type, body).ok_or_else(FormFields::malformed)?;
        let (files, texts): (Vec<_>, Vec<_>) = parts.into_iter().partition(|it| it.is_file);
        let text = |it: FormPart| Some((it.name, String::from_utf8(it.content.into()).ok()?));
        let fields: Option<Vec<_>> = texts.into_iter().map(text).collect();
        let fields = FormFields::from_pairs(fields.ok_or_else(FormFields::malformed)?);
        Ok(Self { fields, files })
    }

    /// Returns a file; `None` if none was chosen.
    pub(crate) fn file(&self, name: &str) -> Option<Bytes> {
        let file = self.files.iter().find(|it| it.name == name)?;
        Some(file.content.clone()).filter(|it| !it.is_empty())
    }
}
