//! Tests of intact and damaged signed cabinets. `data/make.sh` makes them.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]

use pia_authenticode::{CabinetError, SigningCertificate, verify_cabinet};

const PLAIN: &[u8] = include_bytes!("data/plain.cab");
const RSA: &[u8] = include_bytes!("data/rsa.cab");
const RSA_384: &[u8] = include_bytes!("data/rsa384.cab");
const EC: &[u8] = include_bytes!("data/ec.cab");
const SHA1: &[u8] = include_bytes!("data/sha1.cab");
const RSA_PEM: &[u8] = include_bytes!("data/rsa.pem");
const RSA_DER: &[u8] = include_bytes!("data/rsa.der");
const EC_DER: &[u8] = include_bytes!("data/ec.der");

/// Offsets of header fields.
const SIZE: usize = 8;
const FIRST_FILE: usize = 16;
const FOLDERS: usize = 26;
const FLAGS: usize = 30;
const NUMBER: usize = 34;
const RESERVED: usize = 36;
const SIGNATURE_OFFSET: usize = 44;
const SIGNATURE_LENGTH: usize = 48;

fn number(file: &[u8], offset: usize) -> usize {
    u32::from_le_bytes(file[offset..offset + 4].try_into().unwrap()).try_into().unwrap()
}

/// Returns the cabinet with these bytes at an offset.
fn with(offset: usize, bytes: &[u8]) -> Vec<u8> {
    let mut file = RSA.to_vec();
    file[offset..offset + bytes.len()].copy_from_slice(bytes);
    file
}

/// Returns the cabinet with one bit of the byte at an offset flipped.
fn flipped(offset: usize) -> Vec<u8> {
    with(offset, &[RSA[offset] ^ 1])
}

/// Returns whether a file is accepted as the signer's.
fn is_of_signer(file: &[u8]) -> bool {
    let signer = SigningCertificate::parse(RSA_DER).unwrap();
    verify_cabinet(file).is_ok_and(|it| it.thumbprint == signer.thumbprint)
}

#[test]
fn a_signed_cabinet_names_its_signer() {
    for (cabinet, certificate, name) in [
        (RSA, RSA_DER, "Example Plugins"),
        (RSA_384, RSA_DER, "Example Plugins"),
        (EC, EC_DER, "Example Curves"),
    ] {
        let signer = verify_cabinet(cabinet).unwrap();
        assert_eq!(signer, SigningCertificate::parse(certificate).unwrap());
        assert_eq!(signer.name, name);
    }
}

#[test]
fn a_certificate_is_read_from_pem_and_der() {
    let chain = [RSA_PEM, include_bytes!("data/ec.pem")].concat();

    let certificate = SigningCertificate::parse(RSA_PEM).unwrap();

    assert_eq!(certificate, SigningCertificate::parse(RSA_DER).unwrap());
    assert_eq!(certificate, SigningCertificate::parse(&chain).unwrap());
    assert_eq!(certificate.der, RSA_DER);
    let thumbprint = &certificate.thumbprint;
    let is_upper_hex = thumbprint.bytes().all(|it| matches!(it, b'0'..=b'9' | b'A'..=b'F'));
    assert_eq!(thumbprint.len(), 40, "{thumbprint}");
    assert!(is_upper_hex, "{thumbprint}");
}

#[test]
fn what_is_no_certificate_is_refused() {
    let private_key = b"-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n";

    for text in [&b""[..], b"-----BEGIN CERTIFICATE-----", &RSA_DER[..100], private_key, RSA] {
        assert!(SigningCertificate::parse(text).is_err());
    }
}

#[test]
fn unsigned_and_weakly_signed_cabinets_are_refused() {
    assert_eq!(verify_cabinet(b""), Err(CabinetError::NotACabinet));
    assert_eq!(verify_cabinet(b"PK\x03\x04"), Err(CabinetError::NotACabinet));
    assert_eq!(verify_cabinet(PLAIN), Err(CabinetError::Unsigned));
    assert_eq!(verify_cabinet(SHA1), Err(CabinetError::Unsupported));
}

#[test]
fn a_changed_header_or_signature_is_refused() {
    let offset = number(RSA, SIGNATURE_OFFSET);
    let length = number(RSA, SIGNATURE_LENGTH);
    let damaged_cabinets = [
        flipped(0),
        flipped(4),
        flipped(SIZE),
        flipped(12),
        flipped(FIRST_FILE),
        with(FIRST_FILE, &[0xff; 4]),
        flipped(24),
        flipped(FOLDERS),
        with(FOLDERS, &[0xff; 2]),
        flipped(28),
        with(FLAGS, &[0, 0]),
        with(FLAGS, &[5, 0]),
        with(FLAGS, &[6, 0]),
        flipped(32),
        flipped(NUMBER),
        flipped(RESERVED),
        flipped(38),
        flipped(39),
        flipped(40),
        with(SIGNATURE_OFFSET, &[0; 4]),
        with(SIGNATURE_OFFSET, &[0xff; 4]),
        with(SIGNATURE_LENGTH, &[0; 4]),
        with(SIGNATURE_LENGTH, &[0xff; 4]),
        flipped(56),
        flipped(60),
        flipped(offset - 1),
        flipped(offset),
        flipped(offset + length / 2),
        flipped(offset + length - 9),
    ];

    for (index, cabinet) in damaged_cabinets.iter().enumerate() {
        assert!(!is_of_signer(cabinet), "cabinet {index}");
    }
}

#[test]
fn a_changed_signed_byte_is_refused() {
    let signature_offset = number(RSA, SIGNATURE_OFFSET);

    for offset in (8..34).chain(56..signature_offset) {
        assert!(!is_of_signer(&flipped(offset)), "byte {offset}");
    }
}

#[test]
fn a_truncated_or_extended_cabinet_is_refused() {
    let offset = number(RSA, SIGNATURE_OFFSET);
    let extended = [RSA, &[0; 8]].concat();

    for cabinet in [&RSA[..RSA.len() - 1], &RSA[..offset], &RSA[..59], &extended] {
        assert!(!is_of_signer(cabinet), "{} bytes", cabinet.len());
    }
}

#[test]
fn a_removed_replaced_or_moved_signature_is_refused() {
    let offset = number(RSA, SIGNATURE_OFFSET);
    let mut unsigned = RSA[..offset].to_vec();
    unsigned[SIGNATURE_OFFSET..SIGNATURE_OFFSET + 8].fill(0);
    let foreign_signature = &RSA_384[number(RSA_384, SIGNATURE_OFFSET)..];
    let resigned = [&RSA[..offset], foreign_signature].concat();
    let mut moved_cabinet = [&RSA[..offset], &[0; 8], &RSA[offset..]].concat();
    let moved_offset = u32::try_from(offset + 8).unwrap();
    moved_cabinet[SIGNATURE_OFFSET..SIGNATURE_OFFSET + 4]
        .copy_from_slice(&moved_offset.to_le_bytes());

    assert!(!is_of_signer(&unsigned));
    assert!(!is_of_signer(&resigned));
    assert!(!is_of_signer(&moved_cabinet));
}

/// Checks that changes are detected, except in the name of the key's algorithm,
/// which the certificate has too, and in the tags of absent parameters.
#[test]
fn a_changed_byte_of_a_signature_is_detected() {
    let signature = number(RSA, SIGNATURE_OFFSET)..RSA.len();
    let undetected = signature.filter(|it| is_of_signer(&flipped(*it))).count();
    assert!(undetected <= 12, "{undetected}");
}

#[test]
fn no_prefix_of_a_cabinet_panics() {
    for length in 0..RSA.len() {
        assert!(verify_cabinet(&RSA[..length]).is_err(), "{length}");
    }
}
