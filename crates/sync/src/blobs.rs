//! Encrypted parts of an item: the server cannot read them, but checks their
//! form.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};

use crate::item::ItemRejection;

const PAYLOAD: &str = "encryptedPayload";
const WRAPPED: &str = "wrappedDek";
/// Keys of both blobs.
pub(crate) const BLOB_KEYS: [&str; 2] = [PAYLOAD, WRAPPED];

/// Minimum size of a payload: a nonce, a ciphertext and a tag.
const MIN_PAYLOAD_BYTES: usize = 12 + 1 + 16;
/// Size of a wrapped key: a nonce, a key of 32 bytes, and a tag.
const WRAPPED_KEY_BYTES: usize = 12 + 32 + 16;

/// Returns whether an item is encrypted. An item that is only partly encrypted,
/// or whose blobs no device could read, is rejected: it would block every
/// device that receives it.
pub(crate) fn check(fields: &Map<String, Value>) -> Result<bool, ItemRejection> {
    match (fields.get(PAYLOAD), fields.get(WRAPPED)) {
        (None, None) => Ok(false),
        (Some(payload), Some(wrapped)) => {
            let payload = decoded_length(payload)?;
            if payload < MIN_PAYLOAD_BYTES || decoded_length(wrapped)? != WRAPPED_KEY_BYTES {
                return Err(ItemRejection::InvalidBlobs);
            }
            Ok(true)
        }
        (Some(_), None) | (None, Some(_)) => Err(ItemRejection::MissingBlobs),
    }
}

/// Returns the decoded length of a blob in bytes.
fn decoded_length(blob: &Value) -> Result<usize, ItemRejection> {
    let text = blob.as_str().ok_or(ItemRejection::InvalidBlobs)?;
    if text.len() > crate::item::MAX_ITEM_BYTES {
        return Err(ItemRejection::TooLarge);
    }
    Ok(STANDARD.decode(text).map_err(|_err| ItemRejection::InvalidBlobs)?.len())
}

#[cfg(test)]
pub(crate) mod tests {
    use serde_json::json;

    use super::*;

    /// Sample payload of thirty bytes.
    pub(crate) const PAYLOAD: &str = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";
    /// Sample wrapped key of sixty bytes.
    pub(crate) const WRAPPED: &str =
        "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";

    fn checked(fields: &Value) -> Result<bool, ItemRejection> {
        check(fields.as_object().unwrap())
    }

    fn blobs(payload: impl Into<Value>, wrapped: impl Into<Value>) -> Value {
        json!({ "encryptedPayload": payload.into(), "wrappedDek": wrapped.into() })
    }

    #[test]
    fn an_item_is_encrypted_with_both_blobs_or_not_at_all() {
        assert_eq!(checked(&json!({})), Ok(false));
        assert_eq!(checked(&blobs(PAYLOAD, WRAPPED)), Ok(true));
        for half in [json!({ "encryptedPayload": PAYLOAD }), json!({ "wrappedDek": WRAPPED })] {
            assert_eq!(checked(&half), Err(ItemRejection::MissingBlobs));
        }
    }

    #[test]
    fn blobs_that_no_device_could_read_are_rejected() {
        let short = STANDARD.encode([0; 28]);
        for (payload, wrapped) in [
            ("not base64!", WRAPPED),
            ("AAA", WRAPPED),
            ("", WRAPPED),
            (short.as_str(), WRAPPED),
            (PAYLOAD, PAYLOAD),
            (PAYLOAD, "AA AA"),
        ] {
            assert_eq!(
                checked(&blobs(payload, wrapped)),
                Err(ItemRejection::InvalidBlobs),
                "{payload}"
            );
        }
        assert_eq!(checked(&blobs(7, WRAPPED)), Err(ItemRejection::InvalidBlobs));
        assert_eq!(checked(&blobs("A".repeat(1_400_004), WRAPPED)), Err(ItemRejection::TooLarge));
    }
}
