//! Requests of callers: validation, and the part that is sent to a model.

pub(crate) mod address;
pub(crate) mod array_elements;
pub(crate) mod chat_body;
pub(crate) mod chat_request;
pub(crate) mod fetched;
pub(crate) mod messages;
pub(crate) mod parameters;
mod persona_prompt;
pub(crate) mod pictures;
pub(crate) mod prompt_body;
pub(crate) mod sample;
pub(crate) mod surface;
