//! One's own app passwords.

use pia_identity::{AppPasswordEntry, CreatedAppPassword};
use pia_kernel::AppPasswordId;
use pia_web::{ApiError, PathId, Route};

use super::owner_proofs::OwnerProofs;
use super::security::links;
use crate::form_fields::FormFields;
use crate::page_context::{PageContext, PageResult};
use crate::routes::pages::{account_change, account_form, account_page};
use crate::texts::common;
use crate::ui::view::SectionPart;
use crate::ui::{Cell, Field, Form, Row, Section, Table, Text, View, format};

const PATH: &str = "account/app-passwords";

pub(super) fn routes() -> Vec<Route> {
    vec![
        account_page("/account/app-passwords", |it| it.to(list)),
        account_change("/account/app-passwords", |it| it.to(create)),
        account_page("/account/app-passwords/{id}", |it| it.to(show)),
        account_form("/account/app-passwords/{id}/revoke", |it| it.to(revoke)),
    ]
}

async fn list(page: PageContext) -> PageResult {
    let view = list_view(&page, OwnerProofs::load(&page).await?, "").await?;
    Ok(page.render(view))
}

async fn create(page: PageContext, form: FormFields) -> PageResult {
    let proofs = OwnerProofs::load(&page).await?;
    let session = page.session_ref()?;
    let name = form.some("name");
    let proof = proofs.parse(&form);
    let result = page
        .run(|api| async move {
            api.identity.app_passwords.create(session, name.as_deref(), proof).await
        })
        .await;
    match result {
        Ok(created) => Ok(page.render(created_view(&page, &created))),
        Err(err) => page.refuse(list_view(&page, proofs, form.text("name")).await?, err),
    }
}

async fn show(page: PageContext, PathId(id): PathId) -> PageResult {
    let entry = load_entries(&page)
        .await?
        .into_iter()
        .find(|it| it.id == AppPasswordId(id))
        .ok_or_else(ApiError::not_found)?;
    let revoke = Form::new(format!("{PATH}/{id}/revoke"), page.t(REVOKE)).danger();
    let [created, used] = times(&page, &entry);
    let facts = [(page.t(common::CREATED), created), (page.t(LAST_USED), used)];
    let view = View::new(&entry.name)
        .below(page.t(TITLE), PATH)
        .section(Section::new("app-password", "").facts(facts))
        .section(Section::new("revoke", page.t(REVOKE)).intro(page.t(REVOKE_HINT)).form(revoke));
    Ok(page.render(view))
}

async fn revoke(page: PageContext, PathId(id): PathId, _: FormFields) -> PageResult {
    let session = page.session_ref()?;
    page.run(
        |api| async move { api.identity.app_passwords.revoke(session, AppPasswordId(id)).await },
    )
    .await?;
    page.done(PATH, "revoked")
}

async fn load_entries(page: &PageContext) -> Result<Vec<AppPasswordEntry>, ApiError> {
    let user = page.user();
    page.run(|api| async move { api.identity.app_passwords.list(user).await }).await
}

async fn list_view(
    page: &PageContext,
    proofs: OwnerProofs,
    typed_name: &str,
) -> Result<View, ApiError> {
    let row = |it: &AppPasswordEntry| {
        let [created, used] = times(page, it);
        Row::new(vec![Cell::link(&it.name, format!("{PATH}/{}", it.id)), created, used])
    };

    let table = Table {
        caption: page.t(TITLE).to_owned(),
        columns: [common::NAME, common::CREATED, LAST_USED].map(|it| page.t(it).to_owned()).into(),
        rows: load_entries(page).await?.iter().map(row).collect(),
        empty: page.t(EMPTY).to_owned(),
        ..Table::default()
    };

    let name = Field::text("name", page.t(common::NAME), typed_name).hint(page.t(NAME_HINT));
    let form = proofs.with_field(page, Form::new(PATH, page.t(CREATE)).field(name));
    Ok(View::new(page.t(TITLE))
        .intro(page.t(INTRO))
        .section(Section::new("app-passwords", "").table(table))
        .section(Section::new("new", page.t(NEW)).form(form)))
}

fn times(page: &PageContext, entry: &AppPasswordEntry) -> [Cell; 2] {
    let used = match entry.used_at {
        Some(at) => format::time(page.language, at),
        None => page.t(common::NEVER).to_owned(),
    };
    [Cell::text(format::time(page.language, entry.created_at)), Cell::text(used)]
}

fn created_view(page: &PageContext, created: &CreatedAppPassword) -> View {
    let name = created.entry.name.clone();
    let password = created.password.expose().clone();
    let section = Section::new("app-password", "")
        .part(SectionPart::Secret(name, password))
        .part(links(page, &[(BACK, PATH)]));
    View::new(page.t(CREATED_TITLE))
        .below(page.t(TITLE), PATH)
        .intro(page.t(CREATED_INTRO))
        .section(section)
}

const TITLE: Text = Text::new("App passwords", "App-Passwörter");
const INTRO: Text = Text::new(
    "A program that cannot ask for your second factor signs in with an app password instead of \
     your own. It can access your data, but cannot change your security settings.",
    "Ein Programm, das den zweiten Faktor nicht abfragen kann, meldet sich mit einem App-Passwort \
     statt mit Ihrem eigenen an. Es hat Zugriff auf Ihre Daten, kann aber Ihre \
     Sicherheitseinstellungen nicht ändern.",
);
const EMPTY: Text = Text::new(
    "You have no app passwords. Create one for each program that needs it.",
    "Sie haben keine App-Passwörter. Erstellen Sie eines für jedes Programm, das es braucht.",
);
const LAST_USED: Text = Text::new("Last used", "Zuletzt benutzt");
const NEW: Text = Text::new("New app password", "Neues App-Passwort");
const CREATE: Text = Text::new("Create app password", "App-Passwort erstellen");
const NAME_HINT: Text =
    Text::new("The program that will use it.", "Das Programm, das es benutzen wird.");
const CREATED_TITLE: Text = Text::new("Your new app password", "Ihr neues App-Passwort");
const CREATED_INTRO: Text = Text::new(
    "Copy it into the program now. It is not shown again.",
    "Kopieren Sie es jetzt in das Programm. Es wird nicht noch einmal angezeigt.",
);
const BACK: Text = Text::new("Back to app passwords", "Zurück zu den App-Passwörtern");
const REVOKE: Text = Text::new("Revoke app password", "App-Passwort widerrufen");
const REVOKE_HINT: Text = Text::new(
    "The program that uses it is signed out and can no longer sign in.",
    "Das Programm, das es benutzt, wird abgemeldet und kann sich nicht mehr anmelden.",
);
