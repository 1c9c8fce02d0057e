//! `Ai`: which upstream models answer, and how long they may take.

use std::sync::Arc;
use std::time::Duration;

use pia_assistant::{Catalogue, Mode, ProviderType, Settings, Target};
use pia_kernel::Secret;
use pia_upstream::Limits;

use super::base_url::BaseUrl;
use super::byte_size::ByteSize;
use super::fault::Reason;
use super::section::Section;
use super::setting::Setting;

/// Where OpenAI itself is.
const OPENAI: &str = "https://api.openai.com/v1";

const SHORTEST: Duration = Duration::from_millis(100);
const LONGEST: Duration = Duration::from_hours(1);

/// Upstream models.
#[derive(Debug, Clone)]
pub struct Ai {
    /// Which model serves which mode.
    pub catalogue: Catalogue,
    /// What concerns our own callers.
    pub settings: Settings,
    /// What concerns upstreams.
    pub limits: Limits,
}

impl Ai {
    pub(super) fn read(from: &mut Section<'_>) -> Self {
        let catalogue = catalogue(from);
        let settings = Settings {
            max_optimize_text: from.reload("MaxOptimizeTextLength").within(10_000, 1..=1_000_000),
            max_tool_rounds: from.reload("MaxToolRounds").within(5, 0..=50),
            open_after: span(from, "OpenAfter", 10),
            heartbeat: span(from, "HeartbeatInterval", 10),
        };
        let connect = from.restart("ConnectTimeout");
        let limits = Limits {
            connect: connect.within(Duration::from_secs(10), SHORTEST..=LONGEST),
            first_byte: span(from, "FirstByteTimeout", 120),
            silence: span(from, "SilenceTimeout", 120),
            // Clients give up after 300 seconds, and would not hear why.
            answer: span(from, "AnswerTimeout", 290),
            max_event: size(from, "MaxEventBytes", 4),
            max_answer: size(from, "MaxAnswerBytes", 32),
            ..Limits::default()
        };
        if limits.max_answer < limits.max_event {
            let reason = Reason::combination("expected no less than Ai:MaxEventBytes");
            from.refuse("MaxAnswerBytes", reason);
        }
        Self { catalogue, settings, limits }
    }
}

fn span(from: &mut Section<'_>, name: &str, seconds: u64) -> Duration {
    from.reload(name).within(Duration::from_secs(seconds), SHORTEST..=LONGEST)
}

fn size(from: &mut Section<'_>, name: &str, mib: usize) -> usize {
    from.reload(name).within(ByteSize::mib(mib), ByteSize::kib(1)..=ByteSize::mib(256)).0
}

fn catalogue(from: &mut Section<'_>) -> Catalogue {
    let default = Model::read(from);
    let mut modes = from.section("Modes");
    let mut of = |mode: Mode| {
        let mut section = modes.section(mode.name());
        let own = Model::read(&mut section);
        // With nothing of its own, it is the default that serves.
        own.is_given().then(|| own.over(&default).target(&mut section)).flatten()
    };
    let (assistant, research) = (of(Mode::Assistant), of(Mode::Research));
    let default = default.target(from);
    Catalogue { default, assistant, research, ..Catalogue::default() }
}

/// What one section says of a model.
#[derive(Clone)]
struct Model {
    provider: Option<ProviderType>,
    /// Blank where the upstream wants none, though there is one by default.
    api_key: Option<Secret<String>>,
    name: Option<String>,
    endpoint: Option<BaseUrl>,
}

impl Model {
    fn read(from: &mut Section<'_>) -> Self {
        Self {
            provider: from.reload("ProviderType").optional(),
            api_key: from.reload("ApiKey").optional_or_blank::<ApiKey>().map(|it| it.0),
            name: from.reload("Model").optional(),
            endpoint: from.reload("Endpoint").optional(),
        }
    }

    fn is_given(&self) -> bool {
        let Self { provider, api_key, name, endpoint } = self;
        provider.is_some() || api_key.is_some() || name.is_some() || endpoint.is_some()
    }

    fn over(self, default: &Self) -> Self {
        let default = default.clone();
        Self {
            provider: self.provider.or(default.provider),
            api_key: self.api_key.or(default.api_key),
            name: self.name.or(default.name),
            endpoint: self.endpoint.or(default.endpoint),
        }
    }

    /// A model needs its name, and either a key or an endpoint of one's own.
    fn target(self, from: &mut Section<'_>) -> Option<Arc<Target>> {
        let api_key = self.api_key.unwrap_or_else(|| Secret::new(String::new()));
        let reachable = !api_key.expose().is_empty() || self.endpoint.is_some();
        let wanted = reachable || self.name.is_some();
        let Some(model) = self.name.filter(|_| reachable) else {
            if wanted {
                from.note("Model", "is not used: a model needs its name, and a key or an endpoint");
            }
            return None;
        };
        let endpoint = self.endpoint.map_or(OPENAI.to_owned(), |it| it.as_str().to_owned());
        let provider = self.provider.unwrap_or(ProviderType::OpenAi);
        let keys = Some(api_key).filter(|it| !it.expose().is_empty()).into_iter().collect();
        Some(Arc::new(Target { keys, ..Target::new(provider, &endpoint, &model) }))
    }
}

/// Other types that there are, by their numbers.
const LATER: [(&str, &str); 7] = [
    ("AzureOpenAI", "2"),
    ("Ollama", "3"),
    ("OpenRouter", "4"),
    ("OpenAICompatible", "5"),
    ("Mistral", "6"),
    ("VLlm", "7"),
    ("Anthropic", "8"),
];

impl Setting for ProviderType {
    fn parse(text: &str) -> Result<Self, Reason> {
        let text = text.trim();
        let is = |name: &str, number: &str| name.eq_ignore_ascii_case(text) || number == text;
        if is(Self::OpenAi.name(), "1") {
            return Ok(Self::OpenAi);
        }
        if text.eq_ignore_ascii_case("Linkup") {
            return Err(Reason::combination("Linkup searches the web and is no chat model"));
        }
        let later = LATER.iter().find(|(name, number)| is(name, number));
        Err(match later {
            Some((name, _)) => {
                Reason::combination(format!("this version cannot speak to {name}; expected OpenAI"))
            }
            None => Reason::form("expected OpenAI"),
        })
    }

    fn tell(&self) -> String {
        self.name().to_owned()
    }
}

/// What can stand in a header, or nothing.
struct ApiKey(Secret<String>);

impl Setting for ApiKey {
    fn parse(text: &str) -> Result<Self, Reason> {
        let text = text.trim();
        if !text.bytes().all(|it| it.is_ascii_graphic()) {
            return Err(Reason::form("expected plain letters, digits and signs without blanks"));
        }
        match text {
            "" => Ok(Self(Secret::new(String::new()))),
            text => Secret::parse(text).map(Self),
        }
    }

    fn tell(&self) -> String {
        self.0.expose().clone()
    }
}
