//! Steps about the server itself.

use pia_policy::Licensed;
use pia_web::ApiError;

use super::{FirstStep, ServerState, StepState};
use crate::admin::{licence, settings};
use crate::page_context::PageContext;
use crate::ui::view::Link;
use crate::ui::{Cell, Text};

/// Setting of the public address.
const PUBLIC_URL: &str = "Server:PublicUrl";
/// Variable that sets it, to copy.
const ADDRESS_EXAMPLE: &str = "Server__PublicUrl=https://pia.example.com";

pub(super) fn licence_step(page: &PageContext) -> Result<FirstStep, ApiError> {
    let gates = page.gates()?;
    let state = gates.licence.get();
    let now = gates.clock.now();
    let (step_state, licence) = match state.at(now) {
        Licensed::Valid(it) => (StepState::Done, Some(it)),
        Licensed::Expired(it) => (StepState::Attention, Some(it)),
        Licensed::Not => (StepState::Open, None),
    };

    let link = Link { label: page.t(OPEN_LICENCE).to_owned(), path: licence::PATH.to_owned() };

    let facts = licence.map(|it| {
        [
            (page.t(LICENSEE), Cell::text(&it.licensee)),
            (page.t(LICENCE), licence::status_cell(page, it, now)),
        ]
    });

    let step = FirstStep::new(page, "licence", LICENCE, step_state);

    Ok(step.with(|it| it.facts(facts.into_iter().flatten()).links(vec![link])))
}

pub(super) fn public_address_step(page: &PageContext, state: &ServerState) -> FirstStep {
    let is_set = state.setting(PUBLIC_URL).is_some_and(|it| it.origin.is_some());
    let step_state = if is_set { StepState::Done } else { StepState::Open };
    let value = if is_set { state.fact(page, PUBLIC_URL) } else { Cell::text(page.public_url()) };
    let mut step = FirstStep::new(page, "address", ADDRESS, step_state)
        .with(|it| it.intro(page.t(ADDRESS_INTRO)).facts([(page.t(ADDRESS), value)]));
    if !is_set {
        step = step.with(|it| it.paragraph(page.t(ADDRESS_DEFAULT)));
    }

    step.with(|it| it.paragraph(settings::restart_hint(page, PUBLIC_URL)).code(ADDRESS_EXAMPLE))
}

const LICENCE: Text = Text::new("Licence", "Lizenz");
const LICENSEE: Text = Text::new("Licensee", "Lizenznehmer");
const OPEN_LICENCE: Text = Text::new("Show licence", "Lizenz anzeigen");
const ADDRESS: Text = Text::new("Public address", "Öffentliche Adresse");
const ADDRESS_INTRO: Text = Text::new(
    "The address at which people reach this server. Links in emails, passkeys and identity \
     providers depend on it.",
    "Die Adresse, unter der dieser Server erreichbar ist. Links in E-Mails, Passkeys und \
     Identitätsanbieter hängen von ihr ab.",
);
const ADDRESS_DEFAULT: Text = Text::new(
    "This is the default address for development. Only this machine can reach it.",
    "Das ist die Standardadresse für die Entwicklung. Nur dieser Rechner erreicht sie.",
);
