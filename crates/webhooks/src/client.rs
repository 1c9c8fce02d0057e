//! HTTP client for webhooks.
//!
//! `send` has two failures: `Gone` for status 410, and `Later` for everything
//! else, a malformed secret included.

use std::time::Duration;

use async_trait::async_trait;
use pia_assignments::{Webhook, WebhookError, WebhookSender};
use pia_kernel::{LiveSetting, Timestamp, WebhookDeliveryId};
use reqwest::StatusCode;
use rustls::ClientConfig;

use crate::egress::{Egress, EgressSetupError};

/// Time limit of a request, its response included.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(15);

/// Sender of webhooks, to receivers that `Egress` permits.
#[derive(Debug, Clone)]
pub struct WebhookClient {
    egress: Egress,
}

impl WebhookClient {
    /// Creates a client that trusts the certificates of `tls`. `allows_private` permits
    /// receivers in this network, and unencrypted ones.
    pub fn new(
        tls: ClientConfig,
        allows_private: LiveSetting<bool>,
    ) -> Result<Self, EgressSetupError> {
        Ok(Self { egress: Egress::new(tls, allows_private, Some(RESPONSE_TIMEOUT))? })
    }
}

#[async_trait]
impl WebhookSender for WebhookClient {
    fn permits(&self, url: &str) -> bool {
        self.egress.permitted(url).is_some()
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
            self.egress.permitted(&webhook.url).ok_or_else(|| later("the URL is not permitted"))?;
        let id = id.to_string();
        let timestamp = at.micros() / 1_000_000;
        let signature = standardwebhooks::Webhook::new(webhook.secret.expose())
            .and_then(|it| it.sign(&id, timestamp, payload.as_bytes()))
            .map_err(|_malformed| later("the secret is malformed"))?;

        let response = client
            .post(url)
            .header("content-type", "application/json")
            .header("webhook-id", id)
            .header("webhook-timestamp", timestamp)
            .header("webhook-signature", signature)
            .body(payload.to_owned())
            .send()
            .await
            .map_err(|err| later(&reason(&err)))?;
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
    use std::sync::Arc;

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
        let webhook_client = client(false);
        let (http, _) = webhook_client.egress.permitted("https://hooks.example/").unwrap();

        // The resolver of the system knows this name everywhere.
        let err = http.post("https://localhost:1/").send().await.unwrap_err();

        assert_eq!(reason(&err), "the host has no address on the public internet");
    }

    #[tokio::test]
    async fn private_addresses_are_connected_to_only_if_permitted() {
        let webhook = Webhook {
            url: "https://127.0.0.1:1/".to_owned(),
            secret: Secret::new("whsec_AAAA".to_owned()),
        };
        let id = WebhookDeliveryId::generate();

        let unpermitted = client(false).send(&webhook, id, "{}", Timestamp::UNIX_EPOCH).await;
        let permitted = client(true).send(&webhook, id, "{}", Timestamp::UNIX_EPOCH).await;

        assert_eq!(unpermitted, Err(WebhookError::Later("the URL is not permitted".to_owned())));
        let Err(WebhookError::Later(reason)) = permitted else { panic!("{permitted:?}") };
        assert!(reason.contains("refused"), "{reason}");
    }
}
