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
    let certificate = SigningCertificate::parse(RSA_PEM).unwrap();
    assert_eq!(certificate, SigningCertificate::parse(RSA_DER).unwrap());
    assert_eq!(certificate.der, RSA_DER);
    let hex = certificate.thumbprint.bytes().all(|it| matches!(it, b'0'..=b'9' | b'A'..=b'F'));
    assert!(hex && certificate.thumbprint.len() == 40, "{}", certificate.thumbprint);
    let chain = [RSA_PEM, include_bytes!("data/ec.pem")].concat();
    assert_eq!(SigningCertificate::parse(&chain).unwrap(), certificate);
    let private = b"-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n";
    for wrong in [&b""[..], b"-----BEGIN CERTIFICATE-----", &RSA_DER[..100], private, RSA] {
        assert!(SigningCertificate::parse(wrong).is_err());
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
fn damaged_cabinets_are_refused() {
    let offset = number(RSA, SIGNATURE_OFFSET);
    let length = number(RSA, SIGNATURE_LENGTH);
    let longer = [RSA, &[0; 8]].concat();
    let mut unsigned = RSA[..offset].to_vec();
    unsigned[SIGNATURE_OFFSET..SIGNATURE_OFFSET + 8].fill(0);
    let mut other = RSA[..offset].to_vec();
    other.extend(&RSA_384[number(RSA_384, SIGNATURE_OFFSET)..]);
    let mut moved = [&RSA[..offset], &[0; 8], &RSA[offset..]].concat();
    moved[SIGNATURE_OFFSET..SIGNATURE_OFFSET + 4]
        .copy_from_slice(&u32::try_from(offset + 8).unwrap().to_le_bytes());
    let mut damaged = vec![
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
        RSA[..RSA.len() - 1].to_vec(),
        RSA[..offset].to_vec(),
        RSA[..59].to_vec(),
        longer,
        unsigned,
        other,
        moved,
    ];
    assert!(damaged.len() >= 30);
    // Every signed byte is changed too, as is the signature's frame.
    damaged.extend((8..34).chain(56..offset).map(flipped));
    for (index, file) in damaged.iter().enumerate() {
        assert!(!is_of_signer(file), "mutilation {index}");
    }
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
