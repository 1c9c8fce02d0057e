//! One's own API keys.

use pia_assistant::ApiKeyBudget;
use pia_identity::{ApiKeyEntry, ApiKeyOptions, CreatedApiKey};
use pia_kernel::{ApiKeyId, Timestamp};
use pia_web::{ApiError, FieldError, PathId, Route};

use super::credits;
use super::owner_proofs::OwnerProofs;
use super::security::links;
use crate::form_fields::FormFields;
use crate::page_context::{PageContext, PageResult};
use crate::routes::pages::{account_change, account_form, account_page};
use crate::texts::common;
use crate::ui::view::SectionPart;
use crate::ui::{Cell, Field, Form, Row, Section, Table, Text, View, format};

const PATH: &str = "account/api-keys";

pub(super) fn routes() -> Vec<Route> {
    vec![
        account_page("/account/api-keys", |it| it.to(list)),
        account_change("/account/api-keys", |it| it.to(create)),
        account_page("/account/api-keys/{id}", |it| it.to(show)),
        account_form("/account/api-keys/{id}/revoke", |it| it.to(revoke)),
    ]
}

async fn list(page: PageContext) -> PageResult {
    let view = list_view(&page, OwnerProofs::load(&page).await?, None).await?;
    Ok(page.render(view))
}

async fn create(page: PageContext, form: FormFields) -> PageResult {
    let proofs = OwnerProofs::load(&page).await?;
    match submit(&page, proofs, &form).await {
        Ok(created) => Ok(page.render(created_view(&page, &created))),
        Err(err) => page.refuse(list_view(&page, proofs, Some(&form)).await?, err),
    }
}

/// Creates the key of a form.
async fn submit(
    page: &PageContext,
    proofs: OwnerProofs,
    form: &FormFields,
) -> Result<CreatedApiKey, ApiError> {
    let session = page.session_ref()?;
    let options = key_options(page, form)?;
    let proof = proofs.parse(form);
    page.run(|api| async move { api.identity.api_keys.create(session, options, proof).await }).await
}

async fn show(page: PageContext, PathId(id): PathId) -> PageResult {
    let entry = load_entries(&page)
        .await?
        .into_iter()
        .find(|it| it.id == ApiKeyId(id))
        .ok_or_else(ApiError::not_found)?;
    let revoke = Form::new(format!("{PATH}/{id}/revoke"), page.t(REVOKE)).danger();
    let facts = key_labels(&page).into_iter().zip(values(&page, &entry));
    let mut view = View::new(&entry.name)
        .below(page.t(TITLE), PATH)
        .section(Section::new("api-key", "").facts(facts));
    let budget = ApiKeyBudget { key: entry.id, weekly: entry.weekly_credits };
    if let Some(section) = credits::key_section(&page, budget).await? {
        view = view.section(section);
    }

    let section = Section::new("revoke", page.t(REVOKE)).intro(page.t(REVOKE_HINT)).form(revoke);
    Ok(page.render(view.section(section)))
}

async fn revoke(page: PageContext, PathId(id): PathId, _: FormFields) -> PageResult {
    let session = page.session_ref()?;
    page.run(|api| async move { api.identity.api_keys.revoke(session, ApiKeyId(id)).await })
        .await?;
    page.done(PATH, "revoked")
}

async fn load_entries(page: &PageContext) -> Result<Vec<ApiKeyEntry>, ApiError> {
    let user = page.user();
    page.run(|api| async move { api.identity.api_keys.list(user).await }).await
}

/// Parses the properties of a new key.
fn key_options(page: &PageContext, form: &FormFields) -> Result<ApiKeyOptions, ApiError> {
    let credits = form.some("weeklyCredits").map(|it| it.parse::<i64>().map_err(|_err| ()));
    let expiry = form.some("expiresAt").map(|it| end_of_day(&it).ok_or(()));

    let error = |field: &str, text| FieldError {
        field: field.to_owned(),
        code: "malformed",
        message: page.t(text).to_owned(),
    };

    let mut errors = Vec::new();
    if credits == Some(Err(())) {
        errors.push(error("weeklyCredits", common::WHOLE_NUMBER));
    }

    if expiry == Some(Err(())) {
        errors.push(error("expiresAt", INVALID_DAY));
    }

    if !errors.is_empty() {
        return Err(ApiError::invalid(errors));
    }

    Ok(ApiKeyOptions {
        name: form.some("name"),
        scopes: None,
        expires_at: expiry.and_then(Result::ok),
        weekly_credits: credits.and_then(Result::ok),
    })
}

/// Returns the last second of a day in UTC: `2027-12-31`.
fn end_of_day(day: &str) -> Option<Timestamp> {
    let day = chrono::NaiveDate::parse_from_str(day, "%Y-%m-%d").ok()?;
    Some(day.and_hms_opt(23, 59, 59)?.and_utc().into())
}

async fn list_view(
    page: &PageContext,
    proofs: OwnerProofs,
    typed: Option<&FormFields>,
) -> Result<View, ApiError> {
    let row = |it: &ApiKeyEntry| {
        let mut cells = vec![Cell::link(&it.name, format!("{PATH}/{}", it.id))];
        cells.extend(values(page, it));
        Row::new(cells)
    };

    let columns = [page.t(common::NAME)].into_iter().chain(key_labels(page));
    let table = Table {
        caption: page.t(TITLE).to_owned(),
        columns: columns.map(str::to_owned).collect(),
        rows: load_entries(page).await?.iter().map(row).collect(),
        empty: page.t(EMPTY).to_owned(),
        ..Table::default()
    };

    let typed = |name| typed.map_or("", |it| it.text(name));
    let credits =
        Field::input("weeklyCredits", page.t(BUDGET), "number", "off", typed("weeklyCredits"));
    let expiry = Field::input("expiresAt", page.t(EXPIRY), "date", "off", typed("expiresAt"));
    let form = Form::new(PATH, page.t(CREATE))
        .field(Field::text("name", page.t(common::NAME), typed("name")).hint(page.t(NAME_HINT)))
        .field(credits.hint(page.t(BUDGET_HINT)).optional())
        .field(expiry.hint(page.t(EXPIRY_HINT)).optional());
    Ok(View::new(page.t(TITLE))
        .intro(page.t(INTRO))
        .section(Section::new("api-keys", "").table(table))
        .section(Section::new("new", page.t(NEW)).form(proofs.with_field(page, form))))
}

fn key_labels(page: &PageContext) -> [&'static str; 4] {
    [common::CREATED, LAST_USED, EXPIRES, BUDGET].map(|it| page.t(it))
}

/// Returns the values of a key in the order of [`key_labels`].
fn values(page: &PageContext, entry: &ApiKeyEntry) -> [Cell; 4] {
    let never = || page.t(common::NEVER).to_owned();
    let used = entry.used_at.map_or_else(never, |it| format::time(page.language, it));
    let expiry = entry.expires_at.map_or_else(never, |it| format::time(page.language, it));
    let budget = if entry.weekly_credits > 0 {
        format::number(page.language, entry.weekly_credits)
    } else {
        page.t(NO_LIMIT).to_owned()
    };
    let created = format::time(page.language, entry.created_at);
    [Cell::text(created), Cell::text(used), Cell::text(expiry), Cell::number(budget)]
}

fn created_view(page: &PageContext, created: &CreatedApiKey) -> View {
    let name = created.entry.name.clone();
    let key = created.key.expose().clone();
    let section = Section::new("api-key", "")
        .part(SectionPart::Secret(name, key))
        .part(links(page, &[(BACK, PATH)]));
    View::new(page.t(CREATED_TITLE))
        .below(page.t(TITLE), PATH)
        .intro(page.t(CREATED_INTRO))
        .section(section)
}

const TITLE: Text = Text::new("API keys", "API-Schlüssel");
const INTRO: Text = Text::new(
    "With an API key, scripts and tools use the models of this server. Their usage is charged to \
     your credits.",
    "Mit einem API-Schlüssel nutzen Skripte und Programme die Modelle dieses Servers. Ihr \
     Verbrauch wird von Ihren Credits abgezogen.",
);
const EMPTY: Text = Text::new(
    "You have no API keys. Create one for each script.",
    "Sie haben keine API-Schlüssel. Erstellen Sie einen für jedes Skript.",
);
const LAST_USED: Text = Text::new("Last used", "Zuletzt benutzt");
const EXPIRES: Text = Text::new("Expires", "Läuft ab");
const BUDGET: Text = Text::new("Credits per week", "Credits pro Woche");
const NO_LIMIT: Text = Text::new("No limit", "Kein Limit");
const NEW: Text = Text::new("New API key", "Neuer API-Schlüssel");
const CREATE: Text = Text::new("Create API key", "API-Schlüssel erstellen");
const NAME_HINT: Text =
    Text::new("The script that will use it.", "Das Skript, das ihn benutzen wird.");
const BUDGET_HINT: Text = Text::new(
    "Leave empty to let the key use as many credits as you may use yourself.",
    "Leer lassen, damit der Schlüssel so viele Credits verbrauchen darf wie Sie selbst.",
);
const EXPIRY: Text = Text::new("Valid until", "Gültig bis");
const EXPIRY_HINT: Text = Text::new(
    "The last day. Leave empty for a key that does not expire.",
    "Der letzte Tag. Leer lassen für einen Schlüssel, der nicht abläuft.",
);
const INVALID_DAY: Text =
    Text::new("Enter a date like 2027-12-31.", "Geben Sie ein Datum wie 2027-12-31 ein.");
const CREATED_TITLE: Text = Text::new("Your new API key", "Ihr neuer API-Schlüssel");
const CREATED_INTRO: Text = Text::new(
    "Copy the key now. It is not shown again.",
    "Kopieren Sie den Schlüssel jetzt. Er wird nicht noch einmal angezeigt.",
);
const BACK: Text = Text::new("Back to API keys", "Zurück zu den API-Schlüsseln");
const REVOKE: Text = Text::new("Revoke API key", "API-Schlüssel widerrufen");
const REVOKE_HINT: Text = Text::new(
    "Scripts that use this key stop working.",
    "Skripte, die diesen Schlüssel benutzen, funktionieren dann nicht mehr.",
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_valid_until_the_end_of_its_last_day() {
        let end = end_of_day("2027-12-31").map(|it| it.to_string());

        assert!(end.is_some_and(|it| it.starts_with("2027-12-31T23:59:59")));
        for day in ["", "31.12.2027", "2027-02-30", "tomorrow"] {
            assert_eq!(end_of_day(day), None, "{day}");
        }
    }
}
