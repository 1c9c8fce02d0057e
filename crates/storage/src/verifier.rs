//! Verification of a server's certificate as the mode requires.

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{verify_server_cert_signed_by_trust_anchor, verify_server_name};
use rustls::crypto::{WebPkiSupportedAlgorithms, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{DigitallySignedStruct, Error, RootCertStore, SignatureScheme};

/// Certificates that are trusted.
#[derive(Debug)]
pub(crate) struct Trusted {
    pub(crate) store: RootCertStore,
    /// Certificates trusted one by one. OpenSSL accepts one of them as a server's own too, the
    /// usual setup for a server with a self-signed certificate; webpki by itself would not.
    pub(crate) named: Vec<CertificateDer<'static>>,
}

/// Required trust in a server.
#[derive(Debug)]
pub(crate) enum Trust {
    /// Any server: only encryption was requested.
    AnyServer,
    /// Servers with a chain to a trusted certificate.
    Chain(Trusted),
    /// Servers with a chain to a trusted certificate for the named host.
    ChainAndName(Trusted),
}

/// Verifier of a certificate as far as the mode requires.
#[derive(Debug)]
pub(crate) struct Verifier {
    trust: Trust,
    algorithms: WebPkiSupportedAlgorithms,
}

impl Verifier {
    pub(crate) fn new(trust: Trust, algorithms: WebPkiSupportedAlgorithms) -> Self {
        Self { trust, algorithms }
    }

    fn verify_chain(
        &self,
        trusted: &Trusted,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<(), Error> {
        if trusted.named.iter().any(|it| it == end_entity) {
            return Ok(());
        }
        let parsed = ParsedCertificate::try_from(end_entity)?;
        let algorithms = self.algorithms.all;
        verify_server_cert_signed_by_trust_anchor(
            &parsed,
            &trusted.store,
            intermediates,
            now,
            algorithms,
        )
    }
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        _: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        match &self.trust {
            Trust::AnyServer => {}
            Trust::Chain(trusted) => self.verify_chain(trusted, end_entity, intermediates, now)?,
            Trust::ChainAndName(trusted) => {
                self.verify_chain(trusted, end_entity, intermediates, now)?;
                verify_server_name(&ParsedCertificate::try_from(end_entity)?, name)?;
            }
        }
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, certificate, signed, &self.algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signed, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}
