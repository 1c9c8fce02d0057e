//! Removal of pictures from a conversation for a model without vision.
//!
//! `tools/server.rs` calls it. When the model calls the tool with the number of a picture, a
//! model with vision describes that picture (`Turn::describe_picture`).

use bytes::Bytes;
use pia_json::{Members, quoted};
use serde::Deserialize;
use serde_json::value::RawValue;

/// Conversation in which each picture is replaced by a text with its number.
pub(crate) struct ExtractedPictures {
    /// Messages as a JSON array.
    pub(crate) messages: Bytes,
    /// Pictures in order: parts of messages as JSON.
    pub(crate) pictures: Vec<Bytes>,
}

#[derive(Deserialize)]
struct ContentPart<'a> {
    #[serde(borrow)]
    image_url: Option<&'a RawValue>,
}

/// Replaces each picture by a text. Returns `None` if `messages` is not a JSON
/// array.
pub(crate) fn extract_pictures(
    messages: &Bytes,
    has_vision_tool: bool,
) -> Option<ExtractedPictures> {
    let messages: Vec<Members<'_>> = serde_json::from_slice(messages).ok()?;
    let mut pictures = Vec::new();
    let mut messages_json = Vec::with_capacity(messages.len());
    for mut message in messages {
        let parts: Option<Vec<&RawValue>> = message
            .get("content")
            .filter(|it| it.starts_with('['))
            .and_then(|it| serde_json::from_str(it).ok());
        if let Some(parts) = parts {
            let parts_json: Vec<String> = parts
                .iter()
                .map(|it| replace_picture(it.get(), &mut pictures, has_vision_tool))
                .collect();
            let content = format!("[{}]", parts_json.join(","));
            message.set("content", content);
        }
        messages_json.push(message.to_json());
    }

    let messages = Bytes::from(format!("[{}]", messages_json.join(",")));
    Some(ExtractedPictures { messages, pictures })
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
        assert_eq!(parsed[1]["name"], "n");
        assert_eq!(parsed[2]["content"], json!([text(2)]));
        assert_eq!(pictures, [picture.to_string(), picture.to_string()]);
    }
}
