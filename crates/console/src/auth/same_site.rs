//! Check that a form was submitted by a page of this server.

use actix_web::HttpRequest;
use actix_web::http::header::{HOST, HeaderName, ORIGIN};

const SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// Returns whether another website caused this request.
///
/// The forms need no cookie, so there is no session to abuse; but other sites
/// must not create accounts or redeem links from their visitors' addresses.
/// Programs send none of these headers.
pub(crate) fn is_foreign(request: &HttpRequest, public_url: &str) -> bool {
    // The browser compares the origins, so this is right behind any proxy.
    if let Some(site) = header(request, SITE) {
        return site != "same-origin" && site != "none";
    }
    // Browsers send the header above only over HTTPS and to the local machine.
    let Some(origin) = header(request, ORIGIN) else { return false };
    let is_public_url =
        public_url.strip_prefix(origin).is_some_and(|it| it.is_empty() || it.starts_with('/'));
    let is_host = || {
        let authority = origin.split_once("://").map(|(_, authority)| authority);
        authority.is_some() && authority == header(request, HOST)
    };
    !is_public_url && !is_host()
}

/// Returns the value of a header; an unreadable one counts as empty.
fn header(request: &HttpRequest, name: HeaderName) -> Option<&str> {
    request.headers().get(name).map(|it| it.to_str().unwrap_or_default())
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
        is_foreign(&request.to_http_request(), "https://pia.example.com/pia")
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
