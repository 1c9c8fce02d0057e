//! Certificates of signers.

use std::fmt::Write as _;

use der::oid::db::rfc4519::COMMON_NAME;
use der::{Decode, DecodePem, Encode};
use ring::digest::{SHA1_FOR_LEGACY_USE_ONLY, digest};
use x509_cert::Certificate;

/// End of a certificate in PEM.
const PEM_END: &str = "-----END CERTIFICATE-----";

/// Errors that make a certificate unreadable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not an X.509 certificate in PEM or DER")]
pub struct InvalidCertificate;

/// Certificate of a signer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SigningCertificate {
    /// Common name of its holder, or else the full name.
    pub name: String,
    /// SHA-1 of the certificate, as 40 upper-case hex digits.
    pub thumbprint: String,
    /// Certificate in DER.
    pub der: Vec<u8>,
}

impl SigningCertificate {
    /// Parses a certificate in PEM or DER. Of a chain in PEM the first one is
    /// parsed.
    pub fn parse(bytes: &[u8]) -> Result<Self, InvalidCertificate> {
        let trimmed = bytes.trim_ascii();
        let certificate = if trimmed.starts_with(b"-----BEGIN") {
            let pem = std::str::from_utf8(trimmed).map_err(|_no_text| InvalidCertificate)?;
            let end = pem.find(PEM_END).ok_or(InvalidCertificate)? + PEM_END.len();
            let first = pem.get(..end).ok_or(InvalidCertificate)?;
            Certificate::from_pem(format!("{first}\n"))
        } else {
            Certificate::from_der(bytes)
        };
        Self::new(&certificate.map_err(|_malformed| InvalidCertificate)?)
    }

    pub(crate) fn new(certificate: &Certificate) -> Result<Self, InvalidCertificate> {
        let der = certificate.to_der().map_err(|_unwritable| InvalidCertificate)?;
        let thumbprint = digest(&SHA1_FOR_LEGACY_USE_ONLY, &der);
        let hex = thumbprint.as_ref().iter().fold(String::new(), |mut hex, byte| {
            let _infallible = write!(hex, "{byte:02X}");
            hex
        });
        Ok(Self { name: name(certificate), thumbprint: hex, der })
    }
}

/// Returns the common name of the holder, or else the full name.
fn name(certificate: &Certificate) -> String {
    let subject = &certificate.tbs_certificate.subject;
    let common_name = subject
        .0
        .iter()
        .flat_map(|it| it.0.iter())
        .find(|it| it.oid == COMMON_NAME)
        .and_then(|it| std::str::from_utf8(it.value.value()).ok());
    let name = common_name.map_or_else(|| subject.to_string(), str::to_owned);
    name.chars().filter(|it| !it.is_control()).take(255).collect()
}
