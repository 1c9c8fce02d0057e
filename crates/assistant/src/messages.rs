//! The messages of a request, checked without copying them.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, SeqAccess, Visitor};
use serde_json::value::RawValue;

use crate::address::may_lie_within;
use crate::error::Violation;
use crate::json::{Elements, Members};
use crate::sample::Text;

/// A request that is wrong everywhere is told so this often.
const MOST_VIOLATIONS: usize = 20;
const ROLES: [&str; 6] = ["system", "developer", "user", "assistant", "tool", "function"];

/// What an image costs, roughly, whatever its bytes.
const TOKENS_OF_AN_IMAGE: i64 = 1000;
/// About so many bytes of a file or a recording, written in base64, make a token.
const BYTES_OF_A_MEDIA_TOKEN: usize = 32;
/// Beyond this a text is not unescaped only to be counted.
const LONGEST_UNESCAPED: usize = 1024 * 1024;
/// What surrounds each message.
const TOKENS_OF_A_MESSAGE: i64 = 4;

/// What is known of messages that were looked through.
#[derive(Debug, Clone, Default)]
pub(crate) struct Spoken {
    /// What their tokens are counted by.
    pub(crate) text: Text,
    /// Whether there are pictures among them.
    pub(crate) pictures: bool,
    /// The first part that names something by an address that may lie within a
    /// network, where whoever answers would fetch it.
    pub(crate) address: Option<String>,
}

/// Checks the messages, and gathers what their tokens are counted by.
pub(crate) fn check(messages: Option<&RawValue>, wrong: &mut Vec<Violation>) -> Spoken {
    let mut spoken = Spoken::default();
    let Some(messages) = messages else {
        wrong.push(Violation::new("messages", "required", "The messages are missing."));
        return spoken;
    };
    let Ok(Elements { first, count }) = serde_json::from_str(messages.get()) else {
        wrong.push(Violation::new("messages", "invalid_type", "The messages must be an array."));
        return spoken;
    };
    if count == 0 {
        wrong.push(Violation::new("messages", "empty", "There must be at least one message."));
    }
    if count > Elements::MOST {
        let message = format!("There must not be more than {} messages.", Elements::MOST);
        wrong.push(Violation::new("messages", "too_many", message));
        return spoken;
    }
    for (at, message) in first.into_iter().enumerate() {
        check_message(at, message, &mut spoken, wrong);
        spoken.pictures |= message.get().contains("image_url");
        if wrong.len() >= MOST_VIOLATIONS {
            break;
        }
    }
    spoken
}

#[derive(Deserialize)]
struct Message<'a> {
    #[serde(borrow)]
    role: Option<&'a RawValue>,
    #[serde(borrow)]
    content: Option<&'a RawValue>,
    #[serde(borrow)]
    tool_calls: Option<&'a RawValue>,
}

fn check_message(at: usize, json: &RawValue, spoken: &mut Spoken, wrong: &mut Vec<Violation>) {
    // serde would take an array for a struct, too.
    let message = json.get().starts_with('{').then(|| serde_json::from_str(json.get()));
    let Some(Ok(Message { role, content, tool_calls })) = message else {
        let message = "A message must be an object with each key once.";
        wrong.push(Violation::new(format!("messages[{at}]"), "invalid_type", message));
        return;
    };
    check_role(at, role, wrong);
    let text = &mut spoken.text;
    text.besides = text.besides.saturating_add(TOKENS_OF_A_MESSAGE);
    if let Some(calls) = tool_calls {
        text.words.add(calls.get().as_bytes());
    }
    let mut content_of = Content { text, address: None };
    let is_content = content.is_none_or(|it| content_of.add(it));
    if let Some((part, key)) = content_of.address {
        let field = || format!("messages[{at}].content[{part}].{key}");
        spoken.address.get_or_insert_with(field);
    }
    if !is_content {
        let message = "The content must be a string, an array of parts, or null.";
        wrong.push(Violation::new(format!("messages[{at}].content"), "invalid_type", message));
    }
}

fn check_role(at: usize, role: Option<&RawValue>, wrong: &mut Vec<Violation>) {
    #[derive(Deserialize)]
    struct Name<'a>(#[serde(borrow)] Cow<'a, str>);

    let (code, message) = match role.map(|it| serde_json::from_str(it.get())) {
        Some(Ok(Name(role))) if ROLES.contains(&role.as_ref()) => return,
        Some(Ok(_)) => ("unknown_value", format!("The role must be one of {}.", ROLES.join(", "))),
        Some(Err(_)) => ("invalid_type", "The role must be a string.".to_owned()),
        None => ("required", "The role is missing.".to_owned()),
    };
    wrong.push(Violation::new(format!("messages[{at}].role"), code, message));
}

/// What is gathered of one content.
struct Content<'t> {
    text: &'t mut Text,
    /// The first part that names something by such an address, and where in it.
    address: Option<(usize, &'static str)>,
}

impl Content<'_> {
    /// Adds a content to the text. Answers whether it is of a shape we know.
    fn add(&mut self, content: &RawValue) -> bool {
        match content.get().as_bytes().first() {
            Some(b'"') => add_words(content.get(), self.text),
            Some(b'[') => return PartsInto(self).deserialize(content).is_ok(),
            _ => return false,
        }
        true
    }
}

/// Adds a JSON string. Of a long one, escapes count as they are written.
fn add_words(json: &str, text: &mut Text) {
    let escaped =
        json.len() <= LONGEST_UNESCAPED && memchr::memchr(b'\\', json.as_bytes()).is_some();
    match escaped.then(|| serde_json::from_str::<String>(json)) {
        Some(Ok(unescaped)) => text.words.add(unescaped.as_bytes()),
        _ => text.words.add(json.trim_matches('"').as_bytes()),
    }
}

/// Adds an array of parts, of which none is kept.
struct PartsInto<'c, 't>(&'c mut Content<'t>);

#[derive(Deserialize)]
struct Part<'a> {
    #[serde(borrow)]
    text: Option<&'a RawValue>,
    #[serde(borrow)]
    image_url: Option<&'a RawValue>,
    #[serde(borrow)]
    video_url: Option<&'a RawValue>,
    #[serde(borrow)]
    audio_url: Option<&'a RawValue>,
    #[serde(borrow)]
    file: Option<&'a RawValue>,
    #[serde(borrow)]
    input_audio: Option<&'a RawValue>,
}

impl<'de> DeserializeSeed<'de> for PartsInto<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for PartsInto<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array of parts")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        let mut at = 0;
        while let Some(part) = seq.next_element::<Part<'de>>()? {
            if self.0.address.is_none() {
                self.0.address = part.address().map(|key| (at, key));
            }
            at += 1;
            let text = &mut *self.0.text;
            if let Some(words) = part.text {
                add_words(words.get(), text);
            }
            if part.image_url.is_some() {
                text.besides = text.besides.saturating_add(TOKENS_OF_AN_IMAGE);
            }
            for media in [part.file, part.input_audio].into_iter().flatten() {
                let bytes = i64::try_from(media.get().len() / BYTES_OF_A_MEDIA_TOKEN);
                text.besides = text.besides.saturating_add(bytes.unwrap_or(i64::MAX));
            }
        }
        Ok(())
    }
}

impl Part<'_> {
    /// What of it names something by its address: `image_url.url`.
    fn address(&self) -> Option<&'static str> {
        let shown = [
            ("image_url.url", self.image_url),
            ("video_url.url", self.video_url),
            ("audio_url.url", self.audio_url),
        ];
        let shown = shown.into_iter().find(|(_, it)| it.is_some_and(is_shown_by_address));
        let file = || self.file.is_some_and(is_kept_elsewhere).then_some("file");
        shown.map(|(key, _)| key).or_else(file)
    }
}

/// Whether a picture, or the like, is not in the request. Some take the bare
/// text for the object around it.
fn is_shown_by_address(shown: &RawValue) -> bool {
    #[derive(Deserialize)]
    struct Shown<'a> {
        #[serde(borrow)]
        url: Option<&'a RawValue>,
    }
    let url = match shown.get().as_bytes().first() {
        Some(b'{') => match serde_json::from_str::<Shown<'_>>(shown.get()) {
            Ok(Shown { url }) => url.map(RawValue::get),
            // With a key twice, who knows which one is read.
            Err(_) => return true,
        },
        _ => Some(shown.get()),
    };
    let is_text = url.filter(|it| it.starts_with('"'));
    is_text.is_some_and(|it| !is_data(it) && lies_within(it))
}

/// Whether a file is named by an address in the place of its content or id.
fn is_kept_elsewhere(file: &RawValue) -> bool {
    let members = serde_json::from_str::<Members<'_>>(file.get());
    members.is_ok_and(|it| {
        it.iter().any(|(key, value)| {
            key != "filename"
                && value.starts_with('"')
                && !is_data(value)
                && names_a_scheme(value)
                && lies_within(value)
        })
    })
}

/// Whether a JSON string holds what it stands for, as a `data:` address.
fn is_data(json: &str) -> bool {
    json.get(1..6).is_some_and(|it| it.eq_ignore_ascii_case("data:"))
}

/// Whether a JSON string is an address that may lie within a network.
fn lies_within(json: &str) -> bool {
    let read = serde_json::from_str::<Cow<'_, str>>(json);
    read.map_or(true, |it| may_lie_within(&it))
}

/// Whether a JSON string begins as an address does, be it with escapes.
fn names_a_scheme(json: &str) -> bool {
    let start: String = json.chars().take(64).collect();
    start.contains(':') || start.contains('\\')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fakes::Letters;

    fn checked(json: &str) -> (i64, Vec<(String, &'static str)>) {
        let mut wrong = Vec::new();
        let raw: &RawValue = serde_json::from_str(json).unwrap();
        let spoken = check(Some(raw), &mut wrong);
        (spoken.text.tokens(&Letters), wrong.into_iter().map(|it| (it.field, it.code)).collect())
    }

    #[test]
    fn what_clients_send_is_taken() {
        let json = r#"[
            {"role":"system","content":"12345678"},
            {"role":"user","content":[{"type":"text","text":"1234"},
                {"type":"image_url","image_url":{"url":"data:image/jpeg;base64,AAAA"}}]},
            {"role":"assistant","content":null,"tool_calls":[1]},
            {"role":"tool","tool_call_id":"x","content":""},
            {"role":"assistant"}
        ]"#;

        assert_eq!(checked(json), (5 * 4 + 8 + 4 + 1000 + 3, vec![]));
    }

    #[test]
    fn what_is_named_by_its_address_is_found() {
        let address = |part: &str| {
            let text = r#"{"type":"text","text":"http://h"}"#;
            let json = format!(r#"[{{"role":"user","content":[{text},{part}]}}]"#);
            let raw: &RawValue = serde_json::from_str(&json).unwrap();
            let mut wrong = Vec::new();
            let spoken = check(Some(raw), &mut wrong);
            assert!(wrong.is_empty(), "{part}");
            spoken.address.map(|it| it.replace("messages[0].content[1].", ""))
        };

        for fine in [
            r#"{"image_url":{"url":"data:image/png;base64,AAAA"}}"#,
            r#"{"image_url":{"url":"DATA:image/png;base64,AAAA"}}"#,
            r#"{"image_url":"data:image/png;base64,AAAA"}"#,
            r#"{"image_url":{"url":7}}"#,
            r#"{"image_url":null}"#,
            r#"{"image_url":{"url":"https://example.com/x.png"}}"#,
            r#"{"file":{"file_id":"https://example.com/x.pdf"}}"#,
            r#"{"file":{"file_id":"file-7","filename":"http: notes"}}"#,
            r#"{"file":{"file_data":"data:application/pdf;base64,AAAA"}}"#,
            r#"{"file":{"file_data":"AAAA"}}"#,
            r#"{"input_audio":{"data":"AAAA","format":"wav"}}"#,
        ] {
            assert_eq!(address(fine), None, "{fine}");
        }
        for (odd, key) in [
            (r#"{"image_url":{"url":"https://h/x.png"}}"#, "image_url.url"),
            (r#"{"image_url":{"url":" http://169.254.169.254/"}}"#, "image_url.url"),
            (r#"{"image_url":{"url":"\u0068ttp://h"}}"#, "image_url.url"),
            (r#"{"image_url":{"url":"file:///etc/passwd"}}"#, "image_url.url"),
            (r#"{"image_url":{"url":"data:x","url":"http://h"}}"#, "image_url.url"),
            (r#"{"image_url":"http://h"}"#, "image_url.url"),
            (r#"{"video_url":{"url":"http://h"}}"#, "video_url.url"),
            (r#"{"audio_url":{"url":"http://h"}}"#, "audio_url.url"),
            (r#"{"file":{"file_id":"http://h/x.pdf"}}"#, "file"),
            (r#"{"file":{"file_data":"\u0068ttp://h"}}"#, "file"),
        ] {
            assert_eq!(address(odd).as_deref(), Some(key), "{odd}");
        }
    }

    #[test]
    fn each_wrong_message_is_named() {
        let json = r#"[7, ["user","x"], {"content":"x"}, {"role":null}, {"role":1},
            {"role":"root"}, {"role":"user","content":7}, {"role":"user","content":[1]},
            {"role":"user","role":"user"}]"#;

        let (_, wrong) = checked(json);

        let expected = [
            ("messages[0]", "invalid_type"),
            ("messages[1]", "invalid_type"),
            ("messages[2].role", "required"),
            ("messages[3].role", "required"),
            ("messages[4].role", "invalid_type"),
            ("messages[5].role", "unknown_value"),
            ("messages[6].content", "invalid_type"),
            ("messages[7].content", "invalid_type"),
            ("messages[8]", "invalid_type"),
        ];
        assert_eq!(wrong, expected.map(|(field, code)| (field.to_owned(), code)));
    }

    #[test]
    fn there_must_be_some_messages_but_not_too_many() {
        let many = |count| format!("[{}]", vec![r#"{"role":"user"}"#; count].join(","));
        let code = |json: &str| checked(json).1.first().map(|it| it.1);

        assert_eq!(code("[]"), Some("empty"));
        assert_eq!(code("{}"), Some("invalid_type"));
        assert_eq!(code(&many(2000)), None);
        assert_eq!(code(&many(2001)), Some("too_many"));
    }

    #[test]
    fn a_request_that_is_wrong_everywhere_is_not_told_so_everywhere() {
        let json = format!("[{}]", vec!["1"; 1000].join(","));

        assert_eq!(checked(&json).1.len(), 20);
    }

    #[test]
    fn an_escape_is_one_character() {
        let tokens =
            |content: &str| checked(&format!(r#"[{{"role":"user","content":{content}}}]"#)).0;

        assert_eq!(tokens(r#""\u00e4\u00f6x""#), 4 + 3);
        assert_eq!(tokens(r#""äöx""#), 4 + 3);
        assert_eq!(tokens(r#""""#), 4);
    }
}
