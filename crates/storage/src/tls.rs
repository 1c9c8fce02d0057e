//! TLS to PostgreSQL, as libpq's `sslmode` and `sslrootcert` describe it.
//!
//! The modes differ in what `verifier.rs` checks: nothing (`prefer`, `require`), the chain
//! (`verify-ca`), or also the name (`verify-full`).

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};

use crate::error::OpenDatabaseError;
use crate::verifier::{Trust, Trusted, Verifier};

/// Required security of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum TlsMode {
    /// Connection is never encrypted.
    Disable,
    /// Encrypted if the server can.
    #[default]
    Prefer,
    /// Encrypted, to any server.
    Require,
    /// Encrypted, to a server with a trusted chain.
    VerifyCa,
    /// Encrypted, to the named host with a trusted chain.
    VerifyFull,
}

/// Root certificates that a server's chain may end in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Roots {
    /// Root certificates of this machine.
    System,
    /// Certificates in a PEM file, and no others.
    File(PathBuf),
}

/// TLS settings of a connection string.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TlsSettings {
    pub(crate) mode: TlsMode,
    pub(crate) roots: Roots,
}

impl TlsSettings {
    /// Returns the configuration of rustls; `None` if TLS is disabled.
    pub(crate) fn client(&self) -> Result<Option<ClientConfig>, OpenDatabaseError> {
        let trust = match self.mode {
            TlsMode::Disable => return Ok(None),
            TlsMode::Prefer | TlsMode::Require => Trust::AnyServer,
            TlsMode::VerifyCa => Trust::Chain(self.roots.load()?),
            TlsMode::VerifyFull => Trust::ChainAndName(self.roots.load()?),
        };

        // Explicit, because a process-wide default could be set by any crate.
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let verifier = Verifier::new(trust, provider.signature_verification_algorithms);
        let client = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|err| OpenDatabaseError::Tls(err.to_string()))?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(verifier))
            .with_no_client_auth();

        Ok(Some(client))
    }
}

impl Roots {
    fn load(&self) -> Result<Trusted, OpenDatabaseError> {
        match self {
            Self::System => load_system_roots(),
            Self::File(path) => load_roots(path),
        }
    }
}

fn load_system_roots() -> Result<Trusted, OpenDatabaseError> {
    let loaded = rustls_native_certs::load_native_certs();
    let mut store = RootCertStore::empty();
    let (added, _) = store.add_parsable_certificates(loaded.certs);
    if added == 0 {
        let why =
            loaded.errors.first().map_or_else(|| "there are none".into(), ToString::to_string);
        return Err(OpenDatabaseError::SystemRoots(why));
    }
    Ok(Trusted { store, named: Vec::new() })
}

fn load_roots(path: &Path) -> Result<Trusted, OpenDatabaseError> {
    let failed = |why: String| OpenDatabaseError::Roots(path.to_owned(), why);
    let pem = std::fs::read(path).map_err(|err| failed(err.to_string()))?;
    let named = CertificateDer::pem_slice_iter(&pem)
        .collect::<Result<Vec<_>, _>>()
        .map_err(|err| failed(err.to_string()))?;
    if named.is_empty() {
        return Err(failed("it holds no certificate in PEM form".to_owned()));
    }

    let mut store = RootCertStore::empty();
    for certificate in &named {
        store.add(certificate.clone()).map_err(|err| failed(err.to_string()))?;
    }

    Ok(Trusted { store, named })
}
