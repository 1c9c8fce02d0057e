//! Port of the reader of files that administrators upload; implemented in `uploads`.

use async_trait::async_trait;
use bytes::Bytes;

/// Reader of uploaded files.
#[cfg_attr(any(test, feature = "mock"), mockall::automock)]
#[async_trait]
pub trait UploadReader: Send + Sync {
    /// Verifies that a file is a cabinet with a valid Authenticode signature.
    async fn package(&self, file: Bytes) -> Result<SignedPackage, UnusableUpload>;

    /// Converts a PNG, JPEG, GIF, BMP or ICO image to a PNG of at most 256 by
    /// 256 pixels.
    async fn icon(&self, file: Bytes) -> Result<Bytes, UnusableUpload>;

    /// Parses an X.509 certificate in PEM or DER.
    fn certificate(&self, file: &[u8]) -> Result<ParsedCertificate, UnusableUpload>;
}

/// Reason why an uploaded file is unusable.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct UnusableUpload(pub String);

/// Signed package.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignedPackage {
    /// SHA-256 of the file, as 64 lower-case hex digits.
    pub hash: String,
    /// Size in bytes.
    pub size: u64,
    /// SHA-1 of the signer's certificate, as 40 upper-case hex digits.
    pub signer: String,
}

/// Certificate of a signer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParsedCertificate {
    /// Name of its holder.
    pub name: String,
    /// SHA-1 of the certificate, as 40 upper-case hex digits.
    pub thumbprint: String,
    /// Certificate in DER.
    pub der: Vec<u8>,
}
