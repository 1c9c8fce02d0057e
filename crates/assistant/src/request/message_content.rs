//! Contents of messages, from which tokens are counted.
//!
//! They are visited part by part and never stored, since pictures in them may be large.

use std::fmt;

use pia_json::MemberKey;
use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use crate::request::fetched::address;
use crate::request::sample::PromptText;

/// Rough cost of an image in tokens, regardless of its size.
pub(super) const TOKENS_PER_IMAGE: i64 = 1000;
/// Bytes per token of a file, a recording or a video in Base64, roughly.
const MEDIA_BYTES_PER_TOKEN: usize = 32;
/// Maximum length of a text that is unescaped to be counted. A longer one is
/// counted with its escapes.
const MAX_UNESCAPED_BYTES: usize = 1024 * 1024;

/// Results of checking one content.
pub(super) struct CheckedContent<'t> {
    text: &'t mut PromptText,
    /// Path of the first address in the content: `content[0].image_url.url`.
    pub(super) address: Option<String>,
}

impl<'t> CheckedContent<'t> {
    pub(super) fn new(text: &'t mut PromptText) -> Self {
        Self { text, address: None }
    }

    /// Adds a content to the text. Returns whether it is valid: a string, or an array of parts.
    pub(super) fn add(&mut self, content: &RawValue) -> bool {
        match content.get().as_bytes().first() {
            Some(b'"') => {
                add_words(content.get(), self.text);
                true
            }
            Some(b'[') => PartsVisitor(self).deserialize(content).is_ok(),
            _ => false,
        }
    }

    /// Adds a member of a part. Keys match in any case, as some readers do.
    fn add_member(&mut self, key: &str, value: &RawValue) {
        if value.get() == "null" {
            return;
        }
        let is = |name: &str| key.eq_ignore_ascii_case(name);
        if is("text") {
            add_words(value.get(), self.text);
            return;
        }

        // Types that are newer than this code count by their size, too.
        let media_tokens =
            i64::try_from(value.get().len() / MEDIA_BYTES_PER_TOKEN).unwrap_or(i64::MAX);
        let tokens = if is("image_url") {
            TOKENS_PER_IMAGE
        } else if is("video_url") {
            // A video has a picture at least.
            media_tokens.max(TOKENS_PER_IMAGE)
        } else {
            media_tokens
        };
        self.text.extra_tokens = self.text.extra_tokens.saturating_add(tokens);
    }
}

/// Adds a JSON string. A long one is not unescaped.
fn add_words(json: &str, text: &mut PromptText) {
    let must_unescape =
        json.len() <= MAX_UNESCAPED_BYTES && memchr::memchr(b'\\', json.as_bytes()).is_some();
    match must_unescape.then(|| serde_json::from_str::<String>(json)) {
        Some(Ok(words)) => text.words.add(words.as_bytes()),
        _ => text.words.add(json.trim_matches('"').as_bytes()),
    }
}

/// Visitor that adds an array of parts without storing them.
struct PartsVisitor<'p, 't>(&'p mut CheckedContent<'t>);

impl<'de> DeserializeSeed<'de> for PartsVisitor<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for PartsVisitor<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array of parts")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        let mut index = 0;
        while seq.next_element_seed(PartVisitor { content: &mut *self.0, index })?.is_some() {
            index += 1;
        }
        Ok(())
    }
}

/// Visitor that adds one part.
struct PartVisitor<'p, 't> {
    content: &'p mut CheckedContent<'t>,
    index: usize,
}

impl<'de> DeserializeSeed<'de> for PartVisitor<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for PartVisitor<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a part")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let Self { content, index } = self;
        while let Some((MemberKey(key), value)) =
            map.next_entry::<MemberKey<'de>, &'de RawValue>()?
        {
            if content.address.is_none() {
                content.address =
                    address(&key, value).map(|path| format!("content[{index}].{path}"));
            }
            content.add_member(&key, value);
        }
        Ok(())
    }
}
