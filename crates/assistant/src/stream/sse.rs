//! Formatting of the server's own events.
//!
//! Events of the upstream keep their form. `failure` ends a stream after its status was
//! sent: the error is an event, in the form of the caller's surface, and `[DONE]` follows.

use bytes::{BufMut, Bytes, BytesMut};
use pia_json::quoted;

use crate::credits::BudgetRefusal;
use crate::error::AssistantError;
use crate::request::surface::Surface;

/// Last event of every stream.
pub(crate) const DONE: &str = "data: [DONE]\n\n";

/// Formats events in the form that every client reads.
pub(crate) fn to_frames(events: &[impl AsRef<[u8]>]) -> Bytes {
    let length = events.iter().map(|it| it.as_ref().len() + 8).sum();
    let mut frames = BytesMut::with_capacity(length);
    for event in events {
        frames.put_slice(b"data: ");
        frames.put_slice(event.as_ref());
        frames.put_slice(b"\n\n");
    }
    frames.freeze()
}

/// Formats the end of a failed stream.
pub(crate) fn failure(err: &AssistantError, surface: Surface) -> Bytes {
    if surface == Surface::OpenAi {
        return openai_failure(err);
    }
    let title = quoted(err.title());
    let message = quoted(&err.message());
    let budget = budget_members(err);
    Bytes::from(format!("data: {{\"error\":{title},\"message\":{message}{budget}}}\n\n{DONE}"))
}

/// Returns the exhausted budget and its end as further members.
fn budget_members(err: &AssistantError) -> String {
    match err {
        AssistantError::OverBudget(BudgetRefusal { period, resets_at, .. }) => {
            let period = quoted(period.name());
            let at = quoted(&resets_at.to_string());
            format!(",\"period\":{period},\"resetsAt\":{at}")
        }
        _ => String::new(),
    }
}

/// Formats a failure as OpenAI's clients expect it.
fn openai_failure(err: &AssistantError) -> Bytes {
    let openai_error = err.openai();
    let message = quoted(&openai_error.message);
    let kind = quoted(openai_error.kind);
    let code = quoted(openai_error.code);
    let budget = budget_members(err);
    let error =
        format!("\"message\":{message},\"type\":{kind},\"code\":{code},\"param\":null{budget}");
    Bytes::from(format!("data: {{\"error\":{{{error}}}}}\n\n{DONE}"))
}
