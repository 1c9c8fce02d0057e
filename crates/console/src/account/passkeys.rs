//! One's own passkeys.

use actix_web::web::Data;
use pia_identity::{PasskeyChange, PasskeyEntry, PasskeyOptions};
use pia_kernel::PasskeyId;
use pia_web::{ApiError, PathId, Route};

use super::owner_proofs::OwnerProofs;
use crate::AccountPages;
use crate::form_fields::FormFields;
use crate::page_context::{PageContext, PageResult};
use crate::proof::ProvedForm;
use crate::routes::pages::{account_form, account_page};
use crate::texts::common;
use crate::ui::table::Tone;
use crate::ui::{Cell, Field, Form, Row, Section, Table, Text, View, format};

const PATH: &str = "account/passkeys";

pub(super) fn routes() -> Vec<Route> {
    vec![
        account_page("/account/passkeys", |it| it.to(list)),
        account_form("/account/passkeys", |it| it.to(add)),
        account_page("/account/passkeys/new", |it| it.to(show_new)),
        account_form("/account/passkeys/new", |it| it.to(begin)),
        account_page("/account/passkeys/{id}", |it| it.to(show)),
        account_form("/account/passkeys/{id}/rename", |it| it.to(rename)),
        account_form("/account/passkeys/{id}/unblock", |it| it.to(unblock)),
        account_form("/account/passkeys/{id}/remove", |it| it.to(remove)),
    ]
}

async fn list(page: PageContext, pages: Data<AccountPages>) -> PageResult {
    let entries = load_entries(&page).await?;
    let table = Table {
        caption: page.t(TITLE).to_owned(),
        columns: passkey_columns(&page),
        rows: entries.iter().map(|it| passkey_row(&page, it)).collect(),
        empty: page.t(if pages.has_passkeys { EMPTY } else { NONE }).to_owned(),
        ..Table::default()
    };

    let intro = if pages.has_passkeys { INTRO } else { UNAVAILABLE };
    let mut view = View::new(page.t(TITLE)).intro(page.t(intro));
    if pages.has_passkeys {
        view = view.action(page.t(ADD), "account/passkeys/new");
    }

    Ok(page.render(view.section(Section::new("passkeys", "").table(table))))
}

async fn show_new(page: PageContext) -> PageResult {
    let view = proof_view(&page, OwnerProofs::load(&page).await?);
    Ok(page.render(view))
}

async fn begin(page: PageContext, form: FormFields) -> PageResult {
    let proofs = OwnerProofs::load(&page).await?;
    let session = page.session_ref()?;
    let proof = proofs.parse(&form);
    match page.run(|api| async move { api.identity.passkeys.begin(session, proof).await }).await {
        Ok(options) => Ok(page.render(create_view(&page, options))),
        Err(err) => page.refuse(proof_view(&page, proofs), err),
    }
}

async fn add(page: PageContext, form: FormFields) -> PageResult {
    let session = page.session_ref()?;
    let token = form.secret("challengeToken");
    let name = form.text("name").to_owned();
    let credential = form.text("credential").to_owned();
    let result =
        page.run(|api| async move {
            api.identity.passkeys.add(session, &token, &name, &credential).await
        })
        .await;
    match result {
        Ok(_) => page.done(PATH, "passkey-added"),
        // The challenge is used up, so the person starts again.
        Err(err) => {
            let view = proof_view(&page, OwnerProofs::load(&page).await?);
            page.refuse(view, err)
        }
    }
}

async fn show(page: PageContext, PathId(id): PathId) -> PageResult {
    let entry = find(&page, PasskeyId(id)).await?;
    Ok(page.render(passkey_view(&page, &entry)))
}

async fn rename(page: PageContext, PathId(id): PathId, form: FormFields) -> PageResult {
    let change = PasskeyChange { name: Some(form.text("name").to_owned()), unblock: false };
    match apply(&page, PasskeyId(id), change).await {
        Ok(()) => page.done(&format!("{PATH}/{id}"), "renamed"),
        Err(err) => {
            let entry = find(&page, PasskeyId(id)).await?;
            page.refuse(passkey_view(&page, &entry), err)
        }
    }
}

async fn unblock(page: PageContext, PathId(id): PathId, _: ProvedForm) -> PageResult {
    let change = PasskeyChange { name: None, unblock: true };
    match apply(&page, PasskeyId(id), change).await {
        Ok(()) => page.done(&format!("{PATH}/{id}"), "saved"),
        Err(err) => {
            let entry = find(&page, PasskeyId(id)).await?;
            page.refuse(passkey_view(&page, &entry), err)
        }
    }
}

async fn remove(page: PageContext, PathId(id): PathId, _: ProvedForm) -> PageResult {
    let session = page.session_ref()?;
    page.run(|api| async move { api.identity.passkeys.remove(session, PasskeyId(id)).await })
        .await?;
    page.done(PATH, "passkey-removed")
}

async fn apply(page: &PageContext, id: PasskeyId, change: PasskeyChange) -> Result<(), ApiError> {
    let user = page.user();
    page.run(|api| async move { api.identity.passkeys.change(user, id, change).await }).await?;
    Ok(())
}

async fn load_entries(page: &PageContext) -> Result<Vec<PasskeyEntry>, ApiError> {
    let user = page.user();
    page.run(|api| async move { api.identity.passkeys.list(user).await }).await
}

async fn find(page: &PageContext, id: PasskeyId) -> Result<PasskeyEntry, ApiError> {
    let entry = load_entries(page).await?.into_iter().find(|it| it.id == id);
    entry.ok_or_else(ApiError::not_found)
}

fn passkey_columns(page: &PageContext) -> Vec<String> {
    [common::NAME, common::STATUS, common::CREATED, LAST_USED]
        .map(|it| page.t(it).to_owned())
        .into()
}

fn passkey_row(page: &PageContext, entry: &PasskeyEntry) -> Row {
    let mut cells = vec![Cell::link(&entry.name, format!("{PATH}/{}", entry.id))];
    cells.extend(state(page, entry));
    Row::new(cells)
}

/// Returns status and times of a passkey.
fn state(page: &PageContext, entry: &PasskeyEntry) -> [Cell; 3] {
    let status = match entry.blocked_at {
        None => Cell::badge(page.t(ACTIVE), Tone::Good),
        Some(at) => Cell::badge(page.t(BLOCKED), Tone::Bad).detail(format::day(page.language, at)),
    };
    let used = match entry.used_at {
        Some(at) => format::time(page.language, at),
        None => page.t(common::NEVER).to_owned(),
    };
    [status, Cell::text(format::time(page.language, entry.created_at)), Cell::text(used)]
}

fn proof_view(page: &PageContext, proofs: OwnerProofs) -> View {
    let form = Form::new("account/passkeys/new", page.t(CONTINUE));
    View::new(page.t(ADD))
        .below(page.t(TITLE), PATH)
        .intro(page.t(ADD_INTRO))
        .section(Section::new("new", "").form(proofs.with_field(page, form)))
}

fn create_view(page: &PageContext, options: PasskeyOptions) -> View {
    let name = Field::text("name", page.t(common::NAME), "").hint(page.t(NAME_HINT));
    let form = Form::new(PATH, page.t(CREATE))
        .field(name)
        .hidden("challengeToken", options.token.expose())
        .hidden("credential", "");
    let form = Form { script: "passkey-create", options: options.options, ..form };
    View::new(page.t(ADD))
        .below(page.t(TITLE), PATH)
        .intro(page.t(CREATE_INTRO))
        .section(Section::new("create", "").form(form).paragraph(page.t(NO_BUTTON)))
}

fn passkey_view(page: &PageContext, entry: &PasskeyEntry) -> View {
    let path = format!("{PATH}/{}", entry.id);
    let labels = [common::STATUS, common::CREATED, LAST_USED].map(|it| page.t(it));
    let facts = labels.into_iter().zip(state(page, entry));

    let rename = Form::new(format!("{path}/rename"), page.t(RENAME)).field(Field::text(
        "name",
        page.t(common::NAME),
        &entry.name,
    ));

    let remove = Form::new(format!("{path}/remove"), page.t(REMOVE)).danger();

    let mut view = View::new(&entry.name)
        .below(page.t(TITLE), PATH)
        .section(Section::new("passkey", "").facts(facts))
        .section(Section::new("rename", page.t(RENAME)).form(rename));

    if entry.blocked_at.is_some() {
        let form = Form::new(format!("{path}/unblock"), page.t(UNBLOCK));
        let section = Section::new("unblock", page.t(UNBLOCK)).intro(page.t(UNBLOCK_HINT));
        view = view.section(section.form(form));
    }

    view.section(Section::new("remove", page.t(REMOVE)).intro(page.t(REMOVE_HINT)).form(remove))
}

const TITLE: Text = Text::new("Passkeys", "Passkeys");
const INTRO: Text = Text::new(
    "With a passkey, you sign in with your fingerprint, your face or the PIN of your device. It \
     cannot be guessed or phished, and you need no code.",
    "Mit einem Passkey melden Sie sich per Fingerabdruck, Gesicht oder PIN Ihres Geräts an. Er \
     lässt sich weder erraten noch abfangen, und Sie brauchen keinen Code.",
);
const EMPTY: Text = Text::new(
    "You have no passkeys. Add one on this device, or on a security key.",
    "Sie haben keine Passkeys. Fügen Sie einen auf diesem Gerät oder einem Sicherheitsschlüssel \
     hinzu.",
);
const NONE: Text = Text::new("You have no passkeys.", "Sie haben keine Passkeys.");
const UNAVAILABLE: Text = Text::new(
    "Passkeys cannot be used at this server’s address.",
    "Unter der Adresse dieses Servers lassen sich keine Passkeys verwenden.",
);
const LAST_USED: Text = Text::new("Last used", "Zuletzt benutzt");
const ACTIVE: Text = Text::new("Active", "Aktiv");
const BLOCKED: Text = Text::new("Blocked", "Gesperrt");
const ADD: Text = Text::new("Add passkey", "Passkey hinzufügen");
const ADD_INTRO: Text = Text::new(
    "Your other sessions are signed out once the passkey is added.",
    "Ihre anderen Sitzungen werden abgemeldet, sobald der Passkey hinzugefügt ist.",
);
const CONTINUE: Text = Text::new("Continue", "Weiter");
const CREATE: Text = Text::new("Create passkey", "Passkey erstellen");
const CREATE_INTRO: Text = Text::new(
    "Name the passkey after the device that stores it. Your browser then shows the next steps; \
     JavaScript must be enabled.",
    "Benennen Sie den Passkey nach dem Gerät, das ihn speichert. Ihr Browser zeigt dann die \
     nächsten Schritte; dafür muss JavaScript aktiviert sein.",
);
const NO_BUTTON: Text = Text::new(
    "If you see no button, this browser does not support passkeys. Update it, or use another one.",
    "Wenn Sie keine Schaltfläche sehen, unterstützt dieser Browser keine Passkeys. Aktualisieren \
     Sie ihn, oder verwenden Sie einen anderen.",
);
const NAME_HINT: Text = Text::new("For example: Work laptop", "Zum Beispiel: Firmenlaptop");
const RENAME: Text = Text::new("Rename passkey", "Passkey umbenennen");
const REMOVE: Text = Text::new("Remove passkey", "Passkey entfernen");
const REMOVE_HINT: Text = Text::new(
    "You can no longer sign in with it, and your other sessions are signed out. Delete it in your \
     device’s password settings too.",
    "Sie können sich damit nicht mehr anmelden, und Ihre anderen Sitzungen werden abgemeldet. \
     Löschen Sie ihn auch in den Passworteinstellungen Ihres Geräts.",
);
const UNBLOCK: Text = Text::new("Unblock passkey", "Passkey entsperren");
const UNBLOCK_HINT: Text = Text::new(
    "This passkey was blocked because a copy of it may be in use. Unblock it only if you are sure \
     that nobody else has it; otherwise remove it.",
    "Dieser Passkey wurde gesperrt, weil möglicherweise eine Kopie davon benutzt wird. Entsperren \
     Sie ihn nur, wenn ihn sicher niemand sonst hat; entfernen Sie ihn andernfalls.",
);
