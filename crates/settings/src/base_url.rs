//! Base URLs.

use std::fmt;

use url::Url;

use super::error::Reason;
use super::setting::Setting;

/// `https://host/path`, without a trailing slash and without credentials.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BaseUrl(String);

impl BaseUrl {
    pub(super) fn new(scheme: &str, host: &str, path: &str) -> Self {
        Self(format!("{scheme}://{host}{path}"))
    }

    /// Returns the URL, to be prepended to a path that begins with a slash.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the host: a domain in its ASCII form, an IPv6 address in
    /// brackets.
    pub fn host(&self) -> String {
        Url::parse(&self.0).ok().and_then(|it| it.host_str().map(str::to_owned)).unwrap_or_default()
    }

    /// Returns whether its traffic can be intercepted: HTTP to another machine.
    pub(super) fn is_readable(&self) -> bool {
        let Ok(url) = Url::parse(&self.0) else { return true };
        let host = url.host_str().unwrap_or_default();
        let address = host.trim_matches(['[', ']']).parse::<std::net::IpAddr>();
        let is_loopback = host == "localhost" || address.is_ok_and(|it| it.is_loopback());
        url.scheme() == "http" && !is_loopback
    }

    pub(super) fn ends_with(&self, path: &str) -> bool {
        self.0.ends_with(path)
    }
}

impl Setting for BaseUrl {
    const IS_SECRET: bool = false;

    fn parse(text: &str) -> Result<Self, Reason> {
        let form = || Reason::form("expected a URL such as https://pia.example.com");
        let url = Url::parse(text.trim()).map_err(|_err| form())?;
        if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
            return Err(form());
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(Reason::form("expected a URL without a name or a password in it"));
        }
        if url.query().is_some() || url.fragment().is_some() {
            return Err(Reason::form("expected a URL without `?` and `#`"));
        }

        Ok(Self(url.as_str().trim_end_matches('/').to_owned()))
    }

    fn format(&self) -> String {
        self.0.clone()
    }
}

impl fmt::Display for BaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
