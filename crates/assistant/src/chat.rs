//! A turn of a conversation.

use bytes::Bytes;

use crate::answer::Answer;
use crate::chat_request::{Asked, read};
use crate::completion;
use crate::error::AssistantError;
use crate::gateway::{Asker, Gateway};
use crate::nulls::Nulls;
use crate::target::Mode;
use crate::ticket::{Cost, End};

/// Passes conversations on to a model.
#[derive(Clone)]
pub struct Chat {
    gateway: Gateway,
}

/// The answer, in the form that the request asked for.
pub enum ChatAnswer {
    /// The upstream's JSON, as it came but for nulls.
    Whole(Bytes),
    /// An event stream.
    Stream(Box<Answer>),
}

impl Chat {
    /// Conversations through this gateway.
    pub fn new(gateway: Gateway) -> Self {
        Self { gateway }
    }

    /// Answers a request in the shape of OpenAI's chat completions.
    ///
    /// Its model is the one configured for the mode, whatever it names. The
    /// body is held once: what goes upstream are slices of it. A call without
    /// a mode is written down as talking.
    pub async fn answer(&self, asker: Asker, body: Bytes) -> Result<ChatAnswer, AssistantError> {
        let asked = read(&body)?;
        // Its slices go as the upstream takes them; this would hold them all.
        drop(body);
        match asked {
            Asked::Whole(prompt) => {
                let mut whole = self.gateway.whole(asker, Mode::Assistant, prompt).await?;
                if !completion::has_message(&whole.body) {
                    tracing::warn!(
                        upstream.model = whole.ticket.target.model,
                        "an upstream model sent an answer without a message"
                    );
                    whole.ticket.fail(Cost::Something);
                    return Err(AssistantError::UpstreamFailed);
                }
                whole.ticket.end = End::Completed;
                Ok(ChatAnswer::Whole(Nulls::default().left_out(whole.body)))
            }
            Asked::Stream(prompt, usage) => {
                let answer = self.gateway.stream(asker, Mode::Assistant, prompt, usage).await?;
                Ok(ChatAnswer::Stream(Box::new(answer)))
            }
        }
    }
}

#[cfg(test)]
#[path = "chat_tests.rs"]
mod tests;
