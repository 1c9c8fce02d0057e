//! Certificates of trusted plugin signers.
//!
//! A plugin's package is accepted only if its signer is listed here; `uploads` finds the
//! signer, and the store compares the thumbprints when it stores a package.

use std::sync::Arc;

use async_trait::async_trait;
use pia_kernel::{CertificateId, Clock, SideEffects, Timestamp, Unavailable, UserId};

use crate::uploads::UploadReader;
use crate::violation::{FormCheck, Violation};

/// Maximum length of a name.
const MAX_NAME_CHARS: usize = 255;

/// Certificate whose holder may sign plugins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrustedCertificate {
    /// Id by which administrators remove it.
    pub id: CertificateId,
    /// Name that administrators chose, or else the one in the certificate.
    pub name: String,
    /// SHA-1 of the certificate, as 40 upper-case hex digits.
    pub thumbprint: String,
    /// Certificate in DER.
    pub der: Vec<u8>,
    /// Time when it was added.
    pub updated_at: Timestamp,
}

/// Errors that prevent a certificate from being trusted or removed.
#[derive(Debug, thiserror::Error)]
pub enum TrustedCertificateError {
    /// Request is invalid.
    #[error("the request is invalid")]
    Invalid(Vec<Violation>),
    /// Certificate is trusted already.
    #[error("the certificate is trusted already")]
    Known,
    /// No such certificate.
    #[error("there is no such certificate")]
    Unknown,
    /// Store is unavailable.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
}

/// Store of trusted certificates. Thumbprints are unique, even if certificates
/// are added concurrently.
#[cfg_attr(any(test, feature = "mock"), mockall::automock)]
#[async_trait]
pub trait CertificateStore: Send + Sync {
    /// Loads all certificates, by name.
    async fn all(&self) -> Result<Vec<TrustedCertificate>, Unavailable>;

    /// Stores a certificate. Returns false if it is stored already.
    async fn add(
        &self,
        certificate: TrustedCertificate,
        effects: SideEffects,
    ) -> Result<bool, Unavailable>;

    /// Removes a certificate. Returns false if there is none.
    async fn remove(&self, id: CertificateId, effects: SideEffects) -> Result<bool, Unavailable>;
}

/// Adds, lists and removes the certificates of trusted signers.
#[derive(Clone)]
pub struct TrustedCertificates {
    store: Arc<dyn CertificateStore>,
    reader: Arc<dyn UploadReader>,
    clock: Arc<dyn Clock>,
}

impl TrustedCertificates {
    /// Creates the use case over a store.
    pub fn new(
        store: Arc<dyn CertificateStore>,
        reader: Arc<dyn UploadReader>,
        clock: Arc<dyn Clock>,
    ) -> Self {
        Self { store, reader, clock }
    }

    /// Returns all certificates, by name.
    pub async fn list(&self) -> Result<Vec<TrustedCertificate>, Unavailable> {
        self.store.all().await
    }

    /// Trusts the holder of a certificate, with this name or the one in the certificate.
    pub async fn add(
        &self,
        by: UserId,
        name: Option<String>,
        file: Option<Vec<u8>>,
    ) -> Result<TrustedCertificate, TrustedCertificateError> {
        let mut check = FormCheck::default();
        let name = check.line("name", name, MAX_NAME_CHARS);
        let reading = file.map(|it| self.reader.certificate(&it));
        if reading.is_none() {
            check.refuse("certificate", "required", "certificate is required.".to_owned());
        }

        if let Some(Err(unusable)) = &reading {
            check.refuse("certificate", "invalid", unusable.to_string());
        }

        let parsed = match reading {
            Some(Ok(parsed)) if check.violations.is_empty() => parsed,
            _ => return Err(TrustedCertificateError::Invalid(check.violations)),
        };

        let certificate = TrustedCertificate {
            id: CertificateId::generate(),
            name: name.unwrap_or(parsed.name),
            thumbprint: parsed.thumbprint,
            der: parsed.der,
            updated_at: self.clock.now(),
        };
        let effects = self.effects(by, certificate.id, "TrustedCertificate.Added");
        let is_new = self.store.add(certificate.clone(), effects).await?;

        if is_new { Ok(certificate) } else { Err(TrustedCertificateError::Known) }
    }

    /// Stops trusting the holder of a certificate. Their plugins stay, but
    /// clients do not start them.
    pub async fn remove(
        &self,
        by: UserId,
        id: CertificateId,
    ) -> Result<(), TrustedCertificateError> {
        let effects = self.effects(by, id, "TrustedCertificate.Removed");
        let was_trusted = self.store.remove(id, effects).await?;
        if was_trusted { Ok(()) } else { Err(TrustedCertificateError::Unknown) }
    }

    fn effects(&self, by: UserId, id: CertificateId, action: &'static str) -> SideEffects {
        let at = self.clock.now();
        let object = format!("certificate:{id}");
        SideEffects::of_object(at, Some(by), object, action)
    }
}
