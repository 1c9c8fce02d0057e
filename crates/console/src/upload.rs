//! Submitted form with a file, of a browser that is signed in.
//!
//! The counterpart of `FormFields` for `multipart/form-data`. The body is read
//! completely, within the row's limit, before it is parsed.

use actix_multipart::{Field, Multipart, MultipartError};
use actix_web::dev::Payload;
use actix_web::error::PayloadError;
use actix_web::http::StatusCode;
use actix_web::web::{Bytes, BytesMut};
use actix_web::{FromRequest, HttpRequest};
use futures_util::future::LocalBoxFuture;
use futures_util::{FutureExt as _, StreamExt as _, stream};
use pia_web::{ApiError, RawBody};

use crate::form_fields::FormFields;

/// Maximum number of parts of a form.
const MAX_PARTS: usize = 100;

/// Fields and files of a submitted form, whose CSRF token is verified. Its length
/// is limited like that of any body.
pub(crate) struct UploadForm {
    /// Fields that are no files.
    pub(crate) fields: FormFields,
    files: Vec<UploadedFile>,
}

/// File of a form.
pub(crate) struct UploadedFile {
    field: String,
    /// Name on the machine that sent it, without folders.
    pub(crate) name: String,
    /// Media type, as the browser reports it; empty if it does not.
    pub(crate) content_type: String,
    pub(crate) content: Bytes,
}

impl FromRequest for UploadForm {
    type Error = ApiError;
    type Future = LocalBoxFuture<'static, Result<Self, ApiError>>;

    fn from_request(request: &HttpRequest, payload: &mut Payload) -> Self::Future {
        let body = RawBody::from_request(request, payload);
        let request = request.clone();
        async move {
            let form = Self::parse(&request, body.await?.into_bytes()).await?;
            form.fields.check_csrf(&request)?;
            Ok(form)
        }
        .boxed_local()
    }
}

impl UploadForm {
    /// Returns the file of a field, unless none was chosen.
    pub(crate) fn file(&self, field: &str) -> Option<&UploadedFile> {
        self.files.iter().find(|it| it.field == field)
    }

    async fn parse(request: &HttpRequest, body: Bytes) -> Result<Self, ApiError> {
        let chunks = stream::iter([Ok::<_, PayloadError>(body)]);
        let mut parts = Multipart::new(request.headers(), chunks);
        let mut fields = Vec::new();
        let mut files = Vec::new();
        while let Some(part) = parts.next().await {
            let mut part = part.map_err(|err| malformed(&err))?;
            if fields.len() + files.len() == MAX_PARTS {
                return Err(refused(StatusCode::BAD_REQUEST, "The form has too many fields."));
            }

            let field = part.name().unwrap_or_default().to_owned();
            let file_name =
                part.content_disposition().and_then(|it| it.get_filename()).map(base_name);
            let content_type = part.content_type().map(ToString::to_string);
            let content = read(&mut part).await?;
            match file_name {
                // Browsers send an empty name if no file was chosen.
                Some(name) if name.is_empty() => {}
                Some(name) => {
                    let content_type = content_type.unwrap_or_default();
                    files.push(UploadedFile { field, name, content_type, content });
                }
                None => fields.push((field, String::from_utf8_lossy(&content).into_owned())),
            }
        }

        Ok(Self { fields: FormFields::from_pairs(fields), files })
    }
}

async fn read(part: &mut Field) -> Result<Bytes, ApiError> {
    let mut content = BytesMut::new();
    while let Some(chunk) = part.next().await {
        content.extend_from_slice(&chunk.map_err(|err| malformed(&err))?);
    }
    Ok(content.freeze())
}

/// Returns the name of a file without the folders that some browsers send.
fn base_name(path: &str) -> String {
    path.rsplit(['/', '\\']).next().unwrap_or_default().to_owned()
}

fn malformed(err: &MultipartError) -> ApiError {
    match err {
        MultipartError::ContentTypeMissing
        | MultipartError::ContentTypeParse
        | MultipartError::ContentTypeIncompatible
        | MultipartError::BoundaryMissing => {
            refused(StatusCode::UNSUPPORTED_MEDIA_TYPE, "Send a form, with `multipart/form-data`.")
        }
        _ => refused(StatusCode::BAD_REQUEST, "The form is malformed."),
    }
}

fn refused(status: StatusCode, message: &'static str) -> ApiError {
    let is_type = status == StatusCode::UNSUPPORTED_MEDIA_TYPE;
    let code = if is_type { "unsupported_media_type" } else { "invalid_form" };
    ApiError::refused(status, code, message)
}

#[cfg(test)]
mod tests {
    use actix_web::http::header::CONTENT_TYPE;
    use actix_web::test::TestRequest;

    use super::*;

    async fn parse(content_type: &str, body: &str) -> Result<UploadForm, ApiError> {
        let request = TestRequest::default().insert_header((CONTENT_TYPE, content_type));
        let body = Bytes::from(body.replace('\n', "\r\n"));
        UploadForm::parse(&request.to_http_request(), body).await
    }

    fn code(parsed: Result<UploadForm, ApiError>) -> &'static str {
        parsed.err().map(|it| it.code_and_message().0).unwrap_or_default()
    }

    #[actix_web::test]
    async fn fields_and_files_are_separated_and_a_file_that_was_not_chosen_is_missing() {
        let body = "--b\nContent-Disposition: form-data; name=\"title\"\n\nGrüße\n--b\n\
                    Content-Disposition: form-data; name=\"file\"; filename=\"C:\\a\\note.md\"\n\
                    Content-Type: text/markdown\n\n# Note\n--b\n\
                    Content-Disposition: form-data; name=\"other\"; filename=\"\"\n\n\n--b--\n";

        let form = parse("multipart/form-data; boundary=b", body).await.unwrap();

        assert_eq!(form.fields.text("title"), "Grüße");
        let file = form.file("file").unwrap();
        assert_eq!(file.content_type, "text/markdown");
        assert_eq!(&*file.content, b"# Note");
        assert!(file.name.ends_with("note.md"), "{}", file.name);
        assert!(form.file("other").is_none());
    }

    #[actix_web::test]
    async fn other_bodies_are_refused() {
        let plain = parse("application/x-www-form-urlencoded", "title=x").await;
        let cut = parse(
            "multipart/form-data; boundary=b",
            "--b\nContent-Disposition: form-data; name=\"title\"\n\nGr",
        );

        assert_eq!(code(plain), "unsupported_media_type");
        assert_eq!(code(cut.await), "invalid_form");
    }
}
