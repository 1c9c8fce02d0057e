//! Steps about the services that the server uses.

use pia_assistant::{AttemptOutcome, CatalogueModel, ModelEntry, ProviderType};
use pia_policy::Feature;
use pia_web::ApiError;

use super::{FirstStep, PATH, ServerState, StepState, add_source, take_common_source};
use crate::admin::{mail, models};
use crate::page_context::PageContext;
use crate::texts::common;
use crate::ui::view::Link;
use crate::ui::{Cell, Field, Form, Section, Text, format};

/// Key of the model that single settings describe.
const SINGLE_MODEL: &str = "Ai";

/// Fields of the form for email, and the settings that they change.
pub(super) const EMAIL_SETTINGS: [(&str, &str); 6] = [
    ("host", "Smtp:Host"),
    ("port", "Smtp:Port"),
    ("from", "Smtp:From"),
    ("security", "Smtp:Security"),
    ("username", "Smtp:Username"),
    ("password", "Smtp:Password"),
];

/// Fields of the form for a provider, and the settings that they change.
pub(super) const PROVIDER_SETTINGS: [(&str, &str); 4] = [
    ("type", "Ai:ProviderType"),
    ("model", "Ai:Model"),
    ("endpoint", "Ai:Endpoint"),
    ("key", "Ai:ApiKey"),
];

pub(super) fn email_state(page: &PageContext, state: &ServerState) -> StepState {
    if !page.api.mails.is_configured() {
        StepState::Optional
    } else if state.has_failed_email() {
        StepState::Attention
    } else {
        StepState::Done
    }
}

pub(super) fn email_step(page: &PageContext, state: &ServerState) -> FirstStep {
    let step_state = email_state(page, state);
    let step =
        FirstStep::new(page, "email", EMAIL, step_state).with(|it| it.intro(page.t(EMAIL_INTRO)));
    if step_state == StepState::Optional {
        return step.with(|it| it.form(email_form(page, state, SET_UP_EMAIL)));
    }

    let mut step = step.with(|it| email_facts(page, state, it).live(state.is_testing_email()));
    if step_state == StepState::Attention {
        step = step.with(|it| it.form(email_form(page, state, common::SAVE)));
    }

    let outbox = Link { label: page.t(OUTBOX).to_owned(), path: "admin/mail".to_owned() };
    step.with(|it| it.links(vec![outbox, mail::settings_link(page)]))
}

/// Adds the settings in force, and the form that tests them.
fn email_facts(page: &PageContext, state: &ServerState, section: Section) -> Section {
    let sent = format::number(page.language, page.api.mails.tally().all_sent());
    let current = state.value("Smtp:Security");
    let label = securities(page).into_iter().find(|(value, _)| *value == current);
    let security = label.map_or(current, |it| it.1);

    let mut facts = vec![
        (page.t(HOST), state.fact(page, "Smtp:Host")),
        (page.t(PORT), state.fact(page, "Smtp:Port")),
        (page.t(FROM), state.fact(page, "Smtp:From")),
        (page.t(SECURITY), Cell { text: security.to_owned(), ..state.fact(page, "Smtp:Security") }),
        (page.t(USERNAME), state.fact(page, "Smtp:Username")),
        (page.t(PASSWORD), state.secret(page, "Smtp:Password")),
    ];
    let source = take_common_source(&mut facts);
    facts.push((page.t(SENT), Cell::text(sent)));
    if let Some(test) = &state.unsent_test {
        facts.push((page.t(LAST_TEST), mail::state_cell(page, test, page.api.clock.now())));
    }

    let test = Form::new(format!("{PATH}/test-email"), page.t(SEND_TEST));
    add_source(section.facts(facts), source).form(test)
}

/// Returns the kinds of encryption with their labels.
fn securities(page: &PageContext) -> [(&'static str, &'static str); 3] {
    [("starttls", "STARTTLS"), ("tls", "TLS"), ("none", page.t(UNENCRYPTED))]
}

fn email_form(page: &PageContext, state: &ServerState, submit: Text) -> Form {
    let host = Field::text("host", page.t(HOST), state.value("Smtp:Host"));
    let port = Field::input("port", page.t(PORT), "number", "off", state.value("Smtp:Port"));
    let from = Field::input("from", page.t(FROM), "email", "off", state.value("Smtp:From"));
    let security = state.value("Smtp:Security");
    let username = Field::text("username", page.t(USERNAME), state.value("Smtp:Username"));
    let password = Field::password("password", page.t(PASSWORD), "new-password");
    Form::new(format!("{PATH}/email"), page.t(submit))
        .field(host.hint(page.t(HOST_HINT)))
        .field(port.hint(page.t(PORT_HINT)).optional())
        .field(from)
        .field(Field::select("security", page.t(SECURITY), securities(page), security))
        .field(username.optional())
        .field(password.hint(page.t(state.secret_hint("Smtp:Password"))).optional())
}

/// Returns the first chat model of the catalogue.
pub(super) fn chat_model(entries: &[ModelEntry]) -> Option<&ModelEntry> {
    entries.iter().find(|it| matches!(it.model, CatalogueModel::Chat(_)))
}

/// Returns whether the last call of a model failed. A refused request may be the
/// caller's fault once others were answered.
fn is_failing(entry: &ModelEntry) -> bool {
    let attempts = &entry.attempts;
    let is_refused = attempts.last == Some(AttemptOutcome::Refused);
    let was_answered = attempts.counts.contains_key(&AttemptOutcome::Answered);
    entry.failure().is_some() || (is_refused && !was_answered)
}

/// Returns whether the form of the step corrects a model: one that does not work, and
/// that only settings of the form describe.
pub(super) fn may_be_corrected(entry: &ModelEntry) -> bool {
    let is_of_form =
        entry.key == SINGLE_MODEL && entry.model.provider() != ProviderType::AzureOpenAi.name();
    is_of_form && is_failing(entry)
}

pub(super) fn provider_step(
    page: &PageContext,
    state: &ServerState,
) -> Result<FirstStep, ApiError> {
    let gates = page.gates()?;
    let is_licensed = gates.licence.get().includes(Feature::AiProxy, gates.clock.now());
    let new_step = |step_state: StepState| {
        FirstStep::new(page, "provider", PROVIDER, step_state)
            .with(|it| it.intro(page.t(PROVIDER_INTRO)))
    };
    let entries = page.api.models.list();
    let step = if !is_licensed {
        new_step(StepState::NotLicensed)
    } else if let Some(entry) = chat_model(&entries) {
        let step_state = if is_failing(entry) { StepState::Attention } else { StepState::Done };
        new_step(step_state).with(|it| add_model(page, state, entry, it))
    } else {
        let form = provider_form(page, state, SET_UP_PROVIDER);
        new_step(StepState::Open).with(|it| it.form(form).paragraph(page.t(SEVERAL_MODELS)))
    };

    let models = Link { label: page.t(OPEN_MODELS).to_owned(), path: "admin/models".to_owned() };
    let settings = Link {
        label: page.t(MODEL_SETTINGS).to_owned(),
        path: "admin/settings?area=models".to_owned(),
    };
    Ok(step.with(|it| it.links(vec![models, settings])))
}

fn provider_form(page: &PageContext, state: &ServerState, submit: Text) -> Form {
    // A deployment of Azure has further settings.
    let types = ProviderType::ALL
        .iter()
        .filter(|it| **it != ProviderType::AzureOpenAi)
        .map(|it| (it.name(), provider_label(page, *it)));
    let model = Field::text("model", page.t(MODEL), state.value("Ai:Model"));
    let endpoint =
        Field::input("endpoint", page.t(ENDPOINT), "url", "off", state.value("Ai:Endpoint"));
    let key = Field::password("key", page.t(API_KEY), "new-password");
    Form::new(format!("{PATH}/provider"), page.t(submit))
        .field(Field::select("type", page.t(PROVIDER_TYPE), types, state.value("Ai:ProviderType")))
        .field(model.hint(page.t(MODEL_HINT)))
        .field(endpoint.hint(page.t(ENDPOINT_HINT)).optional())
        .field(key.hint(page.t(state.secret_hint("Ai:ApiKey"))).optional())
}

fn provider_label(page: &PageContext, provider: ProviderType) -> &'static str {
    match provider {
        ProviderType::OpenAiCompatible => page.t(COMPATIBLE_SERVER),
        ProviderType::VLlm => "vLLM",
        ProviderType::AzureOpenAi => "Azure OpenAI",
        _ => provider.name(),
    }
}

/// Returns a fact: the type of the provider, and the source of this setting.
fn provider_fact(page: &PageContext, state: &ServerState) -> Cell {
    let fact = state.fact(page, "Ai:ProviderType");
    match ProviderType::ALL.iter().find(|it| it.name().eq_ignore_ascii_case(&fact.text)) {
        Some(provider) => Cell { text: provider_label(page, *provider).to_owned(), ..fact },
        None => fact,
    }
}

fn add_model(
    page: &PageContext,
    state: &ServerState,
    entry: &ModelEntry,
    section: Section,
) -> Section {
    let title = entry.name();
    let detail = format!("{} · {}", entry.model.provider(), entry.model.upstream_name());
    let mut facts = vec![
        (page.t(MODEL), Cell::link(title, models::path_of(&entry.key)).detail(detail)),
        (page.t(LAST_CALL), models::attempts::last_call_cell(page, &entry.attempts)),
    ];
    let mut source = String::new();
    if entry.key == SINGLE_MODEL {
        let mut settings = [
            (page.t(PROVIDER_TYPE), provider_fact(page, state)),
            (page.t(MODEL_NAME), state.fact(page, "Ai:Model")),
            (page.t(ENDPOINT), state.fact(page, "Ai:Endpoint")),
            (page.t(API_KEY), state.secret(page, "Ai:ApiKey")),
        ];
        source = take_common_source(&mut settings);
        facts.extend(settings);
    }

    let test = Form::new(format!("{PATH}/test-call"), page.t(TEST_CALL));
    let section = add_source(section.facts(facts), source)
        .form(test.hidden("key", entry.key.as_str()).about(title));
    if !may_be_corrected(entry) {
        return section;
    }

    section.form(provider_form(page, state, common::SAVE))
}

const EMAIL: Text = Text::new("Email", "E-Mail");
const EMAIL_INTRO: Text = Text::new(
    "Without a mail server nobody can reset a password, confirm an address or be invited by email.",
    "Ohne Mailserver kann niemand ein Passwort zurücksetzen, eine Adresse bestätigen oder per \
     E-Mail eingeladen werden.",
);
const HOST: Text = Text::new("Mail server", "Mailserver");
const HOST_HINT: Text = Text::new("Such as smtp.example.com", "Etwa smtp.example.com");
const PORT: Text = Text::new("Port", "Port");
const PORT_HINT: Text = Text::new(
    "Leave this empty for the usual one: 587 with STARTTLS, 465 with TLS, 25 without encryption.",
    "Leer für den üblichen: 587 mit STARTTLS, 465 mit TLS, 25 ohne Verschlüsselung.",
);
const FROM: Text = Text::new("Sender’s address", "Absenderadresse");
const SECURITY: Text = Text::new("Encryption", "Verschlüsselung");
const UNENCRYPTED: Text = Text::new("None", "Keine");
const SET_UP_EMAIL: Text = Text::new("Set up email", "E-Mail einrichten");
const USERNAME: Text = Text::new("User name", "Benutzername");
const PASSWORD: Text = Text::new("Password of the mail server", "Passwort des Mailservers");
const SENT: Text = Text::new("Sent since startup", "Seit dem Start gesendet");
const LAST_TEST: Text = Text::new("Last test email", "Letzte Test-E-Mail");
const SEND_TEST: Text = Text::new("Send test email", "Test-E-Mail senden");
const OUTBOX: Text = Text::new("Show outbox", "Postausgang anzeigen");

const PROVIDER: Text = Text::new("Model provider", "Modellanbieter");
const PROVIDER_INTRO: Text = Text::new(
    "A model that answers chats. Try it with a test call, which the provider bills.",
    "Ein Modell, das Chats beantwortet. Prüfen Sie es mit einem Testaufruf, den der Anbieter \
     in Rechnung stellt.",
);
const SEVERAL_MODELS: Text = Text::new(
    "To offer several models, or a deployment of Azure OpenAI, add entries under Ai:Providers in a \
     settings file.",
    "Um mehrere Modelle oder ein Deployment von Azure OpenAI anzubieten, ergänzen Sie Einträge \
     unter Ai:Providers in einer Einstellungsdatei.",
);
const COMPATIBLE_SERVER: Text = Text::new("OpenAI-compatible server", "OpenAI-kompatibler Server");
const PROVIDER_TYPE: Text = Text::new("Provider", "Anbieter");
const MODEL_HINT: Text = Text::new("Such as gpt-4o-mini", "Etwa gpt-4o-mini");
const ENDPOINT: Text = Text::new("Base URL", "Basis-URL");
const ENDPOINT_HINT: Text = Text::new(
    "Leave this empty for the provider’s own address. OpenAI-compatible servers and vLLM need it.",
    "Leer für die Adresse des Anbieters. OpenAI-kompatible Server und vLLM brauchen sie.",
);
const API_KEY: Text = Text::new("API key", "API-Schlüssel");
const SET_UP_PROVIDER: Text = Text::new("Set up model", "Modell einrichten");

const TEST_CALL: Text = Text::new("Test model", "Modell testen");
const LAST_CALL: Text = Text::new("Last call", "Letzter Aufruf");
const OPEN_MODELS: Text = Text::new("Show models", "Modelle anzeigen");
const MODEL_SETTINGS: Text = Text::new("Change model settings", "Einstellungen der Modelle ändern");
const MODEL: Text = Text::new("Model", "Modell");
const MODEL_NAME: Text = Text::new("Model name of the provider", "Modellname beim Anbieter");
