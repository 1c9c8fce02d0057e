//! Requests to addresses that administrators enter: bounded, without redirects and
//! proxies, and to the public internet only unless more is permitted.
//!
//! `permitted` decides by the text of a URL. A host name may still lead into
//! this network, so that the client for public addresses decides again by the
//! addresses of the name (`PublicResolver`).

use std::sync::Arc;
use std::time::Duration;

use pia_kernel::LiveSetting;
use reqwest::redirect::Policy;
use reqwest::{Client, ClientBuilder};
use rustls::ClientConfig;
use url::{Host, Url};

use crate::public_network::{PublicResolver, is_public};

/// Timeout for establishing a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// Error that prevents the clients from being created.
#[derive(Debug, thiserror::Error)]
#[error("the HTTP client could not be created")]
pub struct EgressSetupError(#[from] reqwest::Error);

/// HTTP clients for addresses that administrators enter.
#[derive(Debug, Clone)]
pub struct Egress {
    /// Client that connects to public addresses only.
    public: Client,
    /// Client that connects to any address.
    unrestricted: Client,
    /// True if addresses in this network are permitted, and unencrypted ones.
    allows_private: LiveSetting<bool>,
}

impl Egress {
    /// Creates clients that trust the certificates of `tls`. `response_timeout` limits
    /// the time of a request with its response; without it a response may be a stream.
    pub fn new(
        tls: ClientConfig,
        allows_private: LiveSetting<bool>,
        response_timeout: Option<Duration>,
    ) -> Result<Self, EgressSetupError> {
        let builder = |tls| match response_timeout {
            Some(limit) => builder(tls).timeout(limit),
            None => builder(tls),
        };
        let public = builder(tls.clone()).dns_resolver(Arc::new(PublicResolver)).build()?;
        Ok(Self { public, unrestricted: builder(tls).build()?, allows_private })
    }

    /// Returns the client for a URL, and the URL; `None` if it is not permitted.
    pub fn permitted(&self, url: &str) -> Option<(&Client, Url)> {
        let url = Url::parse(url).ok()?;
        let host = url.host()?;
        if !url.username().is_empty() || url.password().is_some() {
            return None;
        }
        if *self.allows_private.get() {
            return matches!(url.scheme(), "https" | "http").then_some((&self.unrestricted, url));
        }

        let is_outside = match host {
            Host::Domain(name) => {
                name.contains('.') && name != "localhost" && !name.ends_with(".localhost")
            }
            Host::Ipv4(address) => is_public(address.into()),
            Host::Ipv6(address) => is_public(address.into()),
        };

        (url.scheme() == "https" && is_outside).then_some((&self.public, url))
    }
}

fn builder(tls: ClientConfig) -> ClientBuilder {
    Client::builder()
        .tls_backend_preconfigured(tls)
        .no_proxy()
        .redirect(Policy::none())
        .retry(reqwest::retry::never())
        .referer(false)
        .connect_timeout(CONNECT_TIMEOUT)
        .user_agent(concat!("pia-server/", env!("CARGO_PKG_VERSION")))
}
