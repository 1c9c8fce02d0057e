//! AI proxy: routing to models, prompts, responses, and usage.
//!
//! To begin with, read `turn.rs`: a turn is one question of a caller, and may
//! take several calls of a model. A use case such as `chat.rs` parses the request
//! (`request`) and passes its prompt to the `gateway`, where a `Turn` chooses the
//! models (`routing`), reserves credits for each call (`credits`), calls the
//! upstream (`ports`), runs tools of the server (`tools`, `knowledge`) and calls
//! the model again with their results. `stream` reads the response, in full or
//! in parts, and when the call ends its usage is charged.

mod background_chat;
mod chat;
mod embeddings;
mod models;
mod optimize;
mod reranking;

mod answering;
mod gateway;
mod single_call;
mod turn;

mod guardrail;
mod request;
mod routing;
mod stream;

mod knowledge;
mod personas;
mod tools;

mod credits;
mod rules;

mod ai_caller;
mod error;
mod ports;
mod settings;

pub use ai_caller::AiCaller;
pub use background_chat::{BackgroundAnswer, BackgroundChat};
pub use chat::{Chat, ChatAnswer, ChatReply};
#[cfg(feature = "mock")]
pub use credits::MockCreditStore;
pub use credits::rates::{Micros, Rates};
pub use credits::usage::{CallOutcome, Usage, UsageRecord};
pub use credits::{
    AdmissionOutcome, AdmissionRequest, Buckets, BudgetRefusal, CallGrant, CreditHolder,
    CreditMismatch, CreditSettings, CreditStock, CreditStore, CreditView, CreditWindows, Credits,
    FreeTier, Gauge, GroupBudget, MemberBudget, Period, PoolStock, ReservationGuard,
    ReservationLine, Settlement, SettlementSink, TopUpError, TopUpOutcome, TruncationCause,
    UsageCursor, UsageDetails, UsageGrouping, UsageHour, UsageRange, UsageRangeError, UsageReport,
    UsageSubject, UsageSum, UsageSums, UsageUsers, WeekGauge, Weeks, Window, WindowKey, WindowKind,
};
pub use embeddings::{BackgroundEmbeddings, Embeddings, TextVectors};
pub use error::{AssistantError, OpenAiError, Violation};
pub use gateway::{Gateway, Status};
pub use guardrail::{Guardrail, NoGuardrail};
#[cfg(any(test, feature = "mock"))]
pub use knowledge::MockKnowledge;
pub use knowledge::{
    Knowledge, KnowledgeMode, KnowledgePassage, KnowledgeScope, KnowledgeSummary, NoKnowledge,
    TurnSearches,
};
pub use models::{
    CatalogueModel, ModelAnswer, ModelEntry, ModelTest, ModelTestError, ModelTestFailure, Models,
};
pub use optimize::drafting::PromptDrafting;
pub use optimize::templates::{Template, templates};
pub use optimize::{Optimize, OptimizeRequest, OptimizedText};
#[cfg(any(test, feature = "mock"))]
pub use personas::MockPersonas;
pub use personas::{GrantedPersona, Personas};
pub use ports::{
    CapName, ChatCall, ChatUpstream, Frame, Frames, ModelCall, OutputCap, Timer, TimerFuture,
    TokenCounter, UpstreamError, UsageLog,
};
#[cfg(feature = "mock")]
pub use ports::{MockChatUpstream, MockTokenCounter, MockUsageLog};
pub use request::chat_body::ChatBody;
pub use request::chat_request::keys as chat_request_keys;
pub use request::surface::Surface;
pub use reranking::BackgroundReranking;
pub use routing::attempts::{AttemptOutcome, Attempts, EntryAttempts};
pub use routing::catalogue::{ModelCatalogue, SearchDepth, SearchProvider};
pub use routing::keys::KeyHealth;
pub use routing::route::DEFAULT_MODEL;
pub use routing::target::{
    Addresses, Mode, Protection, ProviderType, ReasoningEffort, SAMPLING, Target, TimedTarget,
};
pub use routing::upstream_limiter::{UpstreamLimiter, UpstreamLoad};
#[cfg(feature = "mock")]
pub use rules::MockRules;
pub use rules::{ApiKeyBudget, GroupRules, NoRules, Rules};
pub use settings::Settings;
pub use single_call::BackgroundPurpose;
pub use stream::answer::ChatStream;
pub use tools::UpstreamTool;
pub use tools::calls::{ToolFailure, ToolUse};
pub use tools::connectors::{ConnectorTool, ConnectorTools, NoConnectorTools};
#[cfg(feature = "mock")]
pub use tools::web_search::MockWebSearch;
pub use tools::web_search::{NoSearch, SearchResult, WebSearch};

#[cfg(test)]
mod fakes;
