//! Setup and removal of an authenticator app.

use pia_identity::{Enrolment, ReauthProof};
use pia_web::{ApiError, Route};

use super::owner_proofs::OwnerProofs;
use super::recovery_codes::codes_view;
use super::security::{self, links};
use crate::form_fields::FormFields;
use crate::page_context::{PageContext, PageResult};
use crate::routes::pages::{account_form, account_page};
use crate::texts::sign_in as texts;
use crate::ui::view::{Notice, SectionPart};
use crate::ui::{Field, Form, Section, Text, View};

const PATH: &str = "account/security/authenticator";
/// Number of characters in a group of the typed secret.
const SECRET_GROUP: usize = 4;

pub(super) fn routes() -> Vec<Route> {
    vec![
        account_page("/account/security/authenticator", |it| it.to(show)),
        account_form("/account/security/authenticator", |it| it.to(begin)),
        account_page("/account/security/authenticator/confirm", |it| it.to(restart)),
        account_form("/account/security/authenticator/confirm", |it| it.to(confirm)),
        account_page("/account/security/turn-off", |it| it.to(show_turn_off)),
        account_form("/account/security/turn-off", |it| it.to(turn_off)),
    ]
}

async fn show(page: PageContext) -> PageResult {
    let proofs = OwnerProofs::load(&page).await?;
    if proofs.has_factor {
        return page.redirect(security::PATH);
    }
    Ok(page.render(start_view(&page, proofs)))
}

/// Redirects to the start of the setup. A link to the other language opens this
/// path.
async fn restart(page: PageContext) -> PageResult {
    page.redirect(PATH)
}

async fn begin(page: PageContext, form: FormFields) -> PageResult {
    let proofs = OwnerProofs::load(&page).await?;
    let session = page.session_ref()?;

    let password = match proofs.parse(&form) {
        Some(ReauthProof::Password(password)) => Some(password),
        // The account has no factor yet, so this is a password of six digits.
        Some(ReauthProof::Factor(_)) => Some(form.secret(crate::proof::PROOF)),
        None => None,
    };

    let result = page
        .run(|api| async move { api.identity.second_factors.begin(session, password).await })
        .await;
    match result {
        Ok(enrolment) => Ok(page.render(scan_view(&page, &enrolment))),
        Err(err) => page.refuse(start_view(&page, proofs), err),
    }
}

async fn confirm(page: PageContext, form: FormFields) -> PageResult {
    let session = page.session_ref()?;
    let code = pia_kernel::Secret::new(form.text("code").split_whitespace().collect::<String>());
    let result = page
        .run(|api| async move { api.identity.second_factors.confirm(session, code).await })
        .await;
    match result {
        Ok(codes) => {
            let notice = Notice::new(page.t(TURNED_ON));
            Ok(page.render(View { notice: Some(notice), ..codes_view(&page, &codes) }))
        }
        // The secret is not sent twice: the app has it already.
        Err(err) => {
            let again = links(&page, &[(START_AGAIN, PATH)]);
            let view = titled(&page, TITLE)
                .section(code_section(&page))
                .section(Section::new("again", "").part(again));
            page.refuse(view, err)
        }
    }
}

async fn show_turn_off(page: PageContext) -> PageResult {
    let proofs = OwnerProofs::load(&page).await?;
    if !proofs.has_factor {
        return page.redirect(security::PATH);
    }
    Ok(page.render(turn_off_view(&page, proofs)))
}

async fn turn_off(page: PageContext, form: FormFields) -> PageResult {
    let proofs = OwnerProofs::load(&page).await?;
    match disable(&page, proofs, &form).await {
        Ok(()) => page.done(security::PATH, "factor-off"),
        Err(err) => page.refuse(turn_off_view(&page, proofs), err),
    }
}

/// Disables the second factor if the form contains a proof.
async fn disable(
    page: &PageContext,
    proofs: OwnerProofs,
    form: &FormFields,
) -> Result<(), ApiError> {
    let session = page.session_ref()?;
    let proof = proofs.require(page, form)?;
    page.run(|api| async move { api.identity.second_factors.disable(session, proof).await }).await
}

fn titled(page: &PageContext, title: Text) -> View {
    View::new(page.t(title)).below(page.t(security::TITLE), security::PATH)
}

fn start_view(page: &PageContext, proofs: OwnerProofs) -> View {
    let form = proofs.with_password(page, Form::new(PATH, page.t(CONTINUE)));
    titled(page, TITLE)
        .section(Section::new("app", page.t(GET_APP)).paragraph(page.t(GET_APP_HINT)))
        .section(Section::new("confirm", page.t(CONFIRM)).form(form))
}

fn scan_view(page: &PageContext, enrolment: &Enrolment) -> View {
    let picture = enrolment.picture.expose();
    let secret = enrolment.secret.expose();
    let scan = Section::new("scan", page.t(SCAN))
        .intro(page.t(SCAN_HINT))
        .part(SectionPart::Picture(picture.clone(), page.t(PICTURE).to_owned()))
        .part(SectionPart::Secret(page.t(SECRET).to_owned(), grouped(secret)));
    titled(page, TITLE).section(scan).section(code_section(page))
}

fn code_section(page: &PageContext) -> Section {
    let code = Field::input("code", page.t(texts::CODE), "text", "one-time-code", "");
    let form = Form::new("account/security/authenticator/confirm", page.t(TURN_ON))
        .field(code.hint(page.t(ENTER_HINT)).digits());
    Section::new("code", page.t(ENTER)).intro(page.t(OTHERS_END)).form(form)
}

fn turn_off_view(page: &PageContext, proofs: OwnerProofs) -> View {
    let form = Form::new("account/security/turn-off", page.t(TURN_OFF)).danger();
    titled(page, TURN_OFF)
        .intro(page.t(TURN_OFF_HINT))
        .section(Section::new("turn-off", "").form(proofs.with_field(page, form)))
}

/// Formats a secret in groups of four characters, which are easier to type.
fn grouped(secret: &str) -> String {
    let characters: Vec<char> = secret.chars().collect();
    characters
        .chunks(SECRET_GROUP)
        .map(|group| group.iter().collect::<String>())
        .collect::<Vec<_>>()
        .join(" ")
}

const TITLE: Text = Text::new("Set up an authenticator app", "Authenticator-App einrichten");
const GET_APP: Text = Text::new("Step 1: Get an app", "Schritt 1: App installieren");
const GET_APP_HINT: Text = Text::new(
    "An authenticator app shows a new six-digit code every 30 seconds. Google Authenticator, \
     Microsoft Authenticator and 2FAS are free; password managers such as 1Password, Bitwarden and \
     Apple Passwords work too. Skip this step if you have one.",
    "Eine Authenticator-App zeigt alle 30 Sekunden einen neuen sechsstelligen Code an. Google \
     Authenticator, Microsoft Authenticator und 2FAS sind kostenlos; auch Passwortmanager wie \
     1Password, Bitwarden und Apple Passwörter sind geeignet. Überspringen Sie diesen Schritt, \
     wenn Sie schon eine App haben.",
);
const CONFIRM: Text = Text::new("Step 2: Confirm it is you", "Schritt 2: Identität bestätigen");
const CONTINUE: Text = Text::new("Continue", "Weiter");
const SCAN: Text = Text::new("Step 3: Scan the QR code", "Schritt 3: QR-Code scannen");
const SCAN_HINT: Text = Text::new(
    "Open the app, add an account and scan this QR code.",
    "Öffnen Sie die App, fügen Sie ein Konto hinzu und scannen Sie diesen QR-Code.",
);
const PICTURE: Text = Text::new(
    "QR code for your authenticator app. You can enter the key below instead.",
    "QR-Code für Ihre Authenticator-App. Stattdessen können Sie den Schlüssel darunter eingeben.",
);
const SECRET: Text = Text::new(
    "If you cannot scan the code, enter this key in the app:",
    "Wenn Sie den Code nicht scannen können, geben Sie diesen Schlüssel in der App ein:",
);
const ENTER: Text = Text::new("Step 4: Enter the code", "Schritt 4: Code eingeben");
const ENTER_HINT: Text = Text::new(
    "The six digits that the app shows now.",
    "Die sechs Ziffern, die die App jetzt anzeigt.",
);
const TURN_ON: Text =
    Text::new("Turn on two-factor authentication", "Zwei-Faktor-Authentifizierung einschalten");
const OTHERS_END: Text = Text::new(
    "Your other sessions are then signed out. You stay signed in here.",
    "Ihre anderen Sitzungen werden dann abgemeldet. Hier bleiben Sie angemeldet.",
);
const START_AGAIN: Text = Text::new("Start again with a new QR code", "Mit neuem QR-Code beginnen");
const TURNED_ON: Text = Text::new(
    "Two-factor authentication is on, and all other sessions are signed out.",
    "Die Zwei-Faktor-Authentifizierung ist eingeschaltet, und alle anderen Sitzungen sind \
     abgemeldet.",
);
const TURN_OFF: Text =
    Text::new("Turn off two-factor authentication", "Zwei-Faktor-Authentifizierung ausschalten");
const TURN_OFF_HINT: Text = Text::new(
    "Your password alone is then enough to sign in. The entry in your app and all recovery codes \
     stop working, and your other sessions are signed out.",
    "Zum Anmelden genügt dann Ihr Passwort. Der Eintrag in Ihrer App und alle \
     Wiederherstellungscodes werden ungültig, und Ihre anderen Sitzungen werden abgemeldet.",
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_typed_in_groups_of_four() {
        assert_eq!(grouped("JBSWY3DPEHPK3"), "JBSW Y3DP EHPK 3");
        assert_eq!(grouped("JBSWY3DP"), "JBSW Y3DP");
        assert_eq!(grouped(""), "");
    }
}
