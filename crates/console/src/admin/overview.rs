//! First page of the console.

use pia_identity::Role;
use pia_web::Route;

use crate::navigation::{ALL_ROLES, CONSOLE};
use crate::page_context::{PageContext, PageResult};
use crate::routes::pages::page_for;
use crate::ui::view::{Link, SectionPart};
use crate::ui::{Section, Text, View};

const TITLE: Text = Text::new("Overview", "Übersicht");
const INTRO: Text = Text::new(
    "Choose an area. You see what your role may use.",
    "Wählen Sie einen Bereich. Sie sehen, was Ihre Rolle nutzen darf.",
);

pub(super) fn routes() -> Vec<Route> {
    vec![page_for(ALL_ROLES, "/admin", |it| it.to(show))]
}

async fn show(page: PageContext) -> PageResult {
    let role: Role = page.caller.role;
    let items = CONSOLE.iter().skip(1).flat_map(|it| it.items);
    let items = items.filter(|it| it.is_open_to(role));
    let links = items.map(|it| Link { label: page.t(it.label).into(), path: it.path.into() });
    let section = Section::new("areas", "").part(SectionPart::Links(links.collect()));
    let view = View::new(page.t(TITLE)).intro(page.t(INTRO)).section(section);
    Ok(page.render(view))
}
