//! The AI proxy: which model answers, with which prompt, how its answer is
//! carried, and what it used.

mod answer;
mod chat;
mod chat_request;
mod chunk;
mod completion;
mod error;
mod gateway;
mod heartbeat;
mod json;
mod languages;
mod messages;
mod nulls;
mod optimize;
mod parameters;
mod pieces;
mod ports;
mod prompt;
mod refusal;
mod sanitise;
mod settings;
mod target;
mod targets;
mod templates;
mod ticket;
mod told;
mod usage;

pub use answer::Answer;
pub use chat::{Chat, ChatAnswer};
pub use error::{AssistantError, Violation};
pub use gateway::{Asker, Gateway, Status};
pub use optimize::{Optimize, OptimizeRequest, Optimized};
pub use ports::{ChatCall, ChatUpstream, Frame, Frames, UpstreamError, UsageLog, Wait, Waits};
#[cfg(feature = "mock")]
pub use ports::{MockChatUpstream, MockUsageLog};
pub use settings::Settings;
pub use target::{Mode, ProviderType, Target};
pub use targets::Targets;
pub use templates::{Template, templates};
pub use usage::{Outcome, Usage, UsageRecord};

#[cfg(test)]
mod fakes;
