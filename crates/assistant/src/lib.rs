//! The AI proxy: which model answers, with which prompt, how its answer is
//! carried, and what it used.

mod address;
mod admission;
mod answer;
mod attempts;
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
mod json;
mod keys;
mod languages;
mod messages;
mod meter;
mod metered_call;
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
mod sample;
mod sanitise;
mod searching;
mod server_tool_calls;
mod server_tools;
mod settings;
mod sse;
mod stream_merge;
mod stream_start;
mod stream_state;
mod strip_nulls;
mod surface;
mod target;
mod templates;
mod tools;
mod turn;
mod upstream_limiter;
mod usage;
mod usage_json;
mod web_search;

pub use answer::ChatStream;
pub use attempts::{AttemptOutcome, Attempts};
pub use catalogue::{ModelCatalogue, SearchDepth, SearchProvider};
pub use chat::{Chat, ChatAnswer};
pub use chat_request::keys as chat_request_keys;
#[cfg(feature = "mock")]
pub use credits::MockCreditStore;
pub use credits::{
    Admission, AdmissionRequest, Buckets, BudgetRefusal, CreditSettings, CreditStore, CreditView,
    CreditWindows, Credits, FreeTier, Gauge, Grant, Holder, Mismatch, Period, ReservationGuard,
    ReservationLine, Settlement, SettlementSink, Stock, TruncationCause, WeekGauge, Weeks, Window,
    WindowKey, WindowKind,
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
    CapName, ChatCall, ChatUpstream, Frame, Frames, OutputCap, Timer, TimerFuture, TokenCounter,
    UpstreamError, UsageLog,
};
#[cfg(feature = "mock")]
pub use ports::{MockChatUpstream, MockTokenCounter, MockUsageLog};
pub use rates::{Micros, Rates};
pub use route::DEFAULT_MODEL;
#[cfg(feature = "mock")]
pub use rules::MockRules;
pub use rules::{ApiKeyBudget, CreditLimits, GroupRules, NoRules, Rules};
pub use settings::Settings;
pub use surface::Surface;
pub use target::{Addresses, Mode, Protection, ProviderType, ReasoningEffort, SAMPLING, Target};
pub use templates::{Template, templates};
pub use tools::UpstreamTool;
pub use upstream_limiter::UpstreamLimiter;
pub use usage::{CallOutcome, Usage, UsageRecord};
#[cfg(feature = "mock")]
pub use web_search::MockWebSearch;
pub use web_search::{NoSearch, SearchResult, WebSearch};

#[cfg(test)]
mod fakes;
