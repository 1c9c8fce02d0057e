//! Taking the pictures out of a conversation for a model that sees none.

use bytes::Bytes;
use serde::Deserialize;
use serde_json::value::RawValue;

use pia_json::{Members, quoted};

#[derive(Deserialize)]
struct ContentPart<'a> {
    #[serde(borrow)]
    image_url: Option<&'a RawValue>,
}

/// A conversation in which each picture is a text that names it by its number.
pub(crate) struct ExtractedPictures {
    /// Messages as a JSON array.
    pub(crate) messages: Bytes,
    /// The pictures: parts of messages, as JSON, in their order.
    pub(crate) pictures: Vec<Bytes>,
}

/// Replaces each picture by a text; nothing if `messages` is no JSON array.
pub(crate) fn extract_pictures(
    messages: &Bytes,
    can_be_requested: bool,
) -> Option<ExtractedPictures> {
    let messages: Vec<Members<'_>> = serde_json::from_slice(messages).ok()?;
    let mut pictures = Vec::new();
    let mut written = Vec::with_capacity(messages.len());
    for mut message in messages {
        let parts = message.get("content").filter(|it| it.starts_with('['));
        let parts: Option<Vec<&RawValue>> = parts.and_then(|it| serde_json::from_str(it).ok());
        if let Some(parts) = parts {
            let reported: Vec<String> = parts
                .iter()
                .map(|it| replace_picture(it.get(), &mut pictures, can_be_requested))
                .collect();
            let content = format!("[{}]", reported.join(","));
            message.set("content", content);
        }
        written.push(message.to_json());
    }
    Some(ExtractedPictures { messages: Bytes::from(format!("[{}]", written.join(","))), pictures })
}

/// A part as it goes on.
fn replace_picture(part: &str, pictures: &mut Vec<Bytes>, can_be_requested: bool) -> String {
    let is_picture =
        serde_json::from_str::<ContentPart<'_>>(part).is_ok_and(|it| it.image_url.is_some());
    if !is_picture {
        return part.to_owned();
    }
    pictures.push(Bytes::copy_from_slice(part.as_bytes()));
    let number = pictures.len();
    let text = if can_be_requested {
        format!("[picture {number}: ask what is in it with the tool pia_look_at_picture]")
    } else {
        format!("[picture {number}, which cannot be shown to this model]")
    };
    format!("{{\"type\":\"text\",\"text\":{}}}", quoted(&text))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn each_picture_is_numbered_and_everything_else_stays() {
        let picture = json!({ "type": "image_url", "image_url": { "url": "data:x" } });
        let messages = json!([
            { "role": "user", "content": "text" },
            { "role": "user", "content": [{ "type": "text", "text": "see" }, picture], "name": "n" },
            { "role": "user", "content": [picture] },
        ])
        .to_string();
        let array = Bytes::from(messages);

        let ExtractedPictures { messages, pictures } = extract_pictures(&array, false).unwrap();

        let read: Value = serde_json::from_slice(&messages).unwrap();
        let text = |number: u32| {
            let text = format!("[picture {number}, which cannot be shown to this model]");
            json!({ "type": "text", "text": text })
        };
        assert_eq!(read[0], json!({ "role": "user", "content": "text" }));
        assert_eq!(read[1]["content"], json!([{ "type": "text", "text": "see" }, text(1)]));
        assert_eq!((&read[1]["name"], &read[2]["content"]), (&json!("n"), &json!([text(2)])));
        assert_eq!(pictures, [picture.to_string(), picture.to_string()]);
    }
}
