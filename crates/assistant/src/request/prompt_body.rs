//! Prompts that are ready except for the model.
//!
//! A prompt is parsed once a request and extended in place, by a persona, passages of
//! knowledge bases and tools. `body` then makes the body of each call from its slices.
//! `release` lets the last attempt free the slices as it sends them.

use bytes::Bytes;
use pia_json::{JsonWriter, Rope};

use crate::ports::OutputCap;
use crate::request::chat_body::ChatBody;
use crate::request::sample::PromptText;
use crate::routing::refusal::Tools;
use crate::routing::target::ReasoningEffort;
use crate::tools::HostedTool;

/// Validated part of a model request that comes from the caller. It can be sent
/// and extended repeatedly without copying large parts.
#[derive(Debug, Clone)]
pub(crate) struct UpstreamPrompt {
    /// Messages as a JSON array.
    pub(crate) messages: Bytes,
    /// Messages as JSON, with commas between them, that the server adds before these.
    pub(crate) leading: Option<Bytes>,
    /// Caller's tools as a JSON array, if there are any.
    pub(crate) tool_list: Option<Bytes>,
    /// Other members with their JSON, in the order in which they are sent.
    pub(crate) parameters: Vec<(&'static str, Bytes)>,
    /// Text from which its tokens are counted.
    pub(crate) text: PromptText,
    pub(crate) tools: Tools,
    /// Tools that the upstream runs itself.
    pub(crate) hosted: Vec<HostedTool>,
    /// Set if the model may choose which tool it calls, if any.
    pub(crate) may_call: bool,
    /// Set if it has pictures, for which a model needs vision.
    pub(crate) pictures: bool,
    /// Path of the first address other than `data:`, which the upstream would fetch.
    pub(crate) address: Option<String>,
    /// Requested maximum length of the response.
    pub(crate) max_output: Option<OutputCap>,
    /// Reasoning effort that the caller requested.
    pub(crate) effort: Option<ReasoningEffort>,
    /// Hints for the choice of the model.
    pub(crate) model_hint: ModelHint,
}

/// Hints of a request for the choice of the model.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ModelHint {
    /// Model that the caller requested, granted or not.
    pub(crate) model: Option<String>,
    /// Type of the persona (`metadata.pia_persona_type`), in lower case.
    pub(crate) persona_type: Option<String>,
}

/// Parts that the server adds to a prompt.
#[derive(Debug, Clone, Default)]
pub(crate) struct AddedMessages {
    /// Messages, each as JSON, that follow the caller's.
    pub(crate) messages: Vec<Bytes>,
    /// Tools, each as JSON, that follow the caller's.
    pub(crate) tools: Vec<Bytes>,
}

impl UpstreamPrompt {
    /// Creates a prompt of messages; `messages` is a JSON array.
    pub(crate) fn from_messages(messages: &str, text: PromptText) -> Self {
        Self {
            messages: Bytes::copy_from_slice(messages.as_bytes()),
            leading: None,
            tool_list: None,
            parameters: Vec::new(),
            text,
            tools: Tools::None,
            hosted: Vec::new(),
            may_call: true,
            pictures: false,
            address: None,
            max_output: None,
            effort: None,
            model_hint: ModelHint::default(),
        }
    }

    /// Releases the memory of the prompt, which bodies that were created from it may still
    /// share.
    pub(crate) fn release(&mut self) {
        self.messages = Bytes::new();
        self.leading = None;
        self.tool_list = None;
        self.parameters.clear();
    }

    /// Returns the body of a call, with the added parts.
    pub(crate) fn body(&self, added: &AddedMessages) -> ChatBody {
        let tools = match &self.tool_list {
            Some(list) => Some(list.clone()),
            None if added.tools.is_empty() => None,
            None => Some(Bytes::from_static(b"[]")),
        };
        ChatBody {
            messages: extend_array(self.leading.as_ref(), &self.messages, &added.messages),
            tools: tools.map(|it| extend_array(None, &it, &added.tools)),
            parameters: self.parameters.clone(),
        }
    }
}

/// Returns a JSON array with more elements at its beginning and end.
fn extend_array(first: Option<&Bytes>, array: &Bytes, elements: &[Bytes]) -> Rope {
    if first.is_none() && elements.is_empty() {
        return Rope::from(vec![array.clone()]);
    }
    let Some(inner) = array.trim_ascii().strip_prefix(b"[").and_then(|it| it.strip_suffix(b"]"))
    else {
        return Rope::from(vec![array.clone()]);
    };
    let is_empty = inner.trim_ascii().is_empty();
    let mut writer = JsonWriter::default();
    writer.text("[");

    if let Some(first) = first {
        writer.bytes(first).text(if is_empty { "" } else { "," });
    }

    writer.bytes(&array.slice_ref(inner));
    let mut separator = if first.is_none() && is_empty { "" } else { "," };
    for element in elements {
        writer.text(separator).bytes(element);
        separator = ",";
    }

    writer.text("]").finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fakes::open_pieces;

    fn text(prompt: &UpstreamPrompt, added: &AddedMessages) -> String {
        String::from_utf8(open_pieces(&prompt.body(added)).concat()).unwrap()
    }

    #[test]
    fn added_parts_follow_existing_ones() {
        let mut prompt =
            UpstreamPrompt::from_messages(r#"[{"role":"user"} ]"#, PromptText::default());
        prompt.parameters = vec![("seed", Bytes::from_static(b"1"))];
        let added = AddedMessages {
            messages: vec![Bytes::from_static(b"{}")],
            tools: vec![Bytes::from_static(b"7"), Bytes::from_static(b"8")],
        };

        assert_eq!(
            text(&prompt, &AddedMessages::default()),
            r#"{"messages":[{"role":"user"} ],"seed":1"#
        );
        assert_eq!(
            text(&prompt, &added),
            r#"{"messages":[{"role":"user"} ,{}],"tools":[7,8],"seed":1"#
        );
        prompt.tool_list = Some(Bytes::from_static(b"[6]"));
        assert_eq!(
            text(&prompt, &added),
            r#"{"messages":[{"role":"user"} ,{}],"tools":[6,7,8],"seed":1"#
        );
    }

    #[test]
    fn large_messages_are_not_copied() {
        let mut prompt = UpstreamPrompt::from_messages("[]", PromptText::default());
        prompt.messages = Bytes::from([b"[".as_slice(), &[b'1'; 5000], b"]"].concat());
        let added =
            AddedMessages { messages: vec![Bytes::from_static(b"{}")], ..AddedMessages::default() };

        for added in [AddedMessages::default(), added] {
            let pieces = open_pieces(&prompt.body(&added));

            assert!(pieces.iter().any(|it| prompt.messages.as_ptr_range().contains(&it.as_ptr())));
        }
    }
}
