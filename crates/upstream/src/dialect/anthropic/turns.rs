//! Messages in Anthropic's format: system messages apart, user and assistant in
//! turn, and tool results as the user's.

use std::collections::BTreeSet;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use pia_assistant::UpstreamError;
use pia_json::{JsonWriter, Rope, RopeMembers};

use crate::dialect::reply::unreadable;

/// Maximum length of a text, as JSON in bytes, that is checked for being blank.
const MAX_BLANK_CHARS: usize = 256;
/// Maximum length of the prefix of a data URL, in bytes before its comma.
const MAX_PREFIX_CHARS: usize = 200;

/// Conversation in Anthropic's format.
#[derive(Debug, Default)]
pub(super) struct Conversation {
    /// Blocks of the system messages.
    pub(super) system: Vec<Rope>,
    turns: Vec<Turn>,
    /// Names of the tools that were called.
    pub(super) called: BTreeSet<String>,
    /// Set if tool results come last.
    pub(super) ends_with_tool_results: bool,
}

#[derive(Debug)]
struct Turn {
    role: Role,
    blocks: Vec<Rope>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    User,
    Assistant,
}

impl Conversation {
    pub(super) fn parse(messages: &Rope) -> Result<Self, UpstreamError> {
        let mut conversation = Self::default();
        for message in messages.elements().ok_or_else(unreadable)? {
            conversation.add(&message.members().ok_or_else(unreadable)?)?;
        }
        conversation.ensure_user_first();
        Ok(conversation)
    }

    /// Writes the turns as JSON.
    pub(super) fn write(&self, writer: &mut JsonWriter) {
        writer.text("[");
        for (nth, turn) in self.turns.iter().enumerate() {
            let role = match turn.role {
                Role::User => r#"{"role":"user","content":["#,
                Role::Assistant => r#"{"role":"assistant","content":["#,
            };
            writer.text(if nth > 0 { "," } else { "" }).text(role);
            writer.list(&turn.blocks).text("]}");
        }
        writer.text("]");
    }

    fn add(&mut self, message: &RopeMembers) -> Result<(), UpstreamError> {
        let content = message.get("content");

        match message.string("role").as_deref() {
            Some("system" | "developer") => {
                self.system.extend(content_blocks(content, text_block)?);
            }
            Some("assistant") => {
                let mut blocks = content_blocks(content, text_block)?;
                let calls = message.get("tool_calls").and_then(Rope::elements);
                for call in calls.iter().flatten() {
                    blocks.extend(self.tool_use(call));
                }
                self.ends_with_tool_results = false;
                self.push_turn(Role::Assistant, blocks);
            }
            Some("tool" | "function") => {
                self.ends_with_tool_results = true;
                self.push_turn(Role::User, vec![tool_result(message)?]);
            }
            _ => {
                self.ends_with_tool_results = false;
                self.push_turn(Role::User, content_blocks(content, part_block)?);
            }
        }

        Ok(())
    }

    fn push_turn(&mut self, role: Role, blocks: Vec<Rope>) {
        match self.turns.last_mut() {
            _ if blocks.is_empty() => {}
            Some(last) if last.role == role => last.blocks.extend(blocks),
            _ => self.turns.push(Turn { role, blocks }),
        }
    }

    /// Makes the user begin: Anthropic refuses a conversation of the system
    /// alone, or one that the assistant begins.
    fn ensure_user_first(&mut self) {
        let first = self.turns.first().map(|it| it.role);
        if first == Some(Role::User) {
            return;
        }
        // System messages alone become the user's. Otherwise they stay, and the
        // user says three dots, as a text must not be blank.
        let mut blocks = std::mem::take(&mut self.system);
        if first == Some(Role::Assistant) || blocks.is_empty() {
            self.system = std::mem::replace(&mut blocks, vec![text(&Rope::from(r#""...""#))]);
        }
        self.turns.insert(0, Turn { role: Role::User, blocks });
    }

    fn tool_use(&mut self, call: &Rope) -> Option<Rope> {
        let call = call.members()?;
        let function = call.get("function")?.members()?;
        let name = function.string("name")?;
        let arguments = function.string("arguments").unwrap_or_default();
        let is_object =
            serde_json::from_str::<serde_json::Map<String, serde_json::Value>>(&arguments).is_ok();

        let mut block = JsonWriter::default();
        block.text(r#"{"type":"tool_use","id":"#).quoted(&id(&call, "id"));
        block.text(r#","name":"#).quoted(&name).text(r#","input":"#);
        block.text(if is_object { &arguments } else { "{}" }).text("}");
        self.called.insert(name);

        Some(block.finish())
    }
}

fn tool_result(message: &RopeMembers) -> Result<Rope, UpstreamError> {
    let mut block = JsonWriter::default();
    block.text(r#"{"type":"tool_result","tool_use_id":"#).quoted(&id(message, "tool_call_id"));
    let blocks = content_blocks(message.get("content"), part_block)?;
    if !blocks.is_empty() {
        block.text(r#","content":["#).list(&blocks).text("]");
    }
    Ok(block.text("}").finish())
}

/// Returns the id of a call with invalid characters replaced: a conversation
/// may have begun with another model.
fn id(members: &RopeMembers, key: &str) -> String {
    let is_valid = |it: char| it.is_ascii_alphanumeric() || matches!(it, '_' | '-');
    let id: String = members
        .string(key)
        .unwrap_or_default()
        .chars()
        .map(|it| if is_valid(it) { it } else { '_' })
        .collect();
    if id.is_empty() { "call".to_owned() } else { id }
}

/// Returns the blocks of a content, without blank ones, which are refused.
fn content_blocks(
    content: Option<&Rope>,
    to_block: fn(&RopeMembers) -> Result<Option<Rope>, UpstreamError>,
) -> Result<Vec<Rope>, UpstreamError> {
    let Some(content) = content else { return Ok(Vec::new()) };
    if content.is_string() {
        return Ok(if is_blank(content) { Vec::new() } else { vec![text(content)] });
    }
    let parts = content.elements().unwrap_or_default();
    let blocks = parts.iter().filter_map(Rope::members).map(|part| to_block(&part));
    Ok(blocks.collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect())
}

/// Returns the block of a part in a message of the system or the assistant, which may only
/// be a text; `None` for a blank text or thoughts.
fn text_block(part: &RopeMembers) -> Result<Option<Rope>, UpstreamError> {
    if let Some(words) = part.get("text").or_else(|| part.get("refusal")) {
        let has_text = words.is_string() && !is_blank(words);
        return Ok(has_text.then(|| text(words)));
    }
    match part.string("type").as_deref() {
        Some("text" | "refusal" | "thinking") => Ok(None),
        _ => Err(UpstreamError::UnsupportedPart(
            "parts other than text in messages of the system or the assistant",
        )),
    }
}

/// Returns the block of a part; `None` for a blank text.
fn part_block(part: &RopeMembers) -> Result<Option<Rope>, UpstreamError> {
    if let Some(words) = part.get("text") {
        let has_text = words.is_string() && !is_blank(words);
        return Ok(has_text.then(|| text(words)));
    }

    let unsupported = if part.get("image_url").is_some() {
        "images in this form"
    } else if part.get("file").is_some() {
        "files other than PDF and text in `file_data`, as a `data:` URL in Base64"
    } else if part.get("input_audio").is_some() {
        "recordings"
    } else if part.get("video_url").is_some() {
        "videos"
    } else if part.string("type").as_deref() == Some("text") {
        return Ok(None);
    } else {
        "parts of this type"
    };

    let block = image(part).or_else(|| document(part));
    block.map(Some).ok_or(UpstreamError::UnsupportedPart(unsupported))
}

fn image(part: &RopeMembers) -> Option<Rope> {
    let image = part.get("image_url")?;
    let url = if image.is_string() { image.clone() } else { image.members()?.get("url")?.clone() };
    let mut block = JsonWriter::default();
    block.text(r#"{"type":"image","source":"#);

    match parse_data_url(&url) {
        Some((media_type, data)) => write_base64(&media_type, &data, &mut block),
        None => {
            block.text(r#"{"type":"url","url":"#).rope(&url).text("}");
        }
    }

    Some(block.text("}").finish())
}

/// Returns the block of a PDF or a text file in a data URL.
fn document(part: &RopeMembers) -> Option<Rope> {
    let file = part.get("file")?.members()?;
    let (media_type, data) = parse_data_url(file.get("file_data")?)?;
    let mut block = JsonWriter::default();
    block.text(r#"{"type":"document","source":"#);

    if media_type == "application/pdf" {
        write_base64(&media_type, &data, &mut block);
    } else if media_type.starts_with("text/") {
        // Every text is sent as a plain one, the only type that is accepted.
        let base64 = JsonWriter::default().text("\"").rope(&data).text("\"").finish().string()?;
        let words = String::from_utf8(STANDARD.decode(base64).ok()?).ok()?;
        block.text(r#"{"type":"text","media_type":"text/plain","data":"#).quoted(&words).text("}");
    } else {
        return None;
    }

    if let Some(name) = file.get("filename").filter(|it| !is_blank(it)) {
        block.text(r#","title":"#).rope(name);
    }

    Some(block.text("}").finish())
}

/// Writes a source with data in Base64, which are the inside of a JSON string.
fn write_base64(media_type: &str, data: &Rope, block: &mut JsonWriter) {
    block.text(r#"{"type":"base64","media_type":"#).quoted(media_type);
    block.text(r#","data":""#).rope(data).text(r#""}"#);
}

fn text(words: &Rope) -> Rope {
    JsonWriter::default().text(r#"{"type":"text","text":"#).rope(words).text("}").finish()
}

fn is_blank(words: &Rope) -> bool {
    let short = words.len() <= MAX_BLANK_CHARS;
    short && words.string().is_none_or(|it| it.trim().is_empty())
}

/// Returns the media type and the data of a data URL.
fn parse_data_url(url: &Rope) -> Option<(String, Rope)> {
    // The rope is a JSON string: the prefix gets a closing quote to be parsed, and
    // the data loses its own.
    let beginning = url.slice(0..MAX_PREFIX_CHARS).flat();
    let comma = beginning.iter().position(|it| *it == b',')?;
    let prefix = JsonWriter::default().rope(&url.slice(0..comma)).text("\"").finish().string()?;
    let parameters = prefix.strip_prefix("data:")?.strip_suffix(";base64")?;
    let mut media_type = parameters.split(';').next().unwrap_or_default().to_ascii_lowercase();
    // A common name that is not registered.
    if media_type == "image/jpg" {
        "image/jpeg".clone_into(&mut media_type);
    }
    Some((media_type, url.slice(comma + 1..url.len().saturating_sub(1))))
}
