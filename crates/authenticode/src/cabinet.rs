//! Cabinet files and the location of their signatures.
//!
//! A signed cabinet has 20 bytes of reserved data in its header, which name
//! offset and length of the signature at its end. The signature covers all
//! bytes before it except the checksum, the number in a set and the reserved
//! data.

use ring::digest::{Algorithm, Context, Digest};

const MAGIC: &[u8] = b"MSCF";
/// Length of the header of a signed cabinet.
const HEADER_BYTES: usize = 60;
const FOLDER_BYTES: usize = 8;
/// Flag of a cabinet with reserved data, the only one of a signed cabinet.
const RESERVE_PRESENT: u16 = 4;
/// Sizes of the reserved data in the header, each folder and each data block,
/// and the tag that the data begins with.
const RESERVED: [u8; 8] = [20, 0, 0, 0, 0, 0, 16, 0];

// Offsets in the header of a cabinet ([MS-CAB], 2.1).
const CHECKSUM: usize = 4;
/// First part that the signature covers, up to the number in a set.
const SIGNED_FROM: usize = 8;
const FIRST_FILE: usize = 16;
const FOLDER_COUNT: usize = 26;
const FLAGS: usize = 30;
const NUMBER_IN_SET: usize = 34;
const RESERVE_SIZES: usize = 36;
const SIGNATURE_OFFSET: usize = 44;
const SIGNATURE_LENGTH: usize = 48;
/// Second part that the signature covers, up to the signature. It begins with
/// the last four bytes of the reserved data.
const SIGNED_AGAIN_FROM: usize = 56;

/// Errors that make a cabinet's signature unusable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum CabinetError {
    /// File does not begin like a cabinet.
    #[error("the file is not a cabinet")]
    NotACabinet,
    /// Cabinet is not signed.
    #[error("the cabinet is not signed")]
    Unsigned,
    /// Header or signature is malformed.
    #[error("the cabinet is malformed: {0}")]
    Malformed(&'static str),
    /// Signature uses an algorithm that is unknown or weak.
    #[error("the cabinet is signed with an unsupported algorithm")]
    Unsupported,
    /// Cabinet was changed after it was signed, or signed with another key.
    #[error("the signature does not match the cabinet")]
    Mismatch,
}

/// Cabinet with a signature at its end.
pub(crate) struct SignedCabinet<'a> {
    /// Parts that the signature covers.
    signed_parts: [&'a [u8]; 3],
    /// PKCS #7 structure in DER, possibly padded.
    pub(crate) signature: &'a [u8],
}

impl<'a> SignedCabinet<'a> {
    /// Parses the header.
    pub(crate) fn parse(file: &'a [u8]) -> Result<Self, CabinetError> {
        if !file.starts_with(MAGIC) || file.len() < HEADER_BYTES {
            return Err(CabinetError::NotACabinet);
        }

        let flags = number_at(file, FLAGS, 2)?;
        if flags != u32::from(RESERVE_PRESENT) {
            return Err(if flags & u32::from(RESERVE_PRESENT) == 0 {
                CabinetError::Unsigned
            } else {
                CabinetError::Malformed("it is a part of a set")
            });
        }
        if number_at(file, CHECKSUM, 4)? != 0 || number_at(file, NUMBER_IN_SET, 2)? != 0 {
            return Err(CabinetError::Malformed("its header"));
        }
        if bytes_at(file, RESERVE_SIZES, RESERVED.len())? != RESERVED {
            return Err(CabinetError::Malformed("its reserved data"));
        }

        let offset = size_at(file, SIGNATURE_OFFSET)?;
        let length = size_at(file, SIGNATURE_LENGTH)?;
        if length == 0 {
            return Err(CabinetError::Unsigned);
        }
        if offset.checked_add(length) != Some(file.len()) {
            return Err(CabinetError::Malformed("the place of its signature"));
        }

        let folders = usize::try_from(number_at(file, FOLDER_COUNT, 2)?).unwrap_or(usize::MAX);
        let first_file = folders.saturating_mul(FOLDER_BYTES).saturating_add(HEADER_BYTES);
        if size_at(file, FIRST_FILE)? != first_file || first_file > offset {
            return Err(CabinetError::Malformed("its folders"));
        }

        let signed_parts = [
            MAGIC,
            bytes_at(file, SIGNED_FROM, NUMBER_IN_SET - SIGNED_FROM)?,
            bytes_at(file, SIGNED_AGAIN_FROM, offset - SIGNED_AGAIN_FROM)?,
        ];

        Ok(Self { signed_parts, signature: bytes_at(file, offset, length)? })
    }

    /// Returns the digest of the signed parts.
    pub(crate) fn digest(&self, algorithm: &'static Algorithm) -> Digest {
        let mut context = Context::new(algorithm);
        for part in self.signed_parts {
            context.update(part);
        }
        context.finish()
    }
}

/// Returns a range of the file's bytes.
fn bytes_at(file: &[u8], offset: usize, length: usize) -> Result<&[u8], CabinetError> {
    offset
        .checked_add(length)
        .and_then(|end| file.get(offset..end))
        .ok_or(CabinetError::Malformed("its length"))
}

/// Returns the little-endian number of up to four bytes at an offset.
fn number_at(file: &[u8], offset: usize, length: usize) -> Result<u32, CabinetError> {
    let bytes = bytes_at(file, offset, length)?;
    Ok(bytes.iter().rev().fold(0, |number, byte| number << 8 | u32::from(*byte)))
}

fn size_at(file: &[u8], offset: usize) -> Result<usize, CabinetError> {
    usize::try_from(number_at(file, offset, 4)?)
        .map_err(|_too_large| CabinetError::Malformed("a size"))
}
