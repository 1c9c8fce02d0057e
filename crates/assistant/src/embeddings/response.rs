//! Responses of embedding models.
//!
//! Clients decode vectors in the encoding that they requested, without looking at them, and
//! match them with their inputs. An upstream may ignore the encoding; then they are converted.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use pia_json::{Members, quoted};

/// Encoding of the vectors of a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum VectorEncoding {
    Floats,
    /// Base64 of the floats in little-endian order.
    Base64,
}

/// Vector of one input.
struct Vector {
    floats: Vec<f32>,
    encoding: VectorEncoding,
}

/// Returns a response with its vectors in this encoding; `None` unless it has
/// one for each input.
pub(super) fn encode(body: Bytes, inputs: usize, encoding: VectorEncoding) -> Option<Bytes> {
    let mut response: Members<'_> = serde_json::from_slice(&body).ok()?;
    let data_json = response.get("data")?.to_owned();
    let mut items: Vec<Members<'_>> = serde_json::from_str(&data_json).ok()?;
    items.sort_by_key(index);
    let is_complete =
        items.len() == inputs && items.iter().zip(0..).all(|(it, at)| index(it) == Some(at));
    if !is_complete {
        return None;
    }

    let mut is_changed = false;
    for item in &mut items {
        let vector = Vector::parse(item.get("embedding")?)?;
        if vector.encoding != encoding {
            item.set("embedding", vector.to_json(encoding)?);
            is_changed = true;
        }
    }

    if !is_changed {
        return Some(body);
    }

    let items_json: Vec<String> = items.iter().map(Members::to_json).collect();
    response.set("data", format!("[{}]", items_json.join(",")));
    Some(Bytes::from(response.to_json()))
}

/// Returns the index of the input that an item is for.
fn index(item: &Members<'_>) -> Option<usize> {
    item.get("index")?.parse().ok()
}

impl Vector {
    fn parse(json: &str) -> Option<Self> {
        if !json.starts_with('"') {
            let floats = serde_json::from_str(json).ok()?;
            return Some(Self { floats, encoding: VectorEncoding::Floats });
        }
        let base64: String = serde_json::from_str(json).ok()?;
        let floats = from_bytes(&STANDARD.decode(base64).ok()?)?;
        Some(Self { floats, encoding: VectorEncoding::Base64 })
    }

    fn to_json(&self, encoding: VectorEncoding) -> Option<String> {
        match encoding {
            VectorEncoding::Floats => serde_json::to_string(&self.floats).ok(),
            VectorEncoding::Base64 => {
                let bytes: Vec<u8> = self.floats.iter().flat_map(|it| it.to_le_bytes()).collect();
                Some(quoted(&STANDARD.encode(bytes)))
            }
        }
    }
}

/// Parses little-endian floats; `None` if the last one is cut.
fn from_bytes(bytes: &[u8]) -> Option<Vec<f32>> {
    bytes.chunks(4).map(|it| it.try_into().ok().map(f32::from_le_bytes)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const FLOATS: &str = r#"{"object":"list","data":[{"index":0,"embedding":[0.5,0.1]}]}"#;
    const BASE64: &str = r#"{"object":"list","data":[{"index":0,"embedding":"AAAAP83MzD0="}]}"#;

    fn encoded(body: &str, inputs: usize, encoding: VectorEncoding) -> Option<String> {
        let encoded = encode(Bytes::from(body.to_owned()), inputs, encoding)?;
        Some(String::from_utf8(encoded.to_vec()).unwrap())
    }

    #[test]
    fn vectors_are_converted_to_the_requested_encoding() {
        for body in [FLOATS, BASE64] {
            assert_eq!(encoded(body, 1, VectorEncoding::Floats).as_deref(), Some(FLOATS));
            assert_eq!(encoded(body, 1, VectorEncoding::Base64).as_deref(), Some(BASE64));
        }
    }

    #[test]
    fn converted_vectors_are_in_the_order_of_their_inputs() {
        let body =
            r#"{"data":[{"index":1,"embedding":"AACAPw=="},{"index":0,"embedding":"AAAAPw=="}]}"#;

        let floats = encoded(body, 2, VectorEncoding::Floats);
        let base64 = encoded(body, 2, VectorEncoding::Base64);

        let sorted = r#"{"data":[{"index":0,"embedding":[0.5]},{"index":1,"embedding":[1.0]}]}"#;
        assert_eq!(floats.as_deref(), Some(sorted));
        assert_eq!(base64.as_deref(), Some(body));
    }

    #[test]
    fn a_response_without_a_vector_for_each_input_is_invalid() {
        for body in [
            "no JSON",
            "{}",
            r#"{"data":[]}"#,
            r#"{"data":[{"embedding":[1]}]}"#,
            r#"{"data":[{"index":0}]}"#,
            r#"{"data":[{"index":5,"embedding":[1]}]}"#,
            r#"{"data":[{"index":0,"embedding":["x"]}]}"#,
            r#"{"data":[{"index":0,"embedding":"abc"}]}"#,
            r#"{"data":[{"index":0,"embedding":"AAAA"}]}"#,
            r#"{"data":[{"index":0,"embedding":[1]},{"index":1,"embedding":[1]}]}"#,
        ] {
            assert_eq!(encoded(body, 1, VectorEncoding::Floats), None, "{body}");
        }
    }
}
