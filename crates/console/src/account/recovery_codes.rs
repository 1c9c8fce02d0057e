//! Recovery codes of the second factor.

use pia_identity::{RecoveryCodes, Role};
use pia_web::{ApiError, Route};

use super::owner_proofs::OwnerProofs;
use super::security::{self, links};
use crate::form_fields::FormFields;
use crate::page_context::{PageContext, PageResult};
use crate::routes::pages::{account_form, account_page};
use crate::ui::view::{Link, SectionPart};
use crate::ui::{Form, Section, Text, View};

pub(super) fn routes() -> Vec<Route> {
    vec![
        account_page("/account/security/recovery-codes", |it| it.to(show)),
        account_form("/account/security/recovery-codes", |it| it.to(regenerate)),
    ]
}

async fn show(page: PageContext) -> PageResult {
    let proofs = OwnerProofs::load(&page).await?;
    if !proofs.has_factor {
        return page.redirect(security::PATH);
    }
    Ok(page.render(form_view(&page, proofs)))
}

async fn regenerate(page: PageContext, form: FormFields) -> PageResult {
    let proofs = OwnerProofs::load(&page).await?;
    match submit(&page, proofs, &form).await {
        Ok(codes) => Ok(page.render(codes_view(&page, &codes))),
        Err(err) => page.refuse(form_view(&page, proofs), err),
    }
}

/// Creates new codes if the form contains a proof.
async fn submit(
    page: &PageContext,
    proofs: OwnerProofs,
    form: &FormFields,
) -> Result<RecoveryCodes, ApiError> {
    let session = page.session_ref()?;
    let proof = proofs.require(page, form)?;
    page.run(
        |api| async move { api.identity.second_factors.regenerate_codes(session, proof).await },
    )
    .await
}

fn form_view(page: &PageContext, proofs: OwnerProofs) -> View {
    let form = Form::new("account/security/recovery-codes", page.t(CREATE));
    View::new(page.t(TITLE))
        .below(page.t(security::TITLE), security::PATH)
        .intro(page.t(INTRO))
        .section(Section::new("codes", "").form(proofs.with_field(page, form)))
}

/// Returns the page with new codes, which are displayed once.
pub(super) fn codes_view(page: &PageContext, codes: &RecoveryCodes) -> View {
    let lines: Vec<&str> = codes.0.iter().map(|it| it.expose().as_str()).collect();
    let saved = Link { label: page.t(SAVED).to_owned(), path: security::PATH.to_owned() };

    let mut section = Section::new("codes", "")
        .intro(page.t(STORE))
        .part(SectionPart::Secret(page.t(CODES).to_owned(), lines.join("\n")))
        .part(SectionPart::Next(saved));
    if page.caller.role == Role::Admin {
        section = section.part(links(page, &[(FIRST_STEPS, "admin/first-steps")]));
    }

    View::new(page.t(CODES_TITLE))
        .below(page.t(security::TITLE), security::PATH)
        .intro(page.t(CODES_INTRO))
        .section(section)
}

const TITLE: Text = Text::new("New recovery codes", "Neue Wiederherstellungscodes");
const INTRO: Text = Text::new(
    "Create new codes if you have used most of the old ones, or if someone may have seen them. \
     The old codes stop working, and your other sessions are signed out.",
    "Erstellen Sie neue Codes, wenn die alten fast aufgebraucht sind oder jemand sie gesehen haben \
     könnte. Die alten Codes gelten dann nicht mehr, und Ihre anderen Sitzungen werden abgemeldet.",
);
const CREATE: Text = Text::new("Create new codes", "Neue Codes erstellen");
const CODES_TITLE: Text = Text::new("Save your recovery codes", "Wiederherstellungscodes sichern");
const CODES_INTRO: Text = Text::new(
    "If you lose your phone, sign in with one of these codes instead of the one in the app. Each \
     code works once.",
    "Wenn Sie Ihr Telefon verlieren, melden Sie sich mit einem dieser Codes statt mit dem aus der \
     App an. Jeder Code gilt nur einmal.",
);
const CODES: Text = Text::new("Recovery codes", "Wiederherstellungscodes");
const STORE: Text = Text::new(
    "Print this page, or copy the codes into a password manager. Do not store them on the phone \
     that has the app. They are not shown again.",
    "Drucken Sie diese Seite aus, oder kopieren Sie die Codes in einen Passwortmanager. Bewahren \
     Sie sie nicht auf dem Telefon mit der App auf. Sie werden nicht noch einmal angezeigt.",
);
const SAVED: Text = Text::new("I have saved the codes", "Ich habe die Codes gesichert");
const FIRST_STEPS: Text =
    Text::new("Continue with the first steps", "Weiter mit den ersten Schritten");
