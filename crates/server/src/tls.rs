//! The TLS certificate of the server.

use std::sync::Arc;

use pia_settings::TlsFiles;
use rustls::ServerConfig;
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};

/// Reasons why the certificate cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum CertificateError {
    /// A file cannot be read or is not PEM.
    #[error("SVC-TLS-001: {0} cannot be read: {1}")]
    File(String, #[source] rustls_pki_types::pem::Error),
    /// The certificate and the key do not match.
    #[error("SVC-TLS-002: certificate and key cannot be used: {0}")]
    Pair(#[from] rustls::Error),
}

/// Returns the TLS configuration of a server with these files.
pub(crate) fn server_config(files: &TlsFiles) -> Result<ServerConfig, CertificateError> {
    let path = files.certificate.display().to_string();
    let unreadable = |err| CertificateError::File(path.clone(), err);
    let chain = CertificateDer::pem_file_iter(&files.certificate)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(unreadable)?;
    let key = PrivateKeyDer::from_pem_file(&files.key)
        .map_err(|err| CertificateError::File(files.key.display().to_string(), err))?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    Ok(ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(chain, key)?)
}
