//! TLS configuration for upstreams, created once for all clients.

use std::sync::Arc;

use rustls::crypto::ring;
use rustls::{ClientConfig, RootCertStore};

/// Error of a TLS configuration that could not be created.
#[derive(Debug, thiserror::Error)]
#[error("TLS towards the upstreams could not be set up")]
pub struct TlsError(#[from] rustls::Error);

/// Root certificates and configuration of a client. Reading the machine's
/// certificates is slow, so it is done once for the clients of all workers.
#[derive(Debug, Clone)]
pub struct Tls(ClientConfig);

impl Tls {
    /// Loads the machine's root certificates, or those of `SSL_CERT_FILE`.
    ///
    /// No certificates are not an error: the upstream may be a local one
    /// without TLS. A warning is logged, since any other will fail.
    pub fn native() -> Result<Self, TlsError> {
        let native_certs = rustls_native_certs::load_native_certs();
        let mut roots = RootCertStore::empty();
        let (trusted, unreadable) = roots.add_parsable_certificates(native_certs.certs);
        if trusted == 0 {
            tracing::warn!(
                tls.unreadable = unreadable,
                tls.errors = native_certs.errors.len(),
                "no root certificates found; upstreams over TLS are unreachable"
            );
        }

        let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()?
            .with_root_certificates(roots)
            .with_no_client_auth();

        Ok(Self(config))
    }

    /// Returns the configuration for clients of other kinds.
    pub fn config(&self) -> ClientConfig {
        self.0.clone()
    }
}
