//! Detection of requests that pages of other websites send.
//!
//! The second defence against forged writes, beside the CSRF token: called by
//! `check_forgery` in `gates/console.rs` and by the pages that browsers use before
//! they are signed in.

use actix_web::http::header::{HOST, HeaderMap, HeaderName, ORIGIN};

const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// Returns whether a page of another website sent this request, by the headers
/// that browsers add. Programs send none of them.
///
/// The server may be opened at another address than its public URL, as from
/// its own machine.
pub fn is_cross_site(headers: &HeaderMap, public_url: &str) -> bool {
    // The browser compares the origins, so this is right behind any proxy.
    if let Some(site) = header(headers, SEC_FETCH_SITE) {
        return site != "same-origin" && site != "none";
    }
    // Browsers send the header above only over HTTPS and to the local machine.
    let Some(origin) = header(headers, ORIGIN) else { return false };

    let is_public_url =
        public_url.strip_prefix(origin).is_some_and(|it| it.is_empty() || it.starts_with('/'));
    if is_public_url {
        return false;
    }

    let authority = origin.split_once("://").map(|(_, authority)| authority);
    let is_own_host = authority.is_some() && authority == header(headers, HOST);
    !is_own_host
}

/// Returns the value of a header; an unreadable one counts as empty.
fn header(headers: &HeaderMap, name: HeaderName) -> Option<&str> {
    headers.get(name).map(|it| it.to_str().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use actix_web::test::TestRequest;

    use super::*;

    fn foreign(headers: &[(&'static str, &str)]) -> bool {
        let mut request = TestRequest::post().insert_header(("host", "10.0.0.7:8080"));
        for header in headers {
            request = request.insert_header(*header);
        }
        is_cross_site(request.to_http_request().headers(), "https://pia.example.com/pia")
    }

    #[test]
    fn the_fetch_metadata_of_the_browser_decides() {
        for (site, is_foreign) in [
            ("same-origin", false),
            ("none", false),
            ("same-site", true),
            ("cross-site", true),
            ("", true),
        ] {
            assert_eq!(foreign(&[("sec-fetch-site", site)]), is_foreign, "{site}");
        }
        let behind_proxy = [("sec-fetch-site", "same-origin"), ("origin", "https://elsewhere")];
        assert!(!foreign(&behind_proxy));
    }

    #[test]
    fn an_older_browser_is_checked_by_its_origin() {
        for (origin, is_foreign) in [
            ("https://pia.example.com", false),
            ("http://10.0.0.7:8080", false),
            ("https://pia.example.com.evil.example", true),
            ("https://pia.example.co", true),
            ("https://evil.example", true),
            ("http://10.0.0.7", true),
            ("null", true),
            ("", true),
        ] {
            assert_eq!(foreign(&[("origin", origin)]), is_foreign, "{origin}");
        }
    }

    #[test]
    fn programs_are_not_checked() {
        assert!(!foreign(&[]));
    }
}
