//! Session cookie of the administration console.
//!
//! The account pages use the same cookie. Its value is a token that
//! `ConsoleSessions` of `identity` issues and verifies; the CSRF token of a browser
//! is derived from it.

use std::time::Duration;

use actix_web::http::header::{COOKIE, HeaderMap};

/// Name of the cookie if browsers connect without TLS, in development.
const PLAIN_NAME: &str = "pia_console";
/// Name of the cookie over TLS: with this prefix browsers accept it from this
/// host only, and no neighbour below the same domain can set one.
const SECURE_NAME: &str = "__Host-pia_console";

/// Cookie of the console, and the origin of the pages that may send it.
#[derive(Debug, Clone)]
pub struct ConsoleCookie {
    origin: String,
}

impl ConsoleCookie {
    /// Creates the cookie of a server with this public URL.
    pub fn from_public_url(public_url: &str) -> Self {
        let host = public_url.find("://").map_or(0, |at| at + 3);
        let path = public_url.get(host..).and_then(|it| it.find('/'));
        let origin = path.and_then(|it| public_url.get(..host + it)).unwrap_or(public_url);
        Self { origin: origin.to_ascii_lowercase() }
    }

    /// Returns the value of the cookie in a request.
    pub(crate) fn read<'a>(&self, headers: &'a HeaderMap) -> Option<&'a str> {
        let name = self.name();
        let cookies = headers.get_all(COOKIE).filter_map(|it| it.to_str().ok());
        let mut pairs = cookies.flat_map(|it| it.split(';')).filter_map(|it| it.split_once('='));
        pairs.find(|(it, _)| it.trim() == name).map(|(_, value)| value.trim())
    }

    /// Returns the origin of the public URL in lower case, without a path:
    /// `https://pia.example:8443`.
    pub(crate) fn origin(&self) -> &str {
        &self.origin
    }

    /// Returns the value of `Set-Cookie` that sets the cookie.
    pub fn set(&self, value: &str, lifetime: Duration) -> String {
        let name = self.name();
        let secure = if self.is_secure() { "; Secure" } else { "" };
        let seconds = lifetime.as_secs();
        format!("{name}={value}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Strict{secure}")
    }

    /// Returns the value of `Set-Cookie` that removes the cookie.
    pub fn clear(&self) -> String {
        self.set("", Duration::ZERO)
    }

    fn name(&self) -> &'static str {
        if self.is_secure() { SECURE_NAME } else { PLAIN_NAME }
    }

    fn is_secure(&self) -> bool {
        self.origin.starts_with("https://")
    }
}

#[cfg(test)]
mod tests {
    use actix_web::http::header::HeaderValue;

    use super::*;

    #[test]
    fn over_tls_the_cookie_is_bound_to_the_host() {
        let cookie = ConsoleCookie::from_public_url("https://Pia.example:8443/assistant");

        let set = cookie.set("x.y", Duration::from_mins(1));

        assert_eq!(
            set,
            "__Host-pia_console=x.y; Path=/; Max-Age=60; HttpOnly; SameSite=Strict; Secure"
        );
        assert_eq!(cookie.origin(), "https://pia.example:8443");
        assert!(cookie.clear().contains("=; Path=/; Max-Age=0;"));
    }

    #[test]
    fn a_value_is_read_among_other_cookies() {
        let cookie = ConsoleCookie::from_public_url("http://localhost:8080");
        let mut headers = HeaderMap::new();
        assert_eq!(cookie.read(&headers), None);
        headers.append(COOKIE, HeaderValue::from_static("a=b; pia_console=x.y; c=d"));

        assert_eq!(cookie.read(&headers), Some("x.y"));
        assert_eq!(ConsoleCookie::from_public_url("https://localhost").read(&headers), None);
    }
}
