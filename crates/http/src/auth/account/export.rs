//! `GET /auth/account/export`: all data of the caller.

use actix_web::http::Method;
use actix_web::http::header::{ACCEPT, CONTENT_DISPOSITION};
use actix_web::web::{Bytes, Data};
use actix_web::{HttpRequest, HttpResponse};
use futures_util::stream;
use pia_kernel::Unavailable;
use pia_web::{ApiError, Caller};

use super::archive::Archive;
use super::document::Document;
use super::encoder::Encoder;
use super::export_writer::write_export;
use crate::Api;

/// Exports the caller's data. `HEAD` returns the headers and reads no rows.
pub async fn export(
    caller: Caller,
    api: Data<Api>,
    request: HttpRequest,
) -> Result<HttpResponse, ApiError> {
    let (encoder, content_type, name): (Box<dyn Encoder>, _, _) = if prefers_json(&request) {
        (Box::new(Document::new()), "application/json", "attachment; filename=\"pia-export.json\"")
    } else {
        (Box::new(Archive::new()), "application/zip", "attachment; filename=\"pia-export.zip\"")
    };

    let mut response = HttpResponse::Ok();
    response.content_type(content_type).insert_header((CONTENT_DISPOSITION, name));
    if request.method() == Method::HEAD {
        return Ok(response.streaming(stream::empty::<Result<Bytes, Unavailable>>()));
    }

    let user = caller.0.user;
    let started_export =
        api.run(|api| async move { api.identity.export.begin(user).await }).await?;
    let body = api.runner.stream_body(|sender| write_export(started_export, encoder, sender));

    Ok(response.streaming(body))
}

/// Returns whether JSON is accepted by name and the archive is not; a client
/// that accepts anything gets the archive.
fn prefers_json(request: &HttpRequest) -> bool {
    let accepted = request.headers().get_all(ACCEPT).filter_map(|it| it.to_str().ok());
    let kinds: Vec<String> = accepted
        .flat_map(|it| it.split(','))
        .filter(|it| !is_excluded(it))
        .map(|it| it.split(';').next().unwrap_or_default().trim().to_ascii_lowercase())
        .collect();
    let is_named = |kind: &str| kinds.iter().any(|it| it == kind);
    is_named("application/json") && !is_named("application/zip")
}

/// Returns whether a media range is excluded: `;q=0`.
fn is_excluded(range: &str) -> bool {
    range.split(';').skip(1).any(|parameter| {
        let weight = parameter.trim().to_ascii_lowercase();
        weight.strip_prefix("q=").and_then(|it| it.parse::<f32>().ok()) == Some(0.0)
    })
}

#[cfg(test)]
mod tests {
    use actix_web::test::TestRequest;

    use super::*;

    #[test]
    fn json_is_for_clients_that_request_it() {
        let accepts = |accept: &str| {
            let request = TestRequest::default().insert_header((ACCEPT, accept));
            prefers_json(&request.to_http_request())
        };

        for json in [
            "application/json",
            "Application/JSON; charset=utf-8",
            "text/html, application/json;q=0.5",
        ] {
            assert!(accepts(json), "{json}");
        }
        for archive in [
            "",
            "*/*",
            "application/*",
            "application/zip",
            "application/json, application/zip",
            "application/json;q=0",
        ] {
            assert!(!accepts(archive), "{archive}");
        }
    }
}
