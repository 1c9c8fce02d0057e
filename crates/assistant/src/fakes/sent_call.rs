//! Calls that a fake upstream records.

use std::sync::Arc;

use bytes::Bytes;
use pia_json::JsonWriter;
use pia_kernel::Secret;

use crate::ports::{ChatCall, ModelCall, OutputCap};
use crate::request::chat_body::ChatBody;
use crate::routing::target::Target;

/// Recorded call.
#[derive(Debug, Clone)]
pub(crate) struct SentCall {
    pub(crate) target: Arc<Target>,
    pub(crate) key: Secret<String>,
    pub(crate) max_output: Option<OutputCap>,
    /// Body in pieces, without the closing brace.
    pub(crate) body: Vec<Bytes>,
}

impl From<ChatCall> for SentCall {
    fn from(call: ChatCall) -> Self {
        let ChatCall { target, key, body, max_output, effort: _ } = call;
        Self { target, key, max_output, body: open_pieces(&body) }
    }
}

/// Returns a body in pieces, without the closing brace.
pub(crate) fn open_pieces(body: &ChatBody) -> Vec<Bytes> {
    let mut writer = JsonWriter::default();
    body.write_open(&mut writer);
    writer.into_pieces()
}

impl From<ModelCall> for SentCall {
    fn from(call: ModelCall) -> Self {
        let ModelCall { target, key, body } = call;
        Self { target, key, max_output: None, body: vec![body] }
    }
}
