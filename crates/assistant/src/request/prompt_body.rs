//! A request that is ready but for its model.

use bytes::Bytes;

use crate::ports::OutputCap;
use crate::request::sample::Text;
use crate::routing::refusal::Tools;
use crate::routing::target::ReasoningEffort;
use crate::tools::HostedTool;
use pia_json::JsonWriter;

/// Validated part of a model request that comes from the caller. It can be sent
/// more than once, and more can be added: nothing large is copied for that.
#[derive(Debug, Clone)]
pub(crate) struct UpstreamPrompt {
    /// The messages as a JSON array without its last bracket.
    pub(crate) messages: Bytes,
    /// The caller's tools in the same way, where there are some.
    pub(crate) tool_list: Option<Bytes>,
    /// All other members, each behind its comma, in pieces.
    pub(crate) rest: Vec<Bytes>,
    /// Text by which its tokens are counted.
    pub(crate) text: Text,
    pub(crate) tools: Tools,
    /// Those of the tools that the upstream is to run.
    pub(crate) hosted: Vec<HostedTool>,
    /// True if the model may choose which tool it calls, if any.
    pub(crate) may_call: bool,
    /// True if it has pictures.
    pub(crate) pictures: bool,
    /// First address other than `data:` by which it names something.
    pub(crate) address: Option<String>,
    /// Maximum length of the answer that the caller wants.
    pub(crate) max_output: Option<OutputCap>,
    /// Reasoning effort that the caller wants.
    pub(crate) effort: Option<ReasoningEffort>,
    /// Hints on which model is to answer it.
    pub(crate) model_hint: ModelHint,
}

/// Hints of a request on which model is to answer it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ModelHint {
    /// The model that it names.
    pub(crate) model: Option<String>,
    /// Type of the persona (`metadata.pia_persona_type`), in lower case.
    pub(crate) persona_type: Option<String>,
}

/// Parts that we add to a prompt.
#[derive(Debug, Clone, Default)]
pub(crate) struct AddedMessages {
    /// Messages, each as JSON, that follow the caller's.
    pub(crate) messages: Vec<Bytes>,
    /// Tools, each as JSON, that follow the caller's.
    pub(crate) tools: Vec<String>,
}

impl UpstreamPrompt {
    /// A prompt of messages alone; `messages` is a JSON array.
    pub(crate) fn from_messages(messages: &str, text: Text) -> Self {
        Self {
            messages: Bytes::copy_from_slice(strip_closing_bracket(messages).as_bytes()),
            tool_list: None,
            rest: Vec::new(),
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

    /// Lets go of what it holds; what was made of it goes on.
    pub(crate) fn release(&mut self) {
        self.messages = Bytes::new();
        self.tool_list = None;
        self.rest.clear();
    }

    /// The request as an object that is still open.
    pub(crate) fn body(&self, added: &AddedMessages) -> Vec<Bytes> {
        let mut pieces = JsonWriter::default();
        pieces.text("{\"messages\":");
        pieces.bytes(&self.messages);
        for message in &added.messages {
            pieces.text(",");
            pieces.bytes(message);
        }
        pieces.text("]");
        let mut before = match &self.tool_list {
            None => ",\"tools\":[",
            Some(list) => {
                pieces.text(",\"tools\":");
                pieces.bytes(list);
                ","
            }
        };
        for tool in &added.tools {
            pieces.text(before);
            pieces.text(tool);
            before = ",";
        }
        if self.tool_list.is_some() || !added.tools.is_empty() {
            pieces.text("]");
        }
        for piece in &self.rest {
            pieces.bytes(piece);
        }
        pieces.into_pieces()
    }
}

/// A JSON array without its last bracket.
pub(crate) fn strip_closing_bracket(array: &str) -> &str {
    let array = array.trim_end();
    array.strip_suffix(']').unwrap_or(array)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(prompt: &UpstreamPrompt, added: &AddedMessages) -> String {
        String::from_utf8(prompt.body(added).concat()).unwrap()
    }

    #[test]
    fn what_is_added_follows_what_is_there() {
        let mut prompt = UpstreamPrompt::from_messages(r#"[{"role":"user"} ]"#, Text::default());
        prompt.rest = vec![Bytes::from_static(b",\"seed\":1")];
        let added = AddedMessages {
            messages: vec![Bytes::from_static(b"{}")],
            tools: vec!["7".into(), "8".into()],
        };

        assert_eq!(
            text(&prompt, &AddedMessages::default()),
            r#"{"messages":[{"role":"user"} ],"seed":1"#
        );
        assert_eq!(
            text(&prompt, &added),
            r#"{"messages":[{"role":"user"} ,{}],"tools":[7,8],"seed":1"#
        );
        prompt.tool_list = Some(Bytes::from_static(b"[6"));
        assert_eq!(
            text(&prompt, &added),
            r#"{"messages":[{"role":"user"} ,{}],"tools":[6,7,8],"seed":1"#
        );
    }

    #[test]
    fn large_messages_are_not_copied() {
        let mut prompt = UpstreamPrompt::from_messages("[]", Text::default());
        prompt.messages = Bytes::from(vec![b'['; 5000]);

        let body = prompt.body(&AddedMessages::default());

        assert!(body.iter().any(|it| it.as_ptr() == prompt.messages.as_ptr()));
    }
}
