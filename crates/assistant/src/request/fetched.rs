//! Parts of a message that its upstream would fetch.
//!
//! An upstream that fetches addresses could be made to call hosts of its own network.
//! `messages.rs` and `tools.rs` record the first address of a request, and
//! `turn/capable_models.rs` refuses it unless the model's entry passes addresses on.
//! A value that cannot be read with certainty counts as an address.

use std::borrow::Cow;
use std::fmt;

use pia_json::MemberKey;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use crate::request::address::is_address;

/// Maximum depth of the search in a part; anything deeper counts as an address.
const MAX_DEPTH: u8 = 8;
/// Maximum length of an address that is parsed, in bytes of JSON.
const MAX_URL_BYTES: usize = 8 * 1024;
/// Length of the prefix of a long text that is checked.
const CHECKED_PREFIX_BYTES: usize = 256;
/// Keys whose values are texts and never addresses.
const TEXT_KEYS: [&str; 2] = ["text", "filename"];
/// Maximum length in bytes of a key that is repeated to the caller.
const MAX_KEY_BYTES: usize = 40;

/// Returns the path of the first address other than `data:` in the value of a
/// key: `image_url.url`.
///
/// Readers differ in which of two equal keys they use, and some accept keys in
/// any case, so all are checked. Nothing of the value is stored or copied.
pub(crate) fn address(key: &str, value: &RawValue) -> Option<String> {
    address_in_member(key, value, MAX_DEPTH)
}

fn address_in_member(key: &str, value: &RawValue, depth: u8) -> Option<String> {
    if TEXT_KEYS.iter().any(|it| it.eq_ignore_ascii_case(key)) {
        return None;
    }
    let inner = address_in_value(value, AddressRule::for_key(key), depth)?;
    let is_plain_byte = |it: u8| it.is_ascii_alphanumeric() || matches!(it, b'_' | b'-');
    let is_plain_key = key.len() <= MAX_KEY_BYTES && key.bytes().all(is_plain_byte);
    Some(format!("{}{inner}", if is_plain_key { key } else { "?" }))
}

/// Rule by which the texts under a key are addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AddressRule {
    /// Every text other than `data:` is an address, as the key names one.
    Always,
    /// A text is an address if it begins as one.
    IfAddressLike,
}

impl AddressRule {
    fn for_key(key: &str) -> Self {
        let key = key.to_ascii_lowercase();
        let always = key.ends_with("url") || key.ends_with("uri");
        if always { Self::Always } else { Self::IfAddressLike }
    }
}

fn address_in_value(value: &RawValue, rule: AddressRule, depth: u8) -> Option<String> {
    match value.get().as_bytes().first() {
        Some(b'"') => is_remote_address(value.get(), rule).then(String::new),
        Some(b'{' | b'[') => match depth.checked_sub(1) {
            Some(depth) => AddressVisitor { rule, depth }.deserialize(value).unwrap_or_default(),
            None => Some(String::new()),
        },
        _ => None,
    }
}

/// Search in an object or an array.
struct AddressVisitor {
    rule: AddressRule,
    depth: u8,
}

impl<'de> DeserializeSeed<'de> for AddressVisitor {
    type Value = Option<String>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for AddressVisitor {
    type Value = Option<String>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object or an array")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut path = None;
        while let Some((MemberKey(key), value)) =
            map.next_entry::<MemberKey<'de>, &'de RawValue>()?
        {
            if path.is_none() {
                path = address_in_member(&key, value, self.depth);
            }
        }
        Ok(path.map(|it| format!(".{it}")))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        let mut at = 0_usize;
        while let Some(value) = seq.next_element::<&'de RawValue>()? {
            if let Some(inner) = address_in_value(value, self.rule, self.depth) {
                IgnoredAny.visit_seq(seq)?;
                return Ok(Some(format!("[{at}]{inner}")));
            }
            at += 1;
        }
        Ok(None)
    }
}

/// Returns whether a JSON string is an address other than `data:`.
fn is_remote_address(json: &str, rule: AddressRule) -> bool {
    if is_data(json.get(1..).unwrap_or_default()) {
        return false;
    }
    let is_matching = |text: &str| rule == AddressRule::Always || is_address(text);
    if json.len() > MAX_URL_BYTES {
        let start = decode_prefix(json);
        return is_matching(&start) && !is_data(&start);
    }
    let Ok(text) = serde_json::from_str::<Cow<'_, str>>(json) else { return true };
    is_matching(&text) && !is_data(&text)
}

/// Returns whether an address contains its data.
fn is_data(text: &str) -> bool {
    text.get(..5).is_some_and(|it| it.eq_ignore_ascii_case("data:"))
}

/// Returns the start of a long JSON string, without an escape that would be
/// cut.
fn decode_prefix(json: &str) -> String {
    let mut cuts = (0..16).filter_map(|less| json.get(..CHECKED_PREFIX_BYTES - less));
    let decode = |start: &str| serde_json::from_str(&format!("{start}\"")).ok();
    cuts.find_map(decode).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the path of an address in a part.
    fn path_in(json: &str) -> Option<String> {
        let value: &RawValue = serde_json::from_str(json).unwrap();
        address("part", value).map(|it| it.replacen("part", "", 1))
    }

    #[test]
    fn contents_in_the_request_are_accepted() {
        for json in [
            r#"{"image_url":{"url":"data:image/png;base64,AAAA"}}"#,
            r#"{"image_url":{"url":"DATA:image/png;base64,AAAA"}}"#,
            r#"{"image_url":{"url":"\u0064ata:image/png;base64,AAAA"}}"#,
            r#"{"image_url":"data:image/png;base64,AAAA"}"#,
            r#"{"image_url":{"url":7}}"#,
            r#"{"image_url":null}"#,
            r#"{"type":"text","text":"http://h","Text":"http://h"}"#,
            r#"{"file":{"file_id":"file-7","filename":"http: notes"}}"#,
            r#"{"file":{"file_data":"data:application/pdf;base64,AAAA"}}"#,
            r#"{"file":{"file_data":"/9j/4AAQ"}}"#,
            r#"{"input_audio":{"data":"AAAA","format":"wav"}}"#,
            r#"{"source":{"type":"base64","media_type":"image/png","data":"AAAA"}}"#,
        ] {
            assert_eq!(path_in(json), None, "{json}");
        }
        let long_value =
            format!(r#"{{"data":"{}","url":"data:,{}"}}"#, r"\u002B".repeat(9000), "x");
        assert_eq!(path_in(&long_value), None);
    }

    #[test]
    fn an_address_is_found_at_every_position() {
        for (json, path) in [
            (r#"{"image_url":{"url":"https://h/x.png"}}"#, ".image_url.url"),
            (r#"{"image_url":{"url":"https://example.com/x.png"}}"#, ".image_url.url"),
            (r#"{"image_url":{"url":"http://127.0.0.1.nip.io/"}}"#, ".image_url.url"),
            (r#"{"image_url":{"url":""}}"#, ".image_url.url"),
            (r#"{"file":{"file_id":"https://example.com/x.pdf"}}"#, ".file.file_id"),
            (r#"{"source":{"type":"url","url":"https://example.com/"}}"#, ".source.url"),
            (r#"{"image_url":{"url":"http://ex.com\\@10.0.0.1/"}}"#, ".image_url.url"),
            (r#"{"image_url":{"url":" http://169.254.169.254/"}}"#, ".image_url.url"),
            (r#"{"image_url":{"url":"\u0068ttp://h"}}"#, ".image_url.url"),
            (r#"{"image_url":{"url":"file:///etc/passwd"}}"#, ".image_url.url"),
            (r#"{"image_url":{"url":"data:x","url":"http://h"}}"#, ".image_url.url"),
            (r#"{"image_url":{"url":"http://h","url":"data:x"}}"#, ".image_url.url"),
            (r#"{"image_url":{"url":"data:x"},"image_url":"http://h"}"#, ".image_url"),
            (r#"{"image_url":{"url":"data:x","URL":"http://h"}}"#, ".image_url.URL"),
            (r#"{"Image_Url":{"Url":"http://h"}}"#, ".Image_Url.Url"),
            (r#"{"image_url":"http://h"}"#, ".image_url"),
            (r#"{"image_url":["http://h"]}"#, ".image_url[0]"),
            (r#"{"image_url":"nonsense"}"#, ".image_url"),
            (r#"{"video_url":{"url":"http://h"}}"#, ".video_url.url"),
            (r#"{"audio_url":{"url":"http://h"}}"#, ".audio_url.url"),
            (r#"{"file":{"file_id":"http://h/x.pdf"}}"#, ".file.file_id"),
            (r#"{"file":{"file_data":"\u0068ttp://h"}}"#, ".file.file_data"),
            (r#"{"source":{"type":"url","url":"http://10.0.0.1/"}}"#, ".source.url"),
            (r#"{"content":[7,{"source":{"x":"http://h"}}]}"#, ".content[1].source.x"),
            (r#"{"a b":"http://h"}"#, ".?"),
            (r"[[[[[[[[[]]]]]]]]]", "[0][0][0][0][0][0][0][0]"),
        ] {
            assert_eq!(path_in(json).as_deref(), Some(path), "{json}");
        }
        let long_value = format!(r#"{{"x":"\u0068ttp://example.com/{}"}}"#, "x".repeat(9000));
        assert_eq!(path_in(&long_value).as_deref(), Some(".x"));
    }
}
