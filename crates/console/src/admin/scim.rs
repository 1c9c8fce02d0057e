//! Tokens of identity providers that manage users and groups (SCIM).

use chrono::{DateTime, NaiveDate, Utc};
use pia_identity::{ScimScope, ScimTokenEntry, ScimTokenOptions};
use pia_kernel::{ScimTokenId, Timestamp};
use pia_policy::Feature;
use pia_web::{ApiError, FieldError, Licensing, PathId, Route};

use super::bindings::time_cell;
use crate::form_fields::FormFields;
use crate::page_context::{PageContext, PageResult};
use crate::proof::ProvedForm;
use crate::routes::pages::{form, page};
use crate::texts::common;
use crate::ui::form::SelectOption;
use crate::ui::view::SectionPart;
use crate::ui::{Cell, Field, Form, Row, Section, Text, View};

const PATH: &str = "admin/scim";

pub(super) fn routes() -> Vec<Route> {
    // A leaked token can be revoked without a licence that is in force.
    let revoke = form("/admin/scim/{id}/revoke", |it| it.to(revoke));
    vec![
        page("/admin/scim", |it| it.to(list)),
        Route {
            feature: Some(Feature::GroupManagement),
            ..form("/admin/scim", |it| it.to(create))
        },
        Route { licensing: Licensing::MayHaveEnded, ..revoke },
    ]
}

async fn list(page: PageContext) -> PageResult {
    let view = list_view(&page, None).await?;
    Ok(page.render(view))
}

async fn create(page: PageContext, ProvedForm(form): ProvedForm) -> PageResult {
    match create_token(&page, &form).await {
        Ok(token) => {
            let view = list_view(&page, Some(token)).await?;
            Ok(page.render(view))
        }
        Err(err) => page.refuse_typed(list_view(&page, None).await?, &form, err),
    }
}

async fn create_token(page: &PageContext, form: &FormFields) -> Result<String, ApiError> {
    let options = ScimTokenOptions {
        name: form.some("name"),
        scopes: Some(form.all("scopes").map(str::to_owned).collect()),
        expires_at: parse_expiry(page, form.text("expiresAt"))?,
    };
    let by = page.user();
    let created = page.run(|api| async move { api.scim_tokens.create(by, options).await }).await?;
    Ok(created.token.expose().clone())
}

/// Parses a day, at whose end a token expires.
fn parse_expiry(page: &PageContext, day: &str) -> Result<Option<Timestamp>, ApiError> {
    if day.is_empty() {
        return Ok(None);
    }
    let end_of_day = day.parse::<NaiveDate>().ok().and_then(|it| it.and_hms_opt(23, 59, 59));
    let end = end_of_day.ok_or_else(|| {
        let field = "expiresAt".to_owned();
        let message = page.t(NO_DATE).to_owned();
        ApiError::invalid(vec![FieldError { field, code: "malformed", message }])
    })?;
    Ok(Some(DateTime::<Utc>::from_naive_utc_and_offset(end, Utc).into()))
}

async fn revoke(page: PageContext, PathId(id): PathId, _: ProvedForm) -> PageResult {
    let by = page.user();
    match page.run(|api| async move { api.scim_tokens.revoke(by, ScimTokenId(id)).await }).await {
        Ok(()) => page.done(PATH, "revoked"),
        Err(err) => page.refuse(list_view(&page, None).await?, err),
    }
}

async fn list_view(page: &PageContext, token: Option<String>) -> Result<View, ApiError> {
    let entries = page.run(|api| async move { api.scim_tokens.list().await }).await?;
    let columns = [
        ("name", common::NAME),
        ("scopes", SCOPES),
        ("created", common::CREATED),
        ("expires", EXPIRES),
        ("used", LAST_USED),
    ];
    let rows = entries.iter().map(|it| token_row(page, it)).collect();
    let table = page.list(TOKENS, EMPTY, &columns, rows);

    let url = Cell::text(format!("{}/scim/v2", page.public_url()));
    let mut view = View::new(page.t(TITLE)).intro(page.t(INTRO));
    if let Some(token) = token {
        let secret = SectionPart::Secret(page.t(NEW_TOKEN).to_owned(), token);
        let section =
            Section::new("created", page.t(NEW_TOKEN)).intro(page.t(NEW_TOKEN_HINT)).part(secret);
        view = view.section(section);
    }

    Ok(view
        .section(Section::new("address", "").facts([(page.t(URL), url)]))
        .section(Section::new("tokens", page.t(TOKENS)).table(table))
        .section(Section::new("new", page.t(NEW)).form(new_form(page))))
}

/// Returns the form of a new token, which has all scopes unless some are deselected.
fn new_form(page: &PageContext) -> Form {
    let scopes = ScimScope::ALL.map(|it| SelectOption {
        value: it.name().to_owned(),
        label: scope_label(page, it),
        is_selected: true,
    });
    let expires = Field::input("expiresAt", page.t(EXPIRES), "date", "off", "");
    Form::new(PATH, page.t(CREATE))
        .field(Field::text("name", page.t(common::NAME), ""))
        .field(Field::checks("scopes", page.t(SCOPES), scopes.into()))
        .field(expires.hint(page.t(EXPIRES_HINT)).optional())
}

fn token_row(page: &PageContext, entry: &ScimTokenEntry) -> Row {
    let scopes: Vec<String> = entry.scopes.iter().map(|it| scope_label(page, *it)).collect();
    let last_used = match entry.used_at {
        Some(at) => time_cell(page, at),
        None => Cell::text(page.t(common::NEVER)),
    };
    let revoke = Form::new(format!("{PATH}/{}/revoke", entry.id), page.t(REVOKE));
    Row::new(vec![
        Cell::text(&entry.name),
        Cell::text(scopes.join(", ")),
        time_cell(page, entry.created_at),
        time_cell(page, entry.expires_at),
        last_used,
    ])
    .key(entry.id.to_string())
    .form(revoke.about(&entry.name).danger())
}

fn scope_label(page: &PageContext, scope: ScimScope) -> String {
    let text = match scope {
        ScimScope::Users => USERS,
        ScimScope::Groups => GROUPS,
    };
    page.t(text).to_owned()
}

const TITLE: Text = Text::new("Provisioning (SCIM)", "Bereitstellung (SCIM)");
const INTRO: Text = Text::new(
    "An identity provider such as Entra ID or Okta can create, change and deactivate users, and \
     manage groups and their members, over SCIM 2.0. At the provider, enter this address as the \
     tenant or base URL, and a token from this page as the secret token.",
    "Ein Identitätsanbieter wie Entra ID oder Okta kann über SCIM 2.0 Konten anlegen, ändern und \
     deaktivieren sowie Gruppen und ihre Mitglieder verwalten. Tragen Sie dort diese Adresse als \
     Mandanten- oder Basis-URL ein und ein Token von dieser Seite als geheimes Token.",
);
const URL: Text =
    Text::new("Address for the identity provider", "Adresse für den Identitätsanbieter");
const TOKENS: Text = Text::new("Tokens", "Token");
const EMPTY: Text = Text::new(
    "No token yet. Create one for your identity provider.",
    "Noch kein Token. Erstellen Sie eines für Ihren Identitätsanbieter.",
);
const SCOPES: Text = Text::new("Manages", "Verwaltet");
const USERS: Text = Text::new("Users", "Konten");
const GROUPS: Text = Text::new("Groups and their members", "Gruppen und ihre Mitglieder");
const EXPIRES: Text = Text::new("Expires", "Läuft ab");
const EXPIRES_HINT: Text = Text::new(
    "At most two years from now. Leave empty for one year from now.",
    "Höchstens zwei Jahre ab jetzt. Leer lassen für ein Jahr ab jetzt.",
);
const NO_DATE: Text = Text::new("Enter a date.", "Geben Sie ein Datum ein.");
const LAST_USED: Text = Text::new("Last used", "Zuletzt benutzt");
const NEW: Text = Text::new("New token", "Neues Token");
const CREATE: Text = Text::new("Create token", "Token erstellen");
const REVOKE: Text = Text::new("Revoke", "Widerrufen");
const NEW_TOKEN: Text = Text::new("Your new token", "Ihr neues Token");
const NEW_TOKEN_HINT: Text = Text::new(
    "Copy the token now. It is not shown again.",
    "Kopieren Sie das Token jetzt. Es wird nicht noch einmal angezeigt.",
);
