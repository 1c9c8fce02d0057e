//! Responses of models, full and streamed.

pub(crate) mod answer;
pub(crate) mod call_indices;
pub(crate) mod chunk;
pub(crate) mod chunk_head;
pub(crate) mod completion;
pub(crate) mod heartbeat;
pub(crate) mod merge;
pub(crate) mod normalize;
pub(crate) mod opened;
pub(crate) mod sse;
pub(crate) mod start;
pub(crate) mod state;
