//! Catalogue of models: prices, limits, attempts, and tests.

pub(super) mod attempts;
pub(super) mod test_call;

use std::sync::Arc;

use actix_web::web::Path;
use pia_assistant::{CatalogueModel, Mode, ModelEntry, Protection, Rates, Target};
use pia_kernel::Language;
use pia_policy::Feature;
use pia_web::{ApiError, Route};

use super::first_steps;
use crate::form_fields::FormFields;
use crate::page_context::{PageContext, PageResult, path_segment};
use crate::routes::pages::{form, page};
use crate::ui::view::Link;
use crate::ui::{Cell, Row, Section, Text, View, format};

pub(super) fn routes() -> Vec<Route> {
    vec![
        page("/admin/models", |it| it.to(list)),
        page("/admin/models/{key}", |it| it.to(show)),
        Route {
            feature: Some(Feature::AiProxy),
            ..form("/admin/models/{key}/test", |it| it.to(test))
        },
    ]
}

async fn list(page: PageContext) -> PageResult {
    let entries = page.api.models.list();
    let columns = [
        ("name", MODEL),
        ("provider", PROVIDER),
        ("use", USED_FOR),
        ("price", PRICE),
        ("call", LAST_CALL),
    ];
    let rows = entries.iter().map(|it| model_row(&page, it)).collect();
    let table = page.list(TITLE, EMPTY, &columns, rows);
    let section = Section::new("models", "").intro(page.t(attempts::THIS_INSTANCE)).table(table);
    let view = View::new(page.t(TITLE))
        .intro(page.t(INTRO))
        .action(page.t(first_steps::TITLE), first_steps::PATH)
        .section(section);
    Ok(page.render(view))
}

async fn show(page: PageContext, key: Path<String>) -> PageResult {
    let view = model_view(&page, &key)?;
    Ok(page.render(view))
}

async fn test(page: PageContext, key: Path<String>, _: FormFields) -> PageResult {
    let by = page.user();
    let tested_key = key.clone();
    let result = page.run(|api| async move { api.models.test(by, &tested_key).await }).await?;
    let mut view = model_view(&page, &key)?;
    view.sections.insert(0, test_call::result_section(&page, &result));
    Ok(page.render(view))
}

/// Returns the path of a model's page, without the leading slash.
pub(super) fn path_of(key: &str) -> String {
    format!("admin/models/{}", path_segment(key))
}

fn model_row(page: &PageContext, entry: &ModelEntry) -> Row {
    let price = match &entry.model {
        CatalogueModel::Chat(it) => {
            let Rates { input, output, .. } = it.rates;
            let prices = page.fill(PRICES, &[&credits(page, input), &credits(page, output)]);
            Cell::text(prices).sort_value(input)
        }
        CatalogueModel::Embedder(it) => {
            Cell::text(credits(page, it.rates.input)).sort_value(it.rates.input)
        }
        CatalogueModel::Search(_) => Cell::default(),
    };

    Row::new(vec![
        Cell::link(entry.name(), path_of(&entry.key)).detail(entry.model.upstream_name()),
        Cell::text(entry.model.provider()),
        Cell::text(used_for(page, entry)),
        price,
        attempts::last_call_cell(page, &entry.attempts),
    ])
    .key(&entry.key)
}

fn used_for(page: &PageContext, entry: &ModelEntry) -> String {
    match &entry.model {
        CatalogueModel::Embedder(_) => page.t(EMBEDDINGS).to_owned(),
        CatalogueModel::Search(_) => page.t(WEB_SEARCH).to_owned(),
        CatalogueModel::Chat(_) if entry.modes.is_empty() => page.t(CHATS).to_owned(),
        CatalogueModel::Chat(_) => {
            entry.modes.iter().map(|it| page.t(mode_text(*it))).collect::<Vec<_>>().join(", ")
        }
    }
}

/// Returns the text of the mode that has this name in settings, or else the name.
pub(super) fn mode_label(page: &PageContext, name: &str) -> String {
    Mode::from_name(name).map_or(name, |it| page.t(mode_text(it))).to_owned()
}

fn mode_text(mode: Mode) -> Text {
    match mode {
        Mode::Optimize => Text::new("Optimise", "Optimieren"),
        Mode::Assistant => Text::new("Assistant", "Assistent"),
        Mode::Research => Text::new("Research", "Recherche"),
    }
}

/// Formats a rate, which is in thousandths, as credits per million tokens.
fn credits(page: &PageContext, rate: u64) -> String {
    let whole_credits = format::number(page.language, rate / 1000);
    let thousandths = rate % 1000;
    if thousandths == 0 {
        return whole_credits;
    }
    let separator = match page.language {
        Language::En => '.',
        Language::De => ',',
    };
    let digits = format!("{thousandths:03}");
    format!("{whole_credits}{separator}{}", digits.trim_end_matches('0'))
}

fn model_view(page: &PageContext, key: &str) -> Result<View, ApiError> {
    let entry = page.api.models.find(key).ok_or_else(ApiError::not_found)?;
    let target = match &entry.model {
        CatalogueModel::Chat(it) | CatalogueModel::Embedder(it) => Some(Arc::clone(it)),
        CatalogueModel::Search(_) => None,
    };

    let mut view = View::new(entry.name())
        .below(page.t(TITLE), "admin/models")
        .section(facts_section(page, &entry, target.as_deref()))
        .section(attempts::section(page, &entry))
        .section(test_call::section(page, &path_of(&entry.key)));

    if let Some(target) = &target {
        view = view.section(rates_section(page, target.rates));
    }

    let limits = limits_section(page, entry.model.protection());

    Ok(view.section(limits).section(source_section(page, &entry)))
}

fn facts_section(page: &PageContext, entry: &ModelEntry, target: Option<&Target>) -> Section {
    let mut facts = vec![
        (page.t(PROVIDER), Cell::text(entry.model.provider())),
        (page.t(MODEL), Cell::text(entry.model.upstream_name())),
        (page.t(USED_FOR), Cell::text(used_for(page, entry))),
    ];

    if let (CatalogueModel::Chat(_), Some(target)) = (&entry.model, target) {
        facts.push((page.t(CAPABILITIES), Cell::text(capabilities(page, target))));
        facts.push((page.t(FALLBACKS), Cell::text(target.fallbacks.join(", "))));
    }

    let keys = entry.model.keys().len();
    facts.push((page.t(KEYS), Cell::text(format::number(page.language, keys as u64))));

    Section::new("model", "").facts(facts)
}

fn capabilities(page: &PageContext, target: &Target) -> String {
    let mut parts: Vec<String> = Vec::new();
    match &target.vision_tool {
        Some(id) => parts.push(page.fill(SEES_WITH, &[id])),
        None if target.vision => parts.push(page.t(PICTURES).to_owned()),
        None => {}
    }

    match &target.web_search_tool {
        Some(id) => parts.push(page.fill(SEARCHES_WITH, &[id])),
        None if target.web_search => parts.push(page.t(OWN_SEARCH).to_owned()),
        None => {}
    }

    if let Some(effort) = target.reasoning_effort {
        parts.push(page.fill(REASONING, &[effort.name()]));
    }

    if !target.upstream_tools.is_empty() {
        let kinds: Vec<_> = target.upstream_tools.iter().map(|it| it.kind.as_str()).collect();
        parts.push(page.fill(TOOLS, &[&kinds.join(", ")]));
    }

    parts.join("; ")
}

fn rates_section(page: &PageContext, rates: Rates) -> Section {
    let facts = [
        (INPUT, rates.input),
        (CACHED, rates.cached_input),
        (OUTPUT, rates.output),
        (TOOL_TOKENS, rates.connector),
    ]
    .map(|(label, rate)| (page.t(label), Cell::text(credits(page, rate))));
    Section::new("rates", page.t(RATES)).intro(page.t(RATES_HINT)).facts(facts)
}

fn limits_section(page: &PageContext, protection: Protection) -> Section {
    let facts = [
        (REQUESTS, protection.requests_per_minute),
        (TOKENS, protection.tokens_per_minute),
        (CONCURRENT, protection.concurrent),
    ]
    .map(|(label, limit)| {
        let text = match limit {
            Some(limit) => format::number(page.language, limit),
            None => page.t(UNLIMITED).to_owned(),
        };
        (page.t(label), Cell::text(text))
    });
    Section::new("limits", page.t(LIMITS)).intro(page.t(LIMITS_HINT)).facts(facts)
}

fn source_section(page: &PageContext, entry: &ModelEntry) -> Section {
    let is_named = entry.model.id().is_some();
    let key = if is_named { "Ai:Providers" } else { entry.key.as_str() };
    let hint = page.t(if is_named { RESTART } else { RELOADED });
    let section = Section::new("source", page.t(CONFIGURATION))
        .facts([(page.t(SOURCE), Cell::text(key).detail(hint))]);
    if is_named {
        return section;
    }
    let path = format!("admin/settings?search={}", path_segment(&format!("{key}:")));
    section.links(vec![Link { label: page.t(OPEN_SETTINGS).to_owned(), path }])
}

pub(super) const TITLE: Text = Text::new("Models", "Modelle");
const INTRO: Text = Text::new(
    "The models that this server calls. Open one to test it and to see its limits. The first one is \
     set up under First steps, more under Ai:Providers in a settings file.",
    "Die Modelle, die dieser Server aufruft. Öffnen Sie eines, um es zu testen oder seine Limits zu \
     sehen. Das erste richten Sie unter „Erste Schritte“ ein, weitere unter Ai:Providers in einer \
     Einstellungsdatei.",
);
const EMPTY: Text = Text::new(
    "No model is configured. Set one up under First steps, or add entries under Ai:Providers.",
    "Kein Modell ist eingerichtet. Richten Sie eines unter „Erste Schritte“ ein oder ergänzen Sie \
     Einträge unter Ai:Providers.",
);
const MODEL: Text = Text::new("Model", "Modell");
const PROVIDER: Text = Text::new("Provider", "Anbieter");
const USED_FOR: Text = Text::new("Used for", "Verwendung");
const PRICE: Text = Text::new("Credits per million tokens", "Credits je Million Token");
const PRICES: Text = Text::new("{} in, {} out", "{} Eingabe, {} Ausgabe");
const LAST_CALL: Text = Text::new("Last call", "Letzter Aufruf");
const CHATS: Text = Text::new("Chats, if a group chooses it", "Chats, wenn eine Gruppe es wählt");
const EMBEDDINGS: Text = Text::new("Embeddings", "Embeddings");
const WEB_SEARCH: Text = Text::new("Web search", "Websuche");
const CAPABILITIES: Text = Text::new("Capabilities", "Fähigkeiten");
const PICTURES: Text = Text::new("Images", "Bilder");
const OWN_SEARCH: Text = Text::new("Built-in web search", "Integrierte Websuche");
const SEARCHES_WITH: Text = Text::new("Web search by {}", "Websuche über {}");
const SEES_WITH: Text = Text::new("Images by {}", "Bilder über {}");
const REASONING: Text = Text::new("Reasoning effort: {}", "Denkaufwand: {}");
const TOOLS: Text = Text::new("Tools of the provider: {}", "Werkzeuge des Anbieters: {}");
const FALLBACKS: Text = Text::new("Fallbacks", "Ersatzmodelle");
const KEYS: Text = Text::new("API keys", "API-Schlüssel");
const RATES: Text = Text::new("Prices", "Preise");
const RATES_HINT: Text = Text::new("Credits per million tokens.", "Credits je Million Token.");
const INPUT: Text = Text::new("Input", "Eingabe");
const CACHED: Text = Text::new("Cached input", "Eingabe aus dem Cache");
const OUTPUT: Text = Text::new("Output", "Ausgabe");
const TOOL_TOKENS: Text =
    Text::new("Tokens of the provider’s tools", "Token der Werkzeuge des Anbieters");
const LIMITS: Text = Text::new("Limits", "Limits");
const LIMITS_HINT: Text = Text::new(
    "All instances of the server share them.",
    "Alle Instanzen des Servers teilen sie sich.",
);
const REQUESTS: Text = Text::new("Calls per minute", "Aufrufe pro Minute");
const TOKENS: Text = Text::new("Tokens per minute", "Token pro Minute");
const CONCURRENT: Text = Text::new("Open calls", "Offene Aufrufe");
const UNLIMITED: Text = Text::new("Unlimited", "Unbegrenzt");
const CONFIGURATION: Text = Text::new("Configuration", "Konfiguration");
const SOURCE: Text = Text::new("Configured under", "Konfiguriert unter");
const RESTART: Text = Text::new(
    "In files or the environment. Changes take effect after a restart.",
    "In Dateien oder der Umgebung. Änderungen wirken nach einem Neustart.",
);
const RELOADED: Text = Text::new(
    "In files, in the environment or on the settings page. Changes take effect at once.",
    "In Dateien, der Umgebung oder auf der Seite „Einstellungen“. Änderungen wirken sofort.",
);
const OPEN_SETTINGS: Text = Text::new("Show these settings", "Diese Einstellungen anzeigen");
