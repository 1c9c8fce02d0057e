//! Steps about the people who use the server.

use pia_policy::Feature;
use pia_web::ApiError;

use super::{FirstStep, PATH, ServerState, StepState};
use crate::page_context::PageContext;
use crate::texts::common;
use crate::ui::table::Tone;
use crate::ui::view::Link;
use crate::ui::{Cell, Field, Form, Text, format};

/// Setting of the rule that says who may register.
const RULE: &str = "LocalAuth:Registration";

pub(super) fn administrator_step(page: &PageContext, state: &ServerState) -> FirstStep {
    let (step_state, text, tone) = if state.is_protected {
        (StepState::Done, PROTECTED, Tone::Good)
    } else {
        (StepState::Open, UNPROTECTED, Tone::Warning)
    };

    let link = Link { label: page.t(PROTECT).to_owned(), path: "account/security".to_owned() };
    FirstStep::new(page, "administrator", ADMINISTRATOR, step_state).with(|it| {
        it.facts([
            (page.t(ACCOUNT), Cell::text(&state.email)),
            (page.t(PROTECTION), Cell::badge(page.t(text), tone)),
        ])
        .links(vec![link])
    })
}

pub(super) fn registration_step(page: &PageContext, state: &ServerState) -> FirstStep {
    let is_set = state.setting(RULE).is_some_and(|it| it.origin.is_some());
    let step_state = if is_set { StepState::Done } else { StepState::Open };
    let step = FirstStep::new(page, "registration", REGISTRATION, step_state)
        .with(|it| it.intro(page.t(REGISTRATION_INTRO)));
    let policies = registration_policies().map(|(value, label)| (value, page.t(label)));
    if !is_set {
        let select = Field::select("policy", page.t(POLICY), policies, state.value(RULE));
        let form = Form::new(format!("{PATH}/registration"), page.t(common::SAVE));
        return step.with(|it| it.form(form.field(select)));
    }

    let current_policy = state.value(RULE);
    let label = policies.into_iter().find(|(value, _)| *value == current_policy).map(|it| it.1);
    let fact = Cell { text: label.unwrap_or_default().to_owned(), ..state.fact(page, RULE) };
    let link = Link { label: page.t(SETTING).to_owned(), path: format!("admin/settings/{RULE}") };

    step.with(|it| it.facts([(page.t(POLICY), fact)]).links(vec![link]))
}

/// Returns the values of the rule with their labels.
fn registration_policies() -> [(&'static str, Text); 3] {
    [
        ("invitation", Text::new("By invitation", "Auf Einladung")),
        ("open", Text::new("Open to everyone", "Offen für alle")),
        ("closed", Text::new("Closed", "Geschlossen")),
    ]
}

pub(super) fn group_step(page: &PageContext, state: &ServerState) -> Result<FirstStep, ApiError> {
    let gates = page.gates()?;
    let is_licensed = gates.licence.get().includes(Feature::GroupManagement, gates.clock.now());
    let step_state = if state.groups > 1 {
        StepState::Done
    } else if is_licensed {
        StepState::Optional
    } else {
        StepState::NotLicensed
    };

    let count = format::number(page.language, state.groups as u64);
    let link = Link { label: page.t(OPEN_GROUPS).to_owned(), path: "admin/groups".to_owned() };

    let create = Form::new(format!("{PATH}/group"), page.t(CREATE_GROUP)).field(Field::text(
        "name",
        page.t(common::NAME),
        "",
    ));

    let mut step = FirstStep::new(page, "group", GROUP, step_state)
        .with(|it| it.intro(page.t(GROUP_INTRO)).facts([(page.t(GROUPS), Cell::text(count))]));
    if step_state == StepState::Optional {
        step = step.with(|it| it.form(create));
    }

    Ok(step.with(|it| it.links(vec![link])))
}

const ADMINISTRATOR: Text = Text::new("Your administrator account", "Ihr Administratorkonto");
const ACCOUNT: Text = Text::new("Your account", "Ihr Konto");
const PROTECTION: Text = Text::new("Second factor or passkey", "Zweiter Faktor oder Passkey");
const PROTECTED: Text = Text::new("On", "Ein");
const UNPROTECTED: Text = Text::new("Off", "Aus");
const PROTECT: Text = Text::new("Protect your account", "Konto schützen");

const REGISTRATION: Text = Text::new("Registration", "Registrierung");
const REGISTRATION_INTRO: Text = Text::new(
    "Decide who may create an account with a password. You can change it at any time.",
    "Entscheiden Sie, wer ein Konto mit Passwort erstellen darf. Sie können das jederzeit ändern.",
);
const POLICY: Text = Text::new("New accounts", "Neue Konten");
const SETTING: Text = Text::new("Change this setting", "Diese Einstellung ändern");

const GROUP: Text = Text::new("First group", "Erste Gruppe");
const GROUP_INTRO: Text = Text::new(
    "Groups give their members models, budgets, policies and knowledge. New accounts are in the \
     default group, which may be all you need.",
    "Gruppen geben ihren Mitgliedern Modelle, Budgets, Richtlinien und Wissen. Neue Konten sind in \
     der Standardgruppe; mehr brauchen Sie vielleicht nicht.",
);
const GROUPS: Text = Text::new("Groups", "Gruppen");
const CREATE_GROUP: Text = Text::new("Create group", "Gruppe erstellen");
const OPEN_GROUPS: Text = Text::new("Show groups", "Gruppen anzeigen");
