//! `Ai`: upstream models, and time limits of their responses.
//!
//! Three places configure a model with the same settings (`ai/model.rs`): `Ai`
//! itself, `Ai:Modes:<mode>`, which inherits what it leaves out from `Ai`, and the
//! entries of `Ai:Providers`, which inherit nothing. `read_catalogue` joins them.

mod entry;
mod identifier;
mod kind;
mod listed;
mod model;
mod price;
mod providers;
mod sampling;
mod upstream_tool;

use std::sync::Arc;
use std::time::Duration;

use pia_assistant::{KnowledgeMode, Mode, ModelCatalogue, Settings, Target};
use pia_upstream::UpstreamLimits;

pub use self::listed::ListedEntries;
use self::model::Model;
use self::providers::Providers;
use super::byte_size::ByteSize;
use super::error::Reason;
use super::section::Section;
use super::snapshot::Effect;

const MIN_TIMEOUT: Duration = Duration::from_millis(100);
const MAX_TIMEOUT: Duration = Duration::from_hours(1);

/// Configuration of upstream models and of their calls.
#[derive(Debug, Clone)]
pub struct Ai {
    /// Models, and the modes that they serve.
    pub catalogue: ModelCatalogue,
    /// Settings that concern callers.
    pub settings: Settings,
    /// Maximum number of tokens of a response.
    pub max_output: Option<u32>,
    /// Limits that concern upstreams.
    pub limits: UpstreamLimits,
}

impl Ai {
    pub(super) fn from_section(from: &mut Section<'_>) -> Self {
        let catalogue = read_catalogue(from);

        let settings = Settings {
            max_optimize_text: from.reload("MaxOptimizeTextLength").within(10_000, 1..=1_000_000),
            max_wait: span(from, "MaxWait", 5),
            // Read from another section.
            knowledge: KnowledgeMode::default(),
            max_tool_rounds: from.reload("MaxToolRounds").within(5, 0..=50),
            open_after: span(from, "OpenAfter", 10),
            heartbeat: span(from, "HeartbeatInterval", 10),
        };

        let connect = from.restart("ConnectTimeout");
        let limits = UpstreamLimits {
            connect: connect.within(Duration::from_secs(10), MIN_TIMEOUT..=MAX_TIMEOUT),
            first_byte: span(from, "FirstByteTimeout", 120),
            silence: span(from, "SilenceTimeout", 120),
            // Clients give up after 300 seconds, and would not receive the
            // error.
            answer: span(from, "AnswerTimeout", 290),
            max_event: size(from, "MaxEventBytes", 4),
            max_answer: size(from, "MaxAnswerBytes", 32),
            ..UpstreamLimits::default()
        };

        if limits.max_answer < limits.max_event {
            let reason = Reason::combination("expected no less than Ai:MaxEventBytes");
            from.refuse("MaxAnswerBytes", reason);
        }

        let max_output = from.reload("MaxOutputTokens").optional_within(1000..=10_000_000);

        Self { catalogue, settings, max_output, limits }
    }
}

fn span(from: &mut Section<'_>, name: &str, seconds: u64) -> Duration {
    from.reload(name).within(Duration::from_secs(seconds), MIN_TIMEOUT..=MAX_TIMEOUT)
}

fn size(from: &mut Section<'_>, name: &str, mib: usize) -> usize {
    from.reload(name).within(ByteSize::mib(mib), ByteSize::kib(1)..=ByteSize::mib(256)).0
}

fn read_catalogue(from: &mut Section<'_>) -> ModelCatalogue {
    let providers = Providers::from_section(&mut from.section("Providers"));
    let default_model = Model::of_chat(from, Effect::Reload);
    providers.check(&default_model, from);

    let mut modes = from.section("Modes");
    let mut model_of = |mode: Mode| {
        let mut section = modes.section(mode.name());
        let own = Model::of_chat(&mut section, Effect::Reload);
        providers.check(&own, &mut section);
        // Without settings of its own, the default applies.
        if !own.is_configured() {
            return None;
        }
        served(own.over(&default_model, &mut section), &mut section)
    };
    let assistant = model_of(Mode::Assistant);
    let research = model_of(Mode::Research);

    let default = served(default_model, from);
    let Providers { entries, searches, embedders, .. } = providers;
    ModelCatalogue { default, assistant, research, entries, searches, embedders }
}

/// Builds the model of `Ai` or of a mode, which may be absent.
fn served(model: Model, from: &mut Section<'_>) -> Option<Arc<Target>> {
    let rates = model.rates(from);
    let is_sound = model.is_sound(from);
    let is_named = model.is_named();
    let is_reachable = model.is_reachable();
    if is_named && is_reachable {
        return model.target(rates?, from).map(Arc::new);
    }
    if is_sound && (is_named || is_reachable) {
        from.warn("Model", "is not used: a model needs its name, and a key or an endpoint");
    }
    None
}
