//! Address of a server's hub, and the credentials for it. The token can be
//! replaced while the pod is connected; the next connection presents the new one.

use std::sync::Arc;

use parking_lot::RwLock;
use pia_kernel::Secret;
use rustls::crypto::ring;
use rustls::{ClientConfig, RootCertStore};
use tokio_tungstenite::Connector;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::http::header::AUTHORIZATION;
use tokio_tungstenite::tungstenite::http::{HeaderValue, Request};
use url::Url;

use crate::error::PodError;

/// Path of the hub below the server's address.
const HUB_PATH: &str = "hubs/pod-uplink";

/// Hub of a server.
#[derive(Debug)]
pub(crate) struct Endpoint {
    url: Url,
    authorization: RwLock<Secret<HeaderValue>>,
    tls: Arc<ClientConfig>,
}

impl Endpoint {
    /// Parses the server's address, and loads the machine's root certificates
    /// or those of `SSL_CERT_FILE`.
    pub(crate) fn new(server: &str, token: &Secret<String>) -> Result<Self, PodError> {
        let authorization = RwLock::new(authorization(token)?);
        Ok(Self {
            url: hub_url(server).ok_or_else(|| PodError::Address(server.to_owned()))?,
            authorization,
            tls: Arc::new(tls_config()?),
        })
    }

    /// Returns whether a text can be a token.
    pub(crate) fn accepts(token: &Secret<String>) -> bool {
        !token.expose().is_empty() && authorization(token).is_ok()
    }

    /// Replaces the token of later connections.
    pub(crate) fn set_token(&self, token: &Secret<String>) -> Result<(), PodError> {
        *self.authorization.write() = authorization(token)?;
        Ok(())
    }

    /// Returns a request for a WebSocket.
    pub(crate) fn request(&self) -> Result<Request<()>, PodError> {
        let Ok(mut request) = self.url.as_str().into_client_request() else {
            return Err(PodError::Address(self.url.to_string()));
        };
        let authorization = self.authorization.read().expose().clone();
        request.headers_mut().insert(AUTHORIZATION, authorization);
        Ok(request)
    }

    pub(crate) fn connector(&self) -> Connector {
        Connector::Rustls(Arc::clone(&self.tls))
    }
}

fn authorization(token: &Secret<String>) -> Result<Secret<HeaderValue>, PodError> {
    let mut value = HeaderValue::try_from(format!("Bearer {}", token.expose()))
        .map_err(|_malformed| PodError::MalformedToken)?;
    value.set_sensitive(true);
    Ok(Secret::new(value))
}

/// Returns the address of the hub that a WebSocket is opened at.
fn hub_url(server: &str) -> Option<Url> {
    let mut url = Url::parse(server).ok()?;
    let scheme = match url.scheme() {
        "https" => "wss",
        "http" => "ws",
        _ => return None,
    };
    url.set_scheme(scheme).ok()?;
    url.path_segments_mut().ok()?.pop_if_empty().extend(HUB_PATH.split('/'));
    Some(url)
}

fn tls_config() -> Result<ClientConfig, PodError> {
    let mut roots = RootCertStore::empty();
    let (trusted, _unreadable) =
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if trusted == 0 {
        tracing::warn!("no root certificates found; servers over TLS are unreachable");
    }
    Ok(ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_no_client_auth())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hub_is_below_the_address_of_the_server() {
        for (server, hub) in [
            ("https://pia.example", "wss://pia.example/hubs/pod-uplink"),
            ("https://pia.example/", "wss://pia.example/hubs/pod-uplink"),
            ("http://127.0.0.1:8080/pia", "ws://127.0.0.1:8080/pia/hubs/pod-uplink"),
        ] {
            assert_eq!(hub_url(server).map(String::from).as_deref(), Some(hub), "{server}");
        }
        for server in ["", "pia.example", "ftp://pia.example", "localhost:80"] {
            assert_eq!(hub_url(server), None, "{server}");
        }
    }
}
