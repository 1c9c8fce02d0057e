//! The AI proxy: which model answers, with which prompt, how its answer is
//! carried, and what it used.

mod address;
mod admission;
mod answer;
mod attempts;
mod stream_start;
mod server_tool_calls;
mod catalogue;
mod chat;
mod chat_request;
mod chunk;
mod completion;
mod credits;
mod drafting;
mod embeddings;
mod error;
mod fetched;
mod gateway;
mod guardrail;
mod heartbeat;
mod stream_merge;
mod json;
mod keys;
mod languages;
mod messages;
mod meter;
mod strip_nulls;
mod normalize;
mod optimize;
mod parameters;
mod personas;
mod pictures;
mod pieces;
mod ports;
mod prompt;
mod prompt_body;
mod rates;
mod refusal;
mod route;
mod rules;
mod stream_state;
mod sample;
mod sanitise;
mod searching;
mod server_tools;
mod settings;
mod surface;
mod target;
mod templates;
mod metered_call;
mod usage_json;
mod tools;
mod turn;
mod upstream_limiter;
mod usage;
mod web_search;
mod sse;

pub use answer::ChatStream;
pub use attempts::{AttemptOutcome, Attempts};
pub use catalogue::{Catalogue, SearchDepth, SearchProvider};
pub use chat::{Chat, ChatAnswer};
pub use chat_request::keys as chat_request_keys;
#[cfg(feature = "mock")]
pub use credits::MockCreditStore;
pub use credits::{
    Admission, AdmissionRequest, CreditStore, CreditWindows, Buckets, BudgetRefusal, CreditSettings, CreditView, Credits,
    FreeTier, Gauge, Grant, ReservationGuard, Holder, WindowKind, Mismatch, ReservationLine, Period, Settlement, SettlementSink,
    TruncationCause, Stock, WeekGauge, Weeks, Window, WindowKey,
};
pub use drafting::Drafting;
pub use embeddings::Embeddings;
pub use error::{AssistantError, OpenAiError, Violation};
pub use gateway::{AiCaller, Gateway, Status};
pub use guardrail::{Guardrail, Unguarded};
pub use keys::KeyHealth;
pub use optimize::{Optimize, OptimizeRequest, Optimized};
pub use personas::{GrantedPersona, NoPersonas, Personas};
pub use ports::{
    CapName, ChatCall, ChatUpstream, Frame, Frames, OutputCap, Tokens, UpstreamError, UsageLog,
    Wait, Timer,
};
#[cfg(feature = "mock")]
pub use ports::{MockChatUpstream, MockTokens, MockUsageLog};
pub use rates::{Micros, Rates};
pub use route::DEFAULT_MODEL;
#[cfg(feature = "mock")]
pub use rules::MockRules;
pub use rules::{CreditLimits, GroupRules, ApiKeyBudget, NoRules, Rules};
pub use settings::Settings;
pub use surface::Surface;
pub use target::{Addresses, Mode, Protection, ProviderType, ReasoningEffort, SAMPLING, Target};
pub use templates::{Template, templates};
pub use tools::UpstreamTool;
pub use upstream_limiter::UpstreamLimiter;
pub use usage::{Outcome, Usage, UsageRecord};
#[cfg(feature = "mock")]
pub use web_search::MockWebSearch;
pub use web_search::{SearchResult, NoSearch, WebSearch};

#[cfg(test)]
mod fakes;
