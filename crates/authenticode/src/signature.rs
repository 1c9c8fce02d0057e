//! PKCS #7 structure of an Authenticode signature.
//!
//! Three links are verified, from the file to the key: the digest of the file is in
//! the content (`SpcIndirectData`), the digest of the content is in the signed
//! attributes, and the signature is over these attributes. A broken link is
//! `CabinetError::Mismatch`; anything unusual in the structure is malformed.

use cms::cert::CertificateChoices;
use cms::content_info::ContentInfo;
use cms::signed_data::{SignedData, SignerIdentifier, SignerInfo};
use der::asn1::{ObjectIdentifier, OctetString, OctetStringRef};
use der::oid::db::{rfc5911, rfc5912};
use der::{Any, Decode, Encode, Reader, Sequence, SliceReader};
use ring::digest::{self, SHA256, SHA384, SHA512};
use ring::signature::{
    ECDSA_P256_SHA256_ASN1, ECDSA_P256_SHA384_ASN1, ECDSA_P384_SHA256_ASN1, ECDSA_P384_SHA384_ASN1,
    RSA_PKCS1_2048_8192_SHA256, RSA_PKCS1_2048_8192_SHA384, RSA_PKCS1_2048_8192_SHA512,
    UnparsedPublicKey, VerificationAlgorithm,
};
use x509_cert::Certificate;
use x509_cert::spki::AlgorithmIdentifierOwned;

use crate::cabinet::{CabinetError, SignedCabinet};
use crate::certificate::SigningCertificate;

const SPC_INDIRECT_DATA: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.6.1.4.1.311.2.1.4");
const MALFORMED: CabinetError = CabinetError::Malformed("its signature");

/// Content of the signature: the digest of the file.
#[derive(Sequence)]
struct SpcIndirectData {
    /// Kind of the file.
    data: Any,
    message_digest: DigestInfo,
}

#[derive(Sequence)]
struct DigestInfo {
    algorithm: AlgorithmIdentifierOwned,
    digest: OctetString,
}

/// Verifies that a cabinet file is unchanged since it was signed, with the key
/// of the certificate in it. Returns that certificate; the caller decides
/// whether its holder is trusted.
pub fn verify_cabinet(file: &[u8]) -> Result<SigningCertificate, CabinetError> {
    let cabinet = SignedCabinet::parse(file)?;
    let signed = signed_data(cabinet.signature)?;
    let [signer] = signed.signer_infos.0.as_slice() else { return Err(MALFORMED) };
    if signed.digest_algorithms.as_slice() != [signer.digest_alg.clone()] {
        return Err(MALFORMED);
    }

    let content = signed_content(&signed)?;
    let SpcIndirectData { data: _kind, message_digest: file_digest } =
        content.decode_as().map_err(|_malformed| MALFORMED)?;
    if cabinet.digest(algorithm(&file_digest.algorithm)?).as_ref() != file_digest.digest.as_bytes()
    {
        return Err(CabinetError::Mismatch);
    }

    let hash = algorithm(&signer.digest_alg)?;
    if message_digest(signer)? != digest::digest(hash, content.value()).as_ref() {
        return Err(CabinetError::Mismatch);
    }

    let certificate = signer_certificate(&signed, signer)?;
    let attributes =
        signer.signed_attrs.as_ref().ok_or(MALFORMED)?.to_der().map_err(|_unwritable| MALFORMED)?;
    verify_with(certificate, hash, &attributes, signer.signature.as_bytes())?;

    SigningCertificate::new(certificate).map_err(|_unwritable| MALFORMED)
}

/// Parses the structure, which up to seven bytes of padding may follow.
fn signed_data(bytes: &[u8]) -> Result<SignedData, CabinetError> {
    let mut reader = SliceReader::new(bytes).map_err(|_malformed| MALFORMED)?;
    let info = ContentInfo::decode(&mut reader).map_err(|_malformed| MALFORMED)?;
    let padding_length: usize = reader.remaining_len().try_into().map_err(|_too_long| MALFORMED)?;
    let padding = bytes.get(bytes.len() - padding_length..).unwrap_or_default();
    if padding_length > 7
        || padding.iter().any(|it| *it != 0)
        || info.content_type != rfc5911::ID_SIGNED_DATA
    {
        return Err(MALFORMED);
    }
    info.content.decode_as().map_err(|_malformed| MALFORMED)
}

fn signed_content(signed: &SignedData) -> Result<&Any, CabinetError> {
    let content = &signed.encap_content_info;
    if content.econtent_type != SPC_INDIRECT_DATA {
        return Err(MALFORMED);
    }
    content.econtent.as_ref().ok_or(MALFORMED)
}

fn algorithm(id: &AlgorithmIdentifierOwned) -> Result<&'static digest::Algorithm, CabinetError> {
    match id.oid {
        rfc5912::ID_SHA_256 => Ok(&SHA256),
        rfc5912::ID_SHA_384 => Ok(&SHA384),
        rfc5912::ID_SHA_512 => Ok(&SHA512),
        _ => Err(CabinetError::Unsupported),
    }
}

/// Returns the digest of the content in the signed attributes, which must name
/// its type too.
fn message_digest(signer: &SignerInfo) -> Result<&[u8], CabinetError> {
    let attribute = |oid| {
        let attributes = signer.signed_attrs.as_ref().ok_or(MALFORMED)?;
        let mut matching = attributes.iter().filter(|it| it.oid == oid);
        let (Some(attribute), None) = (matching.next(), matching.next()) else {
            return Err(MALFORMED);
        };
        match attribute.values.as_slice() {
            [value] => Ok(value),
            _ => Err(MALFORMED),
        }
    };

    let kind = attribute(rfc5911::ID_CONTENT_TYPE)?
        .decode_as::<ObjectIdentifier>()
        .map_err(|_malformed| MALFORMED)?;
    if kind != SPC_INDIRECT_DATA {
        return Err(MALFORMED);
    }

    let digest = attribute(rfc5911::ID_MESSAGE_DIGEST)?
        .decode_as::<OctetStringRef<'_>>()
        .map_err(|_malformed| MALFORMED)?;

    Ok(digest.as_bytes())
}

/// Returns the certificate that a signer names.
fn signer_certificate<'a>(
    signed: &'a SignedData,
    signer: &SignerInfo,
) -> Result<&'a Certificate, CabinetError> {
    let SignerIdentifier::IssuerAndSerialNumber(id) = &signer.sid else { return Err(MALFORMED) };
    let is_named = |it: &&Certificate| {
        let contents = &it.tbs_certificate;
        contents.issuer == id.issuer && contents.serial_number == id.serial_number
    };
    signed
        .certificates
        .iter()
        .flat_map(|it| it.0.iter())
        .filter_map(|it| match it {
            CertificateChoices::Certificate(certificate) => Some(certificate),
            CertificateChoices::Other(_) => None,
        })
        .find(is_named)
        .ok_or(MALFORMED)
}

fn verify_with(
    certificate: &Certificate,
    hash: &'static digest::Algorithm,
    message: &[u8],
    signature: &[u8],
) -> Result<(), CabinetError> {
    let key = &certificate.tbs_certificate.subject_public_key_info;
    let curve = || {
        let parameters = key.algorithm.parameters.as_ref();
        parameters.and_then(|it| it.decode_as::<ObjectIdentifier>().ok())
    };

    let bits = |of: &digest::Algorithm| of.output_len() * 8;
    let algorithm: &dyn VerificationAlgorithm = match (key.algorithm.oid, bits(hash)) {
        (rfc5912::RSA_ENCRYPTION, 256) => &RSA_PKCS1_2048_8192_SHA256,
        (rfc5912::RSA_ENCRYPTION, 384) => &RSA_PKCS1_2048_8192_SHA384,
        (rfc5912::RSA_ENCRYPTION, 512) => &RSA_PKCS1_2048_8192_SHA512,
        (rfc5912::ID_EC_PUBLIC_KEY, bits) => match (curve(), bits) {
            (Some(rfc5912::SECP_256_R_1), 256) => &ECDSA_P256_SHA256_ASN1,
            (Some(rfc5912::SECP_256_R_1), 384) => &ECDSA_P256_SHA384_ASN1,
            (Some(rfc5912::SECP_384_R_1), 256) => &ECDSA_P384_SHA256_ASN1,
            (Some(rfc5912::SECP_384_R_1), 384) => &ECDSA_P384_SHA384_ASN1,
            _ => return Err(CabinetError::Unsupported),
        },
        _ => return Err(CabinetError::Unsupported),
    };
    let key = UnparsedPublicKey::new(algorithm, key.subject_public_key.raw_bytes());

    key.verify(message, signature).map_err(|_other| CabinetError::Mismatch)
}
