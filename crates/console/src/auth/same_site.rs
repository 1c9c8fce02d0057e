//! Check that a form was sent by one of our own pages.

use actix_web::HttpRequest;
use actix_web::http::header::{HOST, HeaderName, ORIGIN};

const SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// Returns whether another website made the browser send this request.
///
/// The forms need no cookie, so nothing of anyone's could be abused; but no
/// other site shall make accounts or spend links from its visitors' addresses.
/// What is no browser says neither where it comes from nor needs to.
pub(super) fn is_foreign(request: &HttpRequest, public_url: &str) -> bool {
    // The browser compares, so that it is right behind any proxy.
    if let Some(site) = header(request, SITE) {
        return site != "same-origin" && site != "none";
    }
    // Browsers tell the above only of encrypted connections and of this machine.
    let Some(origin) = header(request, ORIGIN) else { return false };
    let known =
        public_url.strip_prefix(origin).is_some_and(|it| it.is_empty() || it.starts_with('/'));
    let here = || {
        let authority = origin.split_once("://").map(|(_, authority)| authority);
        authority.is_some() && authority == header(request, HOST)
    };
    !known && !here()
}

/// A header that cannot be read is there all the same.
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
    fn the_browser_states_which_site_a_form_is_from() {
        for (site, is_foreign) in [
            ("same-origin", false),
            ("none", false),
            ("same-site", true),
            ("cross-site", true),
            ("", true),
        ] {
            assert_eq!(foreign(&[("sec-fetch-site", site)]), is_foreign, "{site}");
        }
        let of_a_proxy = [("sec-fetch-site", "same-origin"), ("origin", "https://elsewhere")];
        assert!(!foreign(&of_a_proxy));
    }

    #[test]
    fn an_older_browser_is_judged_by_the_origin() {
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
    fn what_is_no_browser_is_not_requested() {
        assert!(!foreign(&[]));
    }
}
