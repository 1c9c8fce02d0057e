//! Cookies of browsers during a sign-in, and their redirects.
//!
//! `login.rs` sends a browser to its provider with a cookie (`BROWSER`) that binds
//! the sign-in to that browser; `callback.rs` reads it when the browser returns, and
//! sends the browser on to the target. If the target is a page of this server, the
//! page redeems its code with a second cookie (`VERIFIER`).

use actix_web::http::StatusCode;
use actix_web::http::header::{COOKIE, HOST, LOCATION, REFERRER_POLICY, SET_COOKIE};
use actix_web::http::uri::Authority;
use actix_web::{HttpRequest, HttpResponse};
use pia_identity::ReturnState;
use pia_kernel::Secret;
use pia_web::{ApiError, reads_pages};

/// Cookie that binds a sign-in to the browser that started it.
const BROWSER: &str = "pia_sign_in";
/// Lifetime of a sign-in's cookie, in seconds.
const BROWSER_SECONDS: u32 = 600;
/// Cookie with the verifier of a code that a page of this server receives.
const VERIFIER: &str = "pia_code_verifier";
/// Lifetime of an authorization code's verifier, in seconds.
const VERIFIER_SECONDS: u32 = 120;

/// Prefix with which browsers accept a cookie only over TLS and from this host:
/// no neighbour below the same domain can set it.
const HOST_ONLY: &str = "__Host-";

/// Query parameter that marks a browser redirected to the public URL.
const REDIRECTED_MARKER: &str = "sent=home";

/// Public URL of this server, by which browsers reach it; from the settings and
/// never from a request.
#[derive(Debug, Clone)]
pub struct BrowserRedirects {
    /// The URL itself.
    public_url: String,
    /// Host of that URL, with its port unless that is the default.
    host: String,
    /// Path before every route, as browsers see it.
    base: String,
    /// True if browsers connect over TLS.
    secure: bool,
}

impl BrowserRedirects {
    /// Creates the redirects of a server at this public URL.
    pub fn from_public_url(public_url: &str) -> Self {
        let address = public_url.split_once("://").map_or(public_url, |(_, address)| address);
        let base = address.find('/').and_then(|at| address.get(at..)).unwrap_or_default();
        let host = address.strip_suffix(base).unwrap_or(address);
        let secure = public_url.starts_with("https://");
        Self {
            public_url: public_url.to_owned(),
            host: without_default_port(host, secure).to_owned(),
            base: base.to_owned(),
            secure,
        }
    }

    /// Returns the public URL of the server.
    pub(crate) fn public_url(&self) -> &str {
        &self.public_url
    }

    /// Redirects a browser that used another address to the public URL: the
    /// provider will send it there, where cookies of the other address are not
    /// sent. Returns `None` if the browser uses the public URL.
    ///
    /// A browser is redirected once: behind a proxy that passes on another host,
    /// the two would never match.
    pub(super) fn redirect_to_public_url(&self, request: &HttpRequest) -> Option<HttpResponse> {
        let header = request.headers().get(HOST).and_then(|it| it.to_str().ok());
        // HTTP/2 requests have no such header.
        let authority = header.or_else(|| request.uri().authority().map(Authority::as_str))?;
        let host = without_default_port(authority, self.secure);
        let query = request.query_string();
        if host.eq_ignore_ascii_case(&self.host)
            || query.split('&').any(|it| it == REDIRECTED_MARKER)
        {
            return None;
        }

        let separator = if query.is_empty() { "" } else { "&" };
        Some(redirect(
            &format!("{}{}?{query}{separator}{REDIRECTED_MARKER}", self.public_url, request.path()),
            None,
        ))
    }

    /// Returns the secret that the browser got when its sign-in started.
    pub(super) fn browser_secret(&self, request: &HttpRequest) -> Option<Secret<String>> {
        self.cookie_secret(request, BROWSER)
    }

    /// Returns the verifier of the code with which a browser returned to a page
    /// of this server.
    pub fn verifier(&self, request: &HttpRequest) -> Option<Secret<String>> {
        self.cookie_secret(request, VERIFIER)
    }

    fn cookie_secret(&self, request: &HttpRequest, name: &str) -> Option<Secret<String>> {
        let expected = self.cookie_name(name);
        request
            .headers()
            .get_all(COOKIE)
            .filter_map(|it| it.to_str().ok())
            .flat_map(|it| it.split(';'))
            .filter_map(|it| it.split_once('='))
            .find(|(it, _)| it.trim() == expected)
            .map(|(_, value)| Secret::new(value.trim().to_owned()))
    }

    /// Redirects a browser to its provider.
    pub(super) fn redirect_to_provider(&self, url: &str, browser: &Secret<String>) -> HttpResponse {
        redirect(url, Some(self.cookie(BROWSER, browser, "/auth", BROWSER_SECONDS)))
    }

    /// Redirects a browser to the target of its sign-in. The cookie is not
    /// `Strict`, since the browser comes from another site.
    pub(super) fn redirect_to_target(
        &self,
        url: &str,
        verifier: Option<&Secret<String>>,
    ) -> HttpResponse {
        redirect(url, verifier.map(|it| self.cookie(VERIFIER, it, "/", VERIFIER_SECONDS)))
    }

    /// Reports a failed sign-in to the waiting program, or else to the browser
    /// itself: by a page, if it accepts pages.
    pub(super) fn report_failure(
        &self,
        request: &HttpRequest,
        return_state: Option<ReturnState>,
        refusal: ApiError,
    ) -> Result<HttpResponse, ApiError> {
        if let Some(return_state) = return_state {
            let (code, message) = refusal.code_and_message();
            return Ok(redirect(
                &return_state.with(&[("error", code), ("message", message)]),
                None,
            ));
        }
        if !reads_pages(request.headers()) {
            return Err(refusal);
        }
        let (code, _) = refusal.code_and_message();
        Ok(redirect(&format!("{}/auth/error?reason={code}", self.base), None))
    }

    /// Returns the header value of a cookie. Over TLS the path is `/`, as the
    /// prefix requires.
    fn cookie(&self, name: &str, value: &Secret<String>, path: &str, seconds: u32) -> String {
        let name = self.cookie_name(name);
        let value = value.expose();
        let attributes = format!("Max-Age={seconds}; HttpOnly; SameSite=Lax");
        if self.secure {
            return format!("{name}={value}; Path=/; {attributes}; Secure");
        }
        format!("{name}={value}; Path={}{path}; {attributes}", self.base)
    }

    fn cookie_name(&self, name: &str) -> String {
        let prefix = if self.secure { HOST_ONLY } else { "" };
        format!("{prefix}{name}")
    }
}

fn without_default_port(host: &str, secure: bool) -> &str {
    host.strip_suffix(if secure { ":443" } else { ":80" }).unwrap_or(host)
}

/// Redirects without a referrer, since the URL may contain a code.
fn redirect(url: &str, cookie: Option<String>) -> HttpResponse {
    let mut response = HttpResponse::build(StatusCode::FOUND);
    response.insert_header((LOCATION, url)).insert_header((REFERRER_POLICY, "no-referrer"));
    if let Some(cookie) = cookie {
        response.insert_header((SET_COOKIE, cookie));
    }
    response.finish()
}

#[cfg(test)]
mod tests {
    use actix_web::test::TestRequest;

    use super::*;

    fn secret() -> Secret<String> {
        Secret::new("abc".to_owned())
    }

    fn cookie(response: &HttpResponse) -> &str {
        response.headers().get(SET_COOKIE).unwrap().to_str().unwrap()
    }

    #[test]
    fn a_cookie_is_bound_to_the_host_and_to_tls_if_used() {
        let over_tls = BrowserRedirects::from_public_url("https://corp.example/pia")
            .redirect_to_provider("https://id.example", &secret());
        let plain = BrowserRedirects::from_public_url("http://127.0.0.1:8080/pia")
            .redirect_to_provider("https://id.example", &secret());

        assert_eq!(
            cookie(&over_tls),
            "__Host-pia_sign_in=abc; Path=/; Max-Age=600; HttpOnly; SameSite=Lax; Secure"
        );
        assert_eq!(
            cookie(&plain),
            "pia_sign_in=abc; Path=/pia/auth; Max-Age=600; HttpOnly; SameSite=Lax"
        );
    }

    #[test]
    fn a_browser_at_another_address_is_redirected_to_the_public_url_once() {
        let redirected_to = |host: &str, query: &str| {
            let request = TestRequest::with_uri(&format!("/auth/login{query}"))
                .insert_header((HOST, host))
                .to_http_request();
            let response = BrowserRedirects::from_public_url("https://corp.example/pia")
                .redirect_to_public_url(&request)?;
            Some(response.headers().get(LOCATION).unwrap().to_str().unwrap().to_owned())
        };

        for (host, query, expected_query) in [
            ("10.0.0.7:8080", "", Some("?sent=home")),
            ("corp.example.evil", "?a=b%26c&d", Some("?a=b%26c&d&sent=home")),
            ("corp.example:8443", "?a=b", Some("?a=b&sent=home")),
            ("corp.example", "?a=b", None),
            ("CORP.example:443", "?a=b", None),
            ("10.0.0.7:8080", "?a=b&sent=home", None),
        ] {
            let target =
                expected_query.map(|it| format!("https://corp.example/pia/auth/login{it}"));
            assert_eq!(redirected_to(host, query), target, "{host} {query}");
        }
    }

    #[test]
    fn the_verifier_cookie_is_sent_to_every_page() {
        let response = BrowserRedirects::from_public_url("https://pia.example")
            .redirect_to_target("/admin", Some(&secret()));

        assert_eq!(
            cookie(&response),
            "__Host-pia_code_verifier=abc; Path=/; Max-Age=120; HttpOnly; SameSite=Lax; Secure"
        );
    }

    #[test]
    fn the_browser_secret_is_found_among_other_cookies() {
        let secret_at = |url: &str, cookies: &str| {
            let request = TestRequest::default().insert_header((COOKIE, cookies));
            BrowserRedirects::from_public_url(url)
                .browser_secret(&request.to_http_request())
                .map(|it| it.expose().clone())
        };
        let secret_of = |cookies: &str| secret_at("http://127.0.0.1:8080", cookies);

        assert_eq!(secret_of("a=b; pia_sign_in=abc; c=d").as_deref(), Some("abc"));
        assert_eq!(secret_of("pia_sign_in=abc").as_deref(), Some("abc"));
        assert_eq!(secret_of("xpia_sign_in=abc; pia_sign_in2=d"), None);
        assert_eq!(secret_of(""), None);
        // Over TLS, a cookie without the prefix may be a neighbour's.
        let planted = "pia_sign_in=foreign; __Host-pia_sign_in=abc";
        assert_eq!(secret_at("https://pia.example", planted).as_deref(), Some("abc"));
        assert_eq!(secret_at("https://pia.example", "pia_sign_in=foreign"), None);
    }
}
