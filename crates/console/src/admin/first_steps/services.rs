//! Steps about the services that the server uses.

use pia_assistant::{CatalogueModel, ModelEntry};
use pia_policy::Feature;
use pia_web::ApiError;

use super::{FirstStep, PATH, ServerState, StepState};
use crate::admin::models;
use crate::page_context::PageContext;
use crate::ui::view::Link;
use crate::ui::{Cell, Field, Form, Section, Text, format};

const EMAIL: Text = Text::new("Email", "E-Mail");
const EMAIL_INTRO: Text = Text::new(
    "Without a mail server nobody can reset a password, confirm an address or be invited by email.",
    "Ohne Mailserver kann niemand ein Passwort zurücksetzen, eine Adresse bestätigen oder per \
     E-Mail eingeladen werden.",
);
const HOST: Text = Text::new("Mail server", "Mailserver");
const HOST_HINT: Text = Text::new("Such as smtp.example.com", "Etwa smtp.example.com");
const FROM: Text = Text::new("Sender’s address", "Absenderadresse");
const SECURITY: Text = Text::new("Encryption", "Verschlüsselung");
const UNENCRYPTED: Text = Text::new("None", "Keine");
const SET_UP_EMAIL: Text = Text::new("Set up email", "E-Mail einrichten");
const EMAIL_SECRET: Text = Text::new(
    "If the mail server asks for a password, set Smtp__Host, Smtp__From, Smtp__Username and \
     Smtp__Password in the environment instead, and restart the server.",
    "Verlangt der Mailserver ein Passwort, setzen Sie stattdessen Smtp__Host, Smtp__From, \
     Smtp__Username und Smtp__Password in der Umgebung, und starten Sie den Server neu.",
);
const SENT: Text = Text::new("Sent since startup", "Seit dem Start gesendet");
const SEND_TEST: Text = Text::new("Send test email", "Test-E-Mail senden");
const OUTBOX: Text = Text::new("Show outbox", "Postausgang anzeigen");

const PROVIDER: Text = Text::new("Model provider", "Modellanbieter");
const PROVIDER_INTRO: Text = Text::new(
    "A model that answers chats. Try it with a test call, which the provider bills.",
    "Ein Modell, das Chats beantwortet. Prüfen Sie es mit einem Testaufruf, den der Anbieter \
     in Rechnung stellt.",
);
const NO_PROVIDER: Text = Text::new(
    "Set Ai__Model and Ai__ApiKey in the environment, also Ai__Endpoint for a provider other than \
     OpenAI, and restart the server. To offer several models, add entries under Ai:Providers.",
    "Setzen Sie Ai__Model und Ai__ApiKey in der Umgebung, für einen anderen Anbieter als OpenAI \
     auch Ai__Endpoint, und starten Sie den Server neu. Um mehrere Modelle anzubieten, ergänzen \
     Sie Einträge unter Ai:Providers.",
);
const TEST_CALL: Text = Text::new("Test model", "Modell testen");
const LAST_CALL: Text = Text::new("Last call", "Letzter Aufruf");
const OPEN_MODELS: Text = Text::new("Show models", "Modelle anzeigen");
const MODEL: Text = Text::new("Model", "Modell");

pub(super) fn email(page: &PageContext, state: &ServerState) -> FirstStep {
    let is_configured = page.api.mails.is_configured();
    let step_state = if is_configured { StepState::Done } else { StepState::Optional };
    let step =
        FirstStep::new(page, "email", EMAIL, step_state).with(|it| it.intro(page.t(EMAIL_INTRO)));
    if !is_configured {
        return step.with(|it| it.paragraph(page.t(EMAIL_SECRET)).form(email_form(page, state)));
    }

    let sent = format::number(page.language, page.api.mails.tally().all_sent());
    let outbox = Link { label: page.t(OUTBOX).to_owned(), path: "admin/mail".to_owned() };
    step.with(|it| {
        it.facts([
            (page.t(HOST), state.fact(page, "Smtp:Host")),
            (page.t(FROM), state.fact(page, "Smtp:From")),
            (page.t(SENT), Cell::text(sent)),
        ])
        .form(Form::new(format!("{PATH}/test-email"), page.t(SEND_TEST)))
        .links(vec![outbox])
    })
}

fn email_form(page: &PageContext, state: &ServerState) -> Form {
    let securities = [("starttls", "STARTTLS"), ("tls", "TLS"), ("none", page.t(UNENCRYPTED))];
    let host = Field::text("host", page.t(HOST), state.value("Smtp:Host"));
    let from = Field::input("from", page.t(FROM), "email", "off", state.value("Smtp:From"));
    let security = state.value("Smtp:Security");
    Form::new(format!("{PATH}/email"), page.t(SET_UP_EMAIL))
        .field(host.hint(page.t(HOST_HINT)))
        .field(from)
        .field(Field::select("security", page.t(SECURITY), securities, security))
}

pub(super) fn provider(page: &PageContext) -> Result<FirstStep, ApiError> {
    let gates = page.gates()?;
    let is_licensed = gates.licence.get().includes(Feature::AiProxy, gates.clock.now());
    let entries = page.api.models.list();
    let chat = entries.iter().find(|it| matches!(it.model, CatalogueModel::Chat(_)));
    let step_state = match chat {
        _ if !is_licensed => StepState::NotLicensed,
        Some(_) => StepState::Done,
        None => StepState::Open,
    };

    let models = Link { label: page.t(OPEN_MODELS).to_owned(), path: "admin/models".to_owned() };
    let step = FirstStep::new(page, "provider", PROVIDER, step_state)
        .with(|it| it.intro(page.t(PROVIDER_INTRO)));
    let step_with_model = match chat {
        Some(entry) if is_licensed => step.with(|it| add_model(page, entry, it)),
        Some(_) => step,
        None => step.with(|it| it.paragraph(page.t(NO_PROVIDER))),
    };

    Ok(step_with_model.with(|it| it.links(vec![models])))
}

fn add_model(page: &PageContext, entry: &ModelEntry, section: Section) -> Section {
    let (title, name) = models::names(entry);
    let detail = format!("{} · {name}", models::provider(&entry.model));
    let test = Form::new(format!("{PATH}/test-call"), page.t(TEST_CALL));
    section
        .facts([
            (page.t(MODEL), Cell::link(title, models::path_of(&entry.key)).detail(detail)),
            (page.t(LAST_CALL), models::attempts::last(page, &entry.attempts)),
        ])
        .form(test.hidden("key", entry.key.as_str()).about(title))
}
