//! Calls that a fake upstream records.

use std::sync::Arc;

use bytes::Bytes;
use pia_json::JsonWriter;
use pia_kernel::Secret;
use serde_json::Value;

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

/// Recorded call with its body as JSON.
#[derive(Debug, Clone)]
pub(crate) struct RecordedCall {
    pub(crate) model: String,
    pub(crate) key: String,
    pub(crate) body: Value,
}

impl From<&SentCall> for RecordedCall {
    fn from(call: &SentCall) -> Self {
        let json = [call.body.concat().as_slice(), b"}"].concat();
        Self {
            model: call.target.model.clone(),
            key: call.key.expose().clone(),
            body: serde_json::from_slice(&json).unwrap(),
        }
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
