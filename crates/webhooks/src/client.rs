//! HTTP client for webhooks: bounded, without redirects and proxies.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use pia_assignments::{Webhook, WebhookError, WebhookSender};
use pia_kernel::{LiveSetting, Timestamp, WebhookDeliveryId};
use reqwest::redirect::Policy;
use reqwest::{Client, ClientBuilder, StatusCode};
use rustls::ClientConfig;
use url::{Host, Url};

use crate::public_network::{PublicResolver, is_public};

/// Timeout for establishing a connection.
const CONNECT: Duration = Duration::from_secs(5);
/// Timeout for the response.
const RESPONSE: Duration = Duration::from_secs(15);

/// Error that prevents the client from being created.
#[derive(Debug, thiserror::Error)]
#[error("the client for webhooks could not be created")]
pub struct WebhookSetupError(#[from] reqwest::Error);

/// Client for webhooks.
#[derive(Debug, Clone)]
pub struct WebhookClient {
    /// Client that connects to public addresses only.
    public: Client,
    /// Client that connects to any address.
    unrestricted: Client,
    /// True if receivers in this network are permitted, and unencrypted ones.
    allows_private: LiveSetting<bool>,
}

impl WebhookClient {
    /// Creates a client that trusts the certificates of `tls`.
    pub fn new(
        tls: ClientConfig,
        allows_private: LiveSetting<bool>,
    ) -> Result<Self, WebhookSetupError> {
        let public = builder(tls.clone()).dns_resolver(Arc::new(PublicResolver)).build()?;
        Ok(Self { public, unrestricted: builder(tls).build()?, allows_private })
    }

    /// Returns the client for a URL, and the URL; `None` if it is not permitted.
    fn permitted(&self, url: &str) -> Option<(&Client, Url)> {
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
        .connect_timeout(CONNECT)
        .timeout(RESPONSE)
        .user_agent(concat!("pia-server/", env!("CARGO_PKG_VERSION")))
}

#[async_trait]
impl WebhookSender for WebhookClient {
    fn permits(&self, url: &str) -> bool {
        self.permitted(url).is_some()
    }

    async fn send(
        &self,
        webhook: &Webhook,
        id: WebhookDeliveryId,
        payload: &str,
        at: Timestamp,
    ) -> Result<(), WebhookError> {
        let later = |reason: &str| WebhookError::Later(reason.to_owned());
        let (client, url) =
            self.permitted(&webhook.url).ok_or_else(|| later("the URL is not permitted"))?;
        let (id, timestamp) = (id.to_string(), at.micros() / 1_000_000);
        let signature = standardwebhooks::Webhook::new(webhook.secret.expose())
            .and_then(|it| it.sign(&id, timestamp, payload.as_bytes()))
            .map_err(|_malformed| later("the secret is malformed"))?;
        let request = client
            .post(url)
            .header("content-type", "application/json")
            .header("webhook-id", id)
            .header("webhook-timestamp", timestamp)
            .header("webhook-signature", signature)
            .body(payload.to_owned());
        let response = request.send().await.map_err(|err| later(&reason(&err)))?;
        match response.status() {
            status if status.is_success() => Ok(()),
            StatusCode::GONE => Err(WebhookError::Gone),
            status => Err(later(&format!("status {}", status.as_u16()))),
        }
    }
}

/// Returns why a request failed, without its URL.
fn reason(err: &reqwest::Error) -> String {
    if err.is_timeout() {
        return "no response in time".to_owned();
    }
    let mut cause: &dyn std::error::Error = err;
    while let Some(source) = cause.source() {
        cause = source;
    }
    cause.to_string()
}

#[cfg(test)]
mod tests {
    use pia_kernel::Secret;
    use rustls::RootCertStore;
    use rustls::crypto::ring;

    use super::*;

    fn client(allows_private: bool) -> WebhookClient {
        let tls = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(RootCertStore::empty())
            .with_no_client_auth();
        WebhookClient::new(tls, LiveSetting::new(allows_private)).unwrap()
    }

    #[test]
    fn urls_of_this_network_need_permission() {
        for private in [
            "http://hooks.example/",
            "https://localhost/",
            "https://intranet/",
            "https://a.localhost:1/",
            "https://10.0.0.1/",
            "https://[::1]/",
            "https://0x7f000001/",
            "https://[::ffff:a00:1]/",
        ] {
            assert!(!client(false).permits(private), "{private}");
            assert!(client(true).permits(private), "{private}");
        }
        for never in
            ["", "ftp://hooks.example/", "file:///etc/passwd", "https://a:b@hooks.example/"]
        {
            assert!(!client(true).permits(never), "{never}");
        }
        assert!(client(false).permits("https://hooks.example/a?b=c"));
    }

    #[tokio::test]
    async fn names_of_private_addresses_are_not_connected_to() {
        // The resolver of the system knows this name everywhere.
        let url = Url::parse("https://localhost:1/").unwrap();
        let err = client(false).public.post(url).send().await.unwrap_err();
        assert_eq!(reason(&err), "the host has no address on the public internet");
        let webhook = Webhook {
            url: "https://127.0.0.1:1/".to_owned(),
            secret: Secret::new("whsec_AAAA".to_owned()),
        };
        let id = WebhookDeliveryId::generate();
        let sent = client(false).send(&webhook, id, "{}", Timestamp::UNIX_EPOCH).await;
        assert_eq!(sent, Err(WebhookError::Later("the URL is not permitted".to_owned())));
        let sent = client(true).send(&webhook, id, "{}", Timestamp::UNIX_EPOCH).await;
        let Err(WebhookError::Later(refused)) = sent else { panic!("{sent:?}") };
        assert!(refused.contains("refused"), "{refused}");
    }
}
