//! The TLS certificate of the server.

use std::path::Path;
use std::sync::Arc;

use pia_kernel::Timestamp;
use pia_settings::TlsFiles;
use rustls::ServerConfig;
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use x509_cert::Certificate;
use x509_cert::der::Decode as _;

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

/// Returns the end of the server's own certificate, which is the first in the
/// file; `None` if it cannot be read.
pub(crate) fn expires_at(path: &Path) -> Option<Timestamp> {
    let der = CertificateDer::from_pem_file(path).ok()?;
    let certificate = Certificate::from_der(&der).ok()?;
    let end = certificate.tbs_certificate.validity.not_after.to_unix_duration();
    Some(Timestamp::UNIX_EPOCH + end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_the_first_certificate_counts() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("chain.pem");
        let mut own = rcgen::CertificateParams::new(["pia.example".to_owned()]).unwrap();
        own.not_after = rcgen::date_time_ymd(2030, 1, 1);
        let issuer = rcgen::CertificateParams::new(["ca.example".to_owned()]).unwrap();
        let pem = [own, issuer]
            .map(|it| it.self_signed(&rcgen::KeyPair::generate().unwrap()).unwrap().pem());

        std::fs::write(&path, pem.concat()).unwrap();

        assert_eq!(expires_at(&path), Some(Timestamp::from_micros(1_893_456_000_000_000)));
        assert_eq!(expires_at(&folder.path().join("missing")), None);
    }
}
