//! Overview of the credentials and sessions of one's own account.

use pia_identity::{Account, AccountError, LOCAL, Role};
use pia_web::{ApiError, Route};

use super::profile::sign_in_name;
use crate::page_context::{PageContext, PageResult};
use crate::routes::pages::account_page;
use crate::texts::{common, sign_in};
use crate::ui::table::Tone;
use crate::ui::view::{Link, SectionPart};
use crate::ui::{Cell, Section, Text, View, format};

/// Path of this page.
pub(super) const PATH: &str = "account/security";

/// Number of recovery codes at which to create new ones.
const FEW_CODES: u32 = 3;

/// Credentials of an account.
struct Credentials {
    account: Account,
    /// Number of recovery codes; `None` without an authenticator app.
    codes_left: Option<u32>,
    passkeys: usize,
}

pub(super) fn routes() -> Vec<Route> {
    vec![account_page("/account/security", |it| it.to(show))]
}

async fn show(page: PageContext) -> PageResult {
    let credentials = load(&page).await?;
    let view = View::new(page.t(TITLE))
        .intro(page.t(INTRO))
        .section(password_section(&page, &credentials.account))
        .section(factor(&page, &credentials))
        .section(passkeys(&page, credentials.passkeys))
        .section(
            Section::new("activity", page.t(ACTIVITY))
                .intro(page.t(ACTIVITY_HINT))
                .part(links(&page, &[(SESSIONS, "account/sessions")])),
        );

    Ok(page.render(view))
}

async fn load(page: &PageContext) -> Result<Credentials, ApiError> {
    let user = page.user();
    page.run(|api| async move {
        Ok::<_, AccountError>(Credentials {
            account: api.identity.accounts.me(user).await?,
            codes_left: api.identity.second_factors.overview(user).await?,
            passkeys: api.identity.passkeys.list(user).await?.len(),
        })
    })
    .await
}

fn password_section(page: &PageContext, account: &Account) -> Section {
    let section = Section::new("password", page.t(sign_in::PASSWORD));
    if account.provider == LOCAL {
        let link = (CHANGE_PASSWORD, "account/security/password");
        return section.intro(page.t(PASSWORD_HINT)).part(links(page, &[link]));
    }
    section.paragraph(page.fill(NO_PASSWORD, &[page.t(sign_in_name(account))]))
}

fn factor(page: &PageContext, credentials: &Credentials) -> Section {
    let account = &credentials.account;
    let hint = if account.provider == LOCAL {
        page.t(FACTOR_HINT).to_owned()
    } else {
        page.fill(PROVIDER_FACTOR_HINT, &[page.t(sign_in_name(account))])
    };

    let mut section = Section::new("factor", page.t(sign_in::FACTOR_TITLE)).intro(hint);
    if account.role != Role::User {
        section = section.paragraph(page.t(FOR_CONSOLE));
    }

    let Some(left) = credentials.codes_left else {
        let off = Cell::badge(page.t(OFF), Tone::Warning);
        let set_up = (SET_UP, "account/security/authenticator");
        return section.facts([(page.t(AUTHENTICATOR), off)]).part(links(page, &[set_up]));
    };

    let number = format::number(page.language, left);
    let left =
        if left > FEW_CODES { Cell::text(number) } else { Cell::badge(number, Tone::Warning) };
    let on = Cell::badge(page.t(ON), Tone::Good);
    section.facts([(page.t(AUTHENTICATOR), on), (page.t(CODES_LEFT), left)]).part(links(
        page,
        &[(NEW_CODES, "account/security/recovery-codes"), (TURN_OFF, "account/security/turn-off")],
    ))
}

fn passkeys(page: &PageContext, count: usize) -> Section {
    let number = match i64::try_from(count).unwrap_or(i64::MAX) {
        0 => page.t(common::NONE).to_owned(),
        number => format::number(page.language, number),
    };
    Section::new("passkeys", page.t(PASSKEYS))
        .intro(page.t(PASSKEYS_HINT))
        .facts([(page.t(PASSKEYS), Cell::text(number))])
        .part(links(page, &[(MANAGE_PASSKEYS, "account/passkeys")]))
}

/// Returns links to pages.
pub(super) fn links(page: &PageContext, links: &[(Text, &str)]) -> SectionPart {
    let link = |(label, path): &(Text, &str)| Link {
        label: page.t(*label).to_owned(),
        path: (*path).to_owned(),
    };
    SectionPart::Links(links.iter().map(link).collect())
}

pub(super) const TITLE: Text = Text::new("Security", "Sicherheit");

const INTRO: Text = Text::new(
    "Protect your account, and see how you sign in.",
    "Schützen Sie Ihr Konto, und sehen Sie, wie Sie sich anmelden.",
);
const CHANGE_PASSWORD: Text = Text::new("Change password", "Passwort ändern");
const PASSWORD_HINT: Text = Text::new(
    "Use a password that you use nowhere else.",
    "Verwenden Sie ein Passwort, das Sie sonst nirgends benutzen.",
);
const NO_PASSWORD: Text = Text::new(
    "You sign in with {}. Change your password there.",
    "Sie melden sich mit {} an. Ihr Passwort ändern Sie dort.",
);
const FACTOR_HINT: Text = Text::new(
    "When you sign in, you also enter a code from your phone. A stolen password alone is then \
     useless.",
    "Beim Anmelden geben Sie zusätzlich einen Code von Ihrem Telefon ein. Ein gestohlenes Passwort \
     allein nützt dann niemandem.",
);
const PROVIDER_FACTOR_HINT: Text = Text::new(
    "{} protects your sign-in. Here, a code from your phone confirms changes to your security \
     settings.",
    "{} schützt Ihre Anmeldung. Hier bestätigt ein Code von Ihrem Telefon Änderungen an Ihren \
     Sicherheitseinstellungen.",
);
const AUTHENTICATOR: Text = Text::new("Authenticator app", "Authenticator-App");
const ON: Text = Text::new("On", "Ein");
const OFF: Text = Text::new("Off", "Aus");
const SET_UP: Text = Text::new("Set up an authenticator app", "Authenticator-App einrichten");
const CODES_LEFT: Text = Text::new("Recovery codes left", "Übrige Wiederherstellungscodes");
const NEW_CODES: Text =
    Text::new("Create new recovery codes", "Neue Wiederherstellungscodes erstellen");
const TURN_OFF: Text =
    Text::new("Turn off two-factor authentication", "Zwei-Faktor-Authentifizierung ausschalten");
const FOR_CONSOLE: Text = Text::new(
    "Your role has access to the console, which may require a second factor or a passkey.",
    "Ihre Rolle hat Zugang zur Konsole. Die Konsole kann dafür einen zweiten Faktor oder einen \
     Passkey verlangen.",
);
const PASSKEYS_HINT: Text = Text::new(
    "Sign in with your fingerprint, your face or the PIN of your device, without a password.",
    "Melden Sie sich mit Fingerabdruck, Gesicht oder der PIN Ihres Geräts an, ohne Passwort.",
);
const PASSKEYS: Text = Text::new("Passkeys", "Passkeys");
const MANAGE_PASSKEYS: Text = Text::new("Manage passkeys", "Passkeys verwalten");
const ACTIVITY: Text = Text::new("Activity", "Aktivität");
const ACTIVITY_HINT: Text = Text::new(
    "If you do not recognise a session, sign it out and change your password.",
    "Wenn Sie eine Sitzung nicht kennen, melden Sie sie ab und ändern Sie Ihr Passwort.",
);
const SESSIONS: Text = Text::new("Sessions and sign-ins", "Sitzungen und Anmeldungen");
