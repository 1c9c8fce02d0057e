//! Change of one's own email address.

use pia_kernel::Secret;
use pia_web::Route;

use super::owner_proofs::OwnerProofs;
use super::profile;
use crate::form_fields::FormFields;
use crate::page_context::{PageContext, PageResult};
use crate::routes::pages::{account_change, account_page};
use crate::ui::{Field, Form, Section, Text, View};

const PATH: &str = "account/email";
const CONFIRM_PATH: &str = "account/email/confirm";

pub(super) fn routes() -> Vec<Route> {
    vec![
        account_page("/account/email", |it| it.to(show)),
        account_change("/account/email", |it| it.to(request)),
        account_page("/account/email/confirm", |it| it.to(show_confirmation)),
        account_change("/account/email/confirm", |it| it.to(confirm)),
    ]
}

async fn show(page: PageContext) -> PageResult {
    let view = request_view(&page, OwnerProofs::load(&page).await?, "");
    Ok(page.render(view))
}

async fn request(page: PageContext, form: FormFields) -> PageResult {
    let proofs = OwnerProofs::load(&page).await?;
    let caller = page.caller;
    let email = form.text("email").to_owned();
    let proof = proofs.parse(&form);
    let requested = page
        .run(|api| async move { api.identity.address_changes.request(caller, &email, proof).await })
        .await;
    match requested {
        Ok(()) => page.done(profile::PATH, "address-requested"),
        Err(err) => page.refuse(request_view(&page, proofs, form.text("email")), err),
    }
}

async fn show_confirmation(page: PageContext) -> PageResult {
    let email = page.query("email");
    let token = page.query("token");
    if email.is_empty() || token.is_empty() {
        return page.redirect(PATH);
    }
    Ok(page.render(confirmation_view(&page, &email, &token)))
}

async fn confirm(page: PageContext, form: FormFields) -> PageResult {
    let user = page.user();
    let email = form.text("email").to_owned();
    let token = form.secret("token");
    let result = page
        .run(|api| async move { api.identity.address_changes.confirm(user, &email, &token).await })
        .await;
    match result {
        Ok(()) => page.done(profile::PATH, "address-changed"),
        Err(err) => {
            let token: Secret<String> = form.secret("token");
            page.refuse(confirmation_view(&page, form.text("email"), token.expose()), err)
        }
    }
}

fn request_view(page: &PageContext, proofs: OwnerProofs, typed: &str) -> View {
    let email = Field::input("email", page.t(NEW), "email", "email", typed);
    let form = proofs.with_field(page, Form::new(PATH, page.t(SEND)).field(email));
    View::new(page.t(TITLE))
        .below(page.t(profile::TITLE), profile::PATH)
        .intro(page.t(INTRO))
        .section(Section::new("email", "").form(form))
}

fn confirmation_view(page: &PageContext, email: &str, token: &str) -> View {
    let form = Form::new(CONFIRM_PATH, page.t(CONFIRM)).hidden("email", email);
    View::new(page.t(CONFIRM_TITLE))
        .below(page.t(profile::TITLE), profile::PATH)
        .intro(page.fill(CONFIRM_INTRO, &[email]))
        .section(Section::new("confirm", "").form(form.hidden("token", token)))
}

pub(super) const TITLE: Text = Text::new("Change email address", "E-Mail-Adresse ändern");
const INTRO: Text = Text::new(
    "We email a link to the new address. Your address changes once you open it, sign in and \
     confirm. We notify your current address, too.",
    "Wir schicken einen Link an die neue Adresse. Ihre Adresse ändert sich, sobald Sie ihn öffnen, \
     sich anmelden und die Änderung bestätigen. Wir benachrichtigen auch Ihre bisherige Adresse.",
);
const NEW: Text = Text::new("New email address", "Neue E-Mail-Adresse");
const SEND: Text = Text::new("Send link", "Link senden");
const CONFIRM_TITLE: Text = Text::new("Confirm email address", "E-Mail-Adresse bestätigen");
const CONFIRM_INTRO: Text = Text::new(
    "From now on, you sign in with {} and receive emails there.",
    "Von jetzt an melden Sie sich mit {} an und erhalten dort E-Mails.",
);
const CONFIRM: Text = Text::new("Use this address", "Diese Adresse verwenden");
