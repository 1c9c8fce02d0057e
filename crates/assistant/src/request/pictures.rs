//! Removal of pictures from a conversation for a model without vision.

use bytes::Bytes;
use serde::Deserialize;
use serde_json::value::RawValue;

use pia_json::{Members, quoted};

#[derive(Deserialize)]
struct ContentPart<'a> {
    #[serde(borrow)]
    image_url: Option<&'a RawValue>,
}

/// Conversation in which each picture is replaced by a text with its number.
pub(crate) struct ExtractedPictures {
    /// Messages as a JSON array.
    pub(crate) messages: Bytes,
    /// Pictures in order: parts of messages as JSON.
    pub(crate) pictures: Vec<Bytes>,
}

/// Replaces each picture by a text. Returns `None` if `messages` is not a JSON
/// array.
pub(crate) fn extract_pictures(
    messages: &Bytes,
    has_vision_tool: bool,
) -> Option<ExtractedPictures> {
    let messages: Vec<Members<'_>> = serde_json::from_slice(messages).ok()?;
    let mut pictures = Vec::new();
    let mut written = Vec::with_capacity(messages.len());
    for mut message in messages {
        let parts = message.get("content").filter(|it| it.starts_with('['));
        let parts: Option<Vec<&RawValue>> = parts.and_then(|it| serde_json::from_str(it).ok());
        if let Some(parts) = parts {
            let replaced: Vec<String> = parts
                .iter()
                .map(|it| replace_picture(it.get(), &mut pictures, has_vision_tool))
                .collect();
            let content = format!("[{}]", replaced.join(","));
            message.set("content", content);
        }

        written.push(message.to_json());
    }

    Some(ExtractedPictures { messages: Bytes::from(format!("[{}]", written.join(","))), pictures })
}

/// Returns a part, or the text that replaces its picture.
fn replace_picture(part: &str, pictures: &mut Vec<Bytes>, has_vision_tool: bool) -> String {
    let is_picture =
        serde_json::from_str::<ContentPart<'_>>(part).is_ok_and(|it| it.image_url.is_some());
    if !is_picture {
        return part.to_owned();
    }

    pictures.push(Bytes::copy_from_slice(part.as_bytes()));
    let number = pictures.len();
    let text = if has_vision_tool {
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

        let parsed: Value = serde_json::from_slice(&messages).unwrap();
        let text = |number: u32| {
            let text = format!("[picture {number}, which cannot be shown to this model]");
            json!({ "type": "text", "text": text })
        };
        assert_eq!(parsed[0], json!({ "role": "user", "content": "text" }));
        assert_eq!(parsed[1]["content"], json!([{ "type": "text", "text": "see" }, text(1)]));
        assert_eq!((&parsed[1]["name"], &parsed[2]["content"]), (&json!("n"), &json!([text(2)])));
        assert_eq!(pictures, [picture.to_string(), picture.to_string()]);
    }
}
