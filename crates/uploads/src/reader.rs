//! Reader of uploaded files.

use std::fmt::Write as _;

use async_trait::async_trait;
use bytes::Bytes;
use pia_authenticode::{SigningCertificate, verify_cabinet};
use pia_policy::{ParsedCertificate, SignedPackage, UnusableUpload, UploadReader};
use ring::digest::{SHA256, digest};
use tokio::task::spawn_blocking;

use crate::icon;

/// Reader of uploaded files. Expensive work runs on the runtime's blocking
/// threads.
#[derive(Debug, Clone, Copy, Default)]
pub struct FileReader;

#[async_trait]
impl UploadReader for FileReader {
    async fn package(&self, file: Bytes) -> Result<SignedPackage, UnusableUpload> {
        run(move || {
            let signer = verify_cabinet(&file).map_err(|err| UnusableUpload(sentence(&err)))?;
            let file_digest = digest(&SHA256, &file);
            let hash = file_digest.as_ref().iter().fold(String::new(), |mut hex, byte| {
                let _infallible = write!(hex, "{byte:02x}");
                hex
            });
            Ok(SignedPackage { hash, size: file.len() as u64, signer: signer.thumbprint })
        })
        .await
    }

    async fn icon(&self, file: Bytes) -> Result<Bytes, UnusableUpload> {
        run(move || icon::convert(&file)).await
    }

    fn certificate(&self, file: &[u8]) -> Result<ParsedCertificate, UnusableUpload> {
        let SigningCertificate { name, thumbprint, der } = SigningCertificate::parse(file)
            .map_err(|err| UnusableUpload(format!("The file is {err}.")))?;
        Ok(ParsedCertificate { name, thumbprint, der })
    }
}

/// Runs work on a thread that may block. A panic is an unusable upload.
async fn run<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, UnusableUpload> + Send + 'static,
) -> Result<T, UnusableUpload> {
    spawn_blocking(work)
        .await
        .unwrap_or_else(|_panicked| Err(UnusableUpload("The file can't be read.".to_owned())))
}

/// Returns an error as a sentence.
fn sentence(err: &impl ToString) -> String {
    let text = err.to_string();
    let mut chars = text.chars();
    let first = chars.next().map(|it| it.to_uppercase().to_string()).unwrap_or_default();
    format!("{first}{}.", chars.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    const CABINET: &[u8] = include_bytes!("../../authenticode/tests/data/rsa.cab");
    const CERTIFICATE: &[u8] = include_bytes!("../../authenticode/tests/data/rsa.pem");

    #[tokio::test]
    async fn a_package_is_identified_by_its_hash_and_signer() {
        let package = FileReader.package(Bytes::from_static(CABINET)).await.unwrap();
        let certificate = FileReader.certificate(CERTIFICATE).unwrap();

        assert_eq!(package.signer, certificate.thumbprint);
        assert_eq!(package.size, CABINET.len() as u64);
        assert_eq!(package.hash.len(), 64);
        let hex = |it: u8| matches!(it, b'0'..=b'9' | b'a'..=b'f');
        assert!(package.hash.bytes().all(hex), "{}", package.hash);
    }

    #[tokio::test]
    async fn another_file_is_refused_with_a_sentence() {
        let refused = FileReader.package(Bytes::from_static(b"PK")).await.unwrap_err();
        assert_eq!(refused.to_string(), "The file is not a cabinet.");
        let refused = FileReader.certificate(b"PK").unwrap_err();
        assert_eq!(refused.to_string(), "The file is not an X.509 certificate in PEM or DER.");
    }
}
