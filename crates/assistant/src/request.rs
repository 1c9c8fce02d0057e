//! Requests of callers: validation, and the part that is sent to a model.
//!
//! `chat_request.rs` gathers the violations that `messages.rs`, `parameters.rs` and
//! `tools.rs` find, or else returns an `UpstreamPrompt` (`prompt_body.rs`). Each call takes a
//! `ChatBody` from the prompt, which the dialects of `upstream` write.

pub(crate) mod address;
pub(crate) mod array_elements;
pub(crate) mod chat_body;
pub(crate) mod chat_request;
pub(crate) mod fetched;
mod message_content;
pub(crate) mod messages;
pub(crate) mod parameters;
mod persona_prompt;
pub(crate) mod pictures;
pub(crate) mod prompt_body;
pub(crate) mod sample;
pub(crate) mod surface;
