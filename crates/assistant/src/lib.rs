//! The AI proxy: which model answers, with which prompt, how its answer is
//! carried, and what it used.

mod admission;
mod answer;
mod catalogue;
mod chat;
mod chat_request;
mod chunk;
mod completion;
mod credits;
mod error;
mod gateway;
mod heartbeat;
mod json;
mod languages;
mod messages;
mod meter;
mod nulls;
mod optimize;
mod parameters;
mod pieces;
mod ports;
mod prompt;
mod rates;
mod refusal;
mod rules;
mod sample;
mod sanitise;
mod settings;
mod target;
mod templates;
mod ticket;
mod told;
mod usage;

pub use answer::Answer;
pub use catalogue::{Catalogue, SearchDepth, SearchProvider};
pub use chat::{Chat, ChatAnswer};
#[cfg(feature = "mock")]
pub use credits::MockBank;
pub use credits::{
    Admission, Ask, Bank, Books, Buckets, BudgetRefusal, CreditSettings, CreditView, Credits,
    FreeTier, Gauge, Grant, Hold, Holder, Kind, Mismatch, Part, Period, Settlement, Settles, Stock,
    WeekGauge, Weeks, Window, WindowKey,
};
pub use error::{AssistantError, Violation};
pub use gateway::{Asker, Gateway, Status};
pub use optimize::{Optimize, OptimizeRequest, Optimized};
pub use ports::{
    CapName, ChatCall, ChatUpstream, Frame, Frames, OutputCap, Tokens, UpstreamError, UsageLog,
    Wait, Waits,
};
#[cfg(feature = "mock")]
pub use ports::{MockChatUpstream, MockTokens, MockUsageLog};
pub use rates::{Micros, Rates};
#[cfg(feature = "mock")]
pub use rules::MockRules;
pub use rules::{CreditLimits, GroupRules, KeyPurse, Rules};
pub use settings::Settings;
pub use target::{Mode, Protection, ProviderType, ReasoningEffort, Target};
pub use templates::{Template, templates};
pub use usage::{Outcome, Usage, UsageRecord};

#[cfg(test)]
mod fakes;
