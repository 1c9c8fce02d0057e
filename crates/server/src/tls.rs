//! The TLS certificate of the server: read at the start, watched, and replaced.
//!
//! `ServedCertificate` holds the certificate that new connections get. `process.rs`
//! watches its files and calls `reload` when one changes; `host.rs` reports to
//! administrators when it expires.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use pia_kernel::{LiveSetting, Timestamp};
use pia_settings::TlsFiles;
use rustls::ServerConfig;
use rustls::crypto::CryptoProvider;
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
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

impl CertificateError {
    fn unreadable(path: &Path, err: rustls_pki_types::pem::Error) -> Self {
        Self::File(path.display().to_string(), err)
    }
}

/// Certificate that new connections get. Clones share it.
#[derive(Debug, Clone)]
pub(crate) struct ServedCertificate {
    files: TlsFiles,
    current: LiveSetting<CertifiedKey>,
}

impl ServedCertificate {
    /// Reads the certificate and its key.
    pub(crate) fn load(files: TlsFiles) -> Result<Self, CertificateError> {
        let current = LiveSetting::new(read_pair(&files)?);
        Ok(Self { files, current })
    }

    /// Returns the TLS configuration of a server with this certificate.
    pub(crate) fn server_config(self) -> Result<ServerConfig, CertificateError> {
        Ok(ServerConfig::builder_with_provider(Arc::new(provider()))
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_cert_resolver(Arc::new(self)))
    }

    /// Returns the paths of the files to be watched.
    pub(crate) fn files(&self) -> Vec<PathBuf> {
        vec![self.files.certificate.clone(), self.files.key.clone()]
    }

    /// Reads the files again. A pair that cannot be used changes nothing.
    pub(crate) fn reload(&self) {
        let pair = match read_pair(&self.files) {
            Ok(pair) => pair,
            Err(err) => {
                tracing::warn!(error = %err, "certificate unchanged: the new files cannot be used");
                return;
            }
        };
        // The key matches its certificate, so it is unchanged as well.
        if pair.cert == self.current.get().cert {
            return;
        }

        self.current.set(pair);
        tracing::info!(
            certificate.expires_at = self.expires_at().map(tracing::field::display),
            "certificate replaced"
        );
    }

    /// Returns the time at which the server's own certificate expires, which is the
    /// first of the chain; `None` if it cannot be read.
    pub(crate) fn expires_at(&self) -> Option<Timestamp> {
        let pair = self.current.get();
        let certificate = Certificate::from_der(pair.cert.first()?).ok()?;
        let end = certificate.tbs_certificate.validity.not_after.to_unix_duration();
        Some(Timestamp::UNIX_EPOCH + end)
    }
}

impl ResolvesServerCert for ServedCertificate {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.current.get())
    }
}

fn provider() -> CryptoProvider {
    rustls::crypto::ring::default_provider()
}

/// Reads a certificate chain and its key, which must match.
fn read_pair(files: &TlsFiles) -> Result<CertifiedKey, CertificateError> {
    let chain = CertificateDer::pem_file_iter(&files.certificate)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(|err| CertificateError::unreadable(&files.certificate, err))?;
    let key = PrivateKeyDer::from_pem_file(&files.key)
        .map_err(|err| CertificateError::unreadable(&files.key, err))?;
    Ok(CertifiedKey::from_der(chain, key, &provider())?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_the_first_certificate_counts() {
        let folder = tempfile::tempdir().unwrap();
        let files = TlsFiles {
            certificate: folder.path().join("chain.pem"),
            key: folder.path().join("server.key"),
        };
        let mut server = rcgen::CertificateParams::new(["pia.example".to_owned()]).unwrap();
        server.not_after = rcgen::date_time_ymd(2030, 1, 1);
        let authority = rcgen::CertificateParams::new(["ca.example".to_owned()]).unwrap();
        let key = rcgen::KeyPair::generate().unwrap();
        let chain = [server, authority].map(|it| it.self_signed(&key).unwrap().pem());
        std::fs::write(&files.certificate, chain.concat()).unwrap();
        std::fs::write(&files.key, key.serialize_pem()).unwrap();

        let certificate = ServedCertificate::load(files).unwrap();

        let new_year_2030 = Timestamp::from_micros(1_893_456_000_000_000);
        assert_eq!(certificate.expires_at(), Some(new_year_2030));
    }
}
