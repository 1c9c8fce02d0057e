//! Detection of browsers and of clients that accept pages.

use std::future::{Ready, ready};

use actix_web::dev::Payload;
use actix_web::http::header::{ACCEPT, HeaderMap, HeaderName, ORIGIN};
use actix_web::{FromRequest, HttpRequest};
use pia_identity::Program;

use crate::ApiError;

/// Header that the `fetch` of Node.js sends as well; browsers send
/// `Sec-Fetch-Site` beside it.
const SEC_FETCH_MODE: HeaderName = HeaderName::from_static("sec-fetch-mode");

/// Kind of program that sent a request.
///
/// Browsers add headers that scripts cannot omit. A program that adds them is
/// treated as a browser, to its own disadvantage.
#[derive(Debug, Clone, Copy)]
pub struct FromProgram(pub Program);

impl FromRequest for FromProgram {
    type Error = ApiError;
    type Future = Ready<Result<Self, ApiError>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        ready(Ok(Self(program_from_headers(request.headers()))))
    }
}

/// Returns the kind of program that sends these headers.
pub(crate) fn program_from_headers(headers: &HeaderMap) -> Program {
    detect_program(headers, |_| true)
}

/// Returns the kind of program of a caller with an API key: SDKs for Node.js
/// send headers of browsers.
pub(crate) fn program_with_api_key(headers: &HeaderMap) -> Program {
    detect_program(headers, |it| it != SEC_FETCH_MODE)
}

fn detect_program(headers: &HeaderMap, is_evidence: impl Fn(&HeaderName) -> bool) -> Program {
    let has_fetch_metadata =
        headers.keys().any(|it| it.as_str().starts_with("sec-fetch-") && is_evidence(it));
    let is_browser = has_fetch_metadata || headers.contains_key(ORIGIN);
    if is_browser { Program::Browser } else { Program::App }
}

/// Returns whether the client accepts pages: `text/html` is named among its
/// media types.
pub fn reads_pages(headers: &HeaderMap) -> bool {
    accepts(headers, "text/html")
}

/// Returns whether `application/json` is named among the accepted media types.
pub fn reads_json(headers: &HeaderMap) -> bool {
    accepts(headers, "application/json")
}

/// Returns whether `text/event-stream` is named among the accepted media types.
pub fn reads_events(headers: &HeaderMap) -> bool {
    accepts(headers, "text/event-stream")
}

fn accepts(headers: &HeaderMap, media_type: &str) -> bool {
    let accepted = headers.get_all(ACCEPT).filter_map(|it| it.to_str().ok());
    accepted.flat_map(|it| it.split(',')).any(|range| {
        let mut parts = range.split(';').map(str::trim);
        let is_named = parts.next().is_some_and(|it| it.eq_ignore_ascii_case(media_type));
        is_named && !parts.any(is_never)
    })
}

/// Returns whether a parameter is a weight of zero: `q=0`, `q=0.000`.
fn is_never(parameter: &str) -> bool {
    let Some((name, weight)) = parameter.split_once('=') else { return false };
    let is_zero = weight.trim().parse::<f32>().is_ok_and(|it| it <= 0.0);
    is_zero && name.trim().eq_ignore_ascii_case("q")
}

#[cfg(test)]
mod tests {
    use actix_web::test::TestRequest;

    use super::*;

    async fn program_of(header: (&str, &str)) -> Program {
        let request = TestRequest::default().insert_header(header).to_http_request();
        FromProgram::extract(&request).await.unwrap().0
    }

    #[actix_web::test]
    async fn browsers_are_detected_by_their_headers() {
        for header in [("Origin", "null"), ("SEC-FETCH-SITE", "none"), ("sec-fetch-anything", "")] {
            assert_eq!(program_of(header).await, Program::Browser, "{header:?}");
        }
        assert_eq!(program_of(("User-Agent", "Mozilla/5.0")).await, Program::App);
    }

    #[test]
    fn pages_are_for_clients_that_name_them() {
        let reads = |accept: &str| {
            let request = TestRequest::default().insert_header((ACCEPT, accept));
            reads_pages(request.to_http_request().headers())
        };

        for accept in [
            "text/html",
            "text/html,application/xhtml+xml,*/*;q=0.8",
            "application/json, TEXT/HTML ; q=0.1",
            "text/html;level=1",
        ] {
            assert!(reads(accept), "{accept}");
        }
        for accept in
            ["", "*/*", "application/json", "text/html;q=0", "text/html; Q=0.000", "text/html5"]
        {
            assert!(!reads(accept), "{accept}");
        }
    }

    #[test]
    fn with_an_api_key_node_is_not_a_browser_but_a_page_is() {
        let programs_of = |headers: &[(&'static str, &'static str)]| {
            let request = headers
                .iter()
                .fold(TestRequest::default(), |it, header| it.insert_header(*header))
                .to_http_request();
            (program_from_headers(request.headers()), program_with_api_key(request.headers()))
        };
        let node_header = ("sec-fetch-mode", "cors");

        assert_eq!(programs_of(&[node_header]), (Program::Browser, Program::App));
        let page_programs = programs_of(&[node_header, ("sec-fetch-site", "same-origin")]);
        assert_eq!(page_programs, (Program::Browser, Program::Browser));
    }
}
