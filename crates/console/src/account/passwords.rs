//! Change of one's own password.

use actix_web::web::Data;
use pia_web::Route;

use super::owner_proofs::current_password;
use super::security;
use crate::AccountPages;
use crate::form_fields::FormFields;
use crate::page_context::{PageContext, PageResult};
use crate::routes::pages::{account_form, account_page};
use crate::texts::Texts;
use crate::ui::form::SelectOption;
use crate::ui::{Field, Form, Section, Text, View};

pub(super) fn routes() -> Vec<Route> {
    vec![
        account_page("/account/security/password", |it| it.to(show)),
        account_form("/account/security/password", |it| it.to(change)),
    ]
}

async fn show(page: PageContext, pages: Data<AccountPages>) -> PageResult {
    let view = password_view(&page, &pages);
    Ok(page.render(view))
}

async fn change(page: PageContext, pages: Data<AccountPages>, form: FormFields) -> PageResult {
    let session = page.session_ref()?;
    let current = form.secret("currentPassword");
    let new = form.secret("newPassword");
    let revoke = form.text("revokeAppAccess") == "true";
    let result = page
        .run(
            |api| async move { api.identity.passwords.change(session, current, new, revoke).await },
        )
        .await;
    match result {
        Ok(_) => page.done(security::PATH, "password-changed"),
        Err(err) => page.refuse(password_view(&page, &pages), err),
    }
}

fn password_view(page: &PageContext, pages: &AccountPages) -> View {
    let min_chars = pages.accounts.rules().min_password_chars;
    let hint = (Texts::in_language(page.language).register.password_hint)(min_chars);

    let revoke = SelectOption {
        value: "true".to_owned(),
        label: page.t(REVOKE).to_owned(),
        is_selected: false,
    };

    let new = Field::password("newPassword", page.t(NEW_PASSWORD), "new-password").hint(hint);
    let other = Field::checks("revokeAppAccess", page.t(OTHER_ACCESS), vec![revoke]);
    let form = Form::new("account/security/password", page.t(TITLE))
        .field(current_password(page))
        .field(new)
        .field(other.hint(page.t(OTHER_ACCESS_HINT)));

    View::new(page.t(TITLE))
        .intro(page.t(INTRO))
        .below(page.t(security::TITLE), security::PATH)
        .section(Section::new("password", "").form(form))
}

const TITLE: Text = Text::new("Change password", "Passwort ändern");
const INTRO: Text = Text::new(
    "All your other sessions are signed out. You stay signed in here.",
    "Alle Ihre anderen Sitzungen werden abgemeldet. Hier bleiben Sie angemeldet.",
);
const NEW_PASSWORD: Text = Text::new("New password", "Neues Passwort");
const OTHER_ACCESS: Text =
    Text::new("App passwords and API keys", "App-Passwörter und API-Schlüssel");
const OTHER_ACCESS_HINT: Text = Text::new(
    "Select this if someone else may know your password.",
    "Wählen Sie dies aus, wenn jemand anderes Ihr Passwort kennen könnte.",
);
const REVOKE: Text = Text::new(
    "Also revoke all app passwords and API keys",
    "Auch alle App-Passwörter und API-Schlüssel widerrufen",
);
