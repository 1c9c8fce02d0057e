//! First page of one's own account.

use actix_web::web::Data;
use pia_identity::{Account, CustomerType, LOCAL, Provider, TraderDeclaration};
use pia_web::{ApiError, Gates, Route};

use super::email;
use super::security::links;
use crate::form_fields::FormFields;
use crate::page_context::{PageContext, PageResult};
use crate::routes::pages::{account_change, account_page};
use crate::texts::{common, sign_in};
use crate::ui::form::SelectOption;
use crate::ui::table::Tone;
use crate::ui::view::{Link, SectionPart};
use crate::ui::{Cell, Field, Form, Section, Text, View, format};

pub(super) const PATH: &str = "account";

pub(super) fn routes() -> Vec<Route> {
    vec![
        account_page("/account", |it| it.to(show)),
        account_change("/account/name", |it| it.to(rename)),
        account_change("/account", |it| it.to(declare_business)),
    ]
}

async fn show(page: PageContext, gates: Data<Gates>) -> PageResult {
    let view = profile_view(&page, &gates, None).await?;
    Ok(page.render(view))
}

async fn rename(page: PageContext, gates: Data<Gates>, form: FormFields) -> PageResult {
    let user = page.user();
    let name = form.some("displayName");
    let result = page
        .run(|api| async move { api.identity.accounts.rename(user, name.as_deref()).await })
        .await;
    match result {
        Ok(()) => page.done(PATH, "saved"),
        Err(err) => page.refuse_typed(profile_view(&page, &gates, None).await?, &form, err),
    }
}

async fn declare_business(page: PageContext, gates: Data<Gates>, form: FormFields) -> PageResult {
    let user = page.user();

    let declaration = TraderDeclaration {
        company_name: form.some("companyName"),
        acting_as_business: form.text("actingAsBusiness") == "true",
    };

    let result = page
        .run(|api| async move { api.identity.accounts.declare_business(user, declaration).await })
        .await;
    match result {
        Ok(()) => page.done("account", "saved"),
        Err(err) => {
            let view = profile_view(&page, &gates, Some(form.text("companyName"))).await?;
            page.refuse(view, err)
        }
    }
}

async fn profile_view(
    page: &PageContext,
    gates: &Gates,
    typed_company: Option<&str>,
) -> Result<View, ApiError> {
    let user = page.user();
    let account = page.run(|api| async move { api.identity.accounts.me(user).await }).await?;
    let owes_declaration = gates.rules.get().owes_declaration(account.customer);

    let mut view = View::new(page.t(TITLE))
        .section(Section::new("profile", "").facts(account_facts(page, &account)));
    if account.email_verified_at.is_none() {
        view = view.section(verification(page));
    }
    if account.provider == LOCAL {
        view = view.section(own_name(page, &account));
    }

    let company = typed_company.or(account.company_name.as_deref()).unwrap_or_default();

    Ok(view.section(business(page, company, owes_declaration)))
}

fn account_facts(page: &PageContext, account: &Account) -> Vec<(&'static str, Cell)> {
    let verified = match account.email_verified_at {
        Some(_) => Cell::badge(page.t(VERIFIED), Tone::Good),
        None => Cell::badge(page.t(UNVERIFIED), Tone::Warning),
    };

    let customer = match account.customer {
        CustomerType::NotDeclared => NOT_DECLARED,
        CustomerType::Business => BUSINESS,
        CustomerType::Consumer => PRIVATE,
    };

    let company = account.company_name.clone().unwrap_or_default();
    vec![
        (page.t(sign_in::EMAIL), Cell::text(&account.email)),
        (page.t(EMAIL_STATUS), verified),
        (page.t(DISPLAY_NAME), Cell::text(account.display_name.clone().unwrap_or_default())),
        (page.t(SIGN_IN_WITH), Cell::text(page.t(sign_in_name(account)))),
        (page.t(USE), Cell::text(page.t(customer)).detail(company)),
        (page.t(CREATED), Cell::text(format::day(page.language, account.created_at))),
    ]
}

fn own_name(page: &PageContext, account: &Account) -> Section {
    let name = account.display_name.clone().unwrap_or_default();
    let field = Field::input("displayName", page.t(DISPLAY_NAME), "text", "name", name);
    let form = Form::new("account/name", page.t(common::SAVE)).field(field.optional());
    Section::new("name", page.t(NAME_TITLE))
        .intro(page.t(NAME_HINT))
        .form(form)
        .part(links(page, &[(email::TITLE, "account/email")]))
}

/// Returns the name of the credential that an account signs in with.
pub(super) fn sign_in_name(account: &Account) -> Text {
    match Provider::of_name(&account.provider) {
        Some(provider) => sign_in::provider(provider),
        None if account.provider == LOCAL => WITH_PASSWORD,
        None => sign_in::provider(Provider::Oidc),
    }
}

fn verification(page: &PageContext) -> Section {
    let link =
        Link { label: page.t(RESEND).to_owned(), path: "auth/resend-verification.html".to_owned() };
    Section::new("verification", page.t(VERIFY))
        .intro(page.t(VERIFY_HINT))
        .part(SectionPart::Links(vec![link]))
}

fn business(page: &PageContext, company: &str, is_required: bool) -> Section {
    let acting = SelectOption {
        value: "true".to_owned(),
        label: page.t(ACTING).to_owned(),
        is_selected: false,
    };
    let form = Form::new("account", page.t(common::SAVE))
        .field(Field::input("companyName", page.t(COMPANY), "text", "organization", company))
        .field(Field::checks("actingAsBusiness", page.t(CONFIRMATION), vec![acting]));
    let intro = if is_required { BUSINESS_OWED } else { BUSINESS_HINT };
    Section::new("business", page.t(BUSINESS_TITLE)).intro(page.t(intro)).form(form)
}

pub(super) const TITLE: Text = Text::new("Your profile", "Ihr Profil");
const NAME_TITLE: Text = Text::new("Your name", "Ihr Name");
const NAME_HINT: Text = Text::new(
    "Shown to administrators and in emails.",
    "Für die Administration und in E-Mails sichtbar.",
);
const DISPLAY_NAME: Text = Text::new("Display name", "Anzeigename");
const SIGN_IN_WITH: Text = Text::new("Sign-in", "Anmeldung");
const WITH_PASSWORD: Text = Text::new("Password", "Passwort");
const CREATED: Text = Text::new("Member since", "Mitglied seit");
const VERIFIED: Text = Text::new("Verified", "Bestätigt");
const UNVERIFIED: Text = Text::new("Not verified", "Nicht bestätigt");
const EMAIL_STATUS: Text = Text::new("Email verification", "E-Mail-Bestätigung");
const VERIFY: Text = Text::new("Verify your email address", "E-Mail-Adresse bestätigen");
const VERIFY_HINT: Text = Text::new(
    "Open the link that we emailed you. If it did not arrive, request another one.",
    "Öffnen Sie den Link aus unserer E-Mail. Wenn keine angekommen ist, fordern Sie eine neue an.",
);
const RESEND: Text = Text::new("Send another email", "Neue E-Mail anfordern");
const USE: Text = Text::new("Use", "Nutzung");
const PRIVATE: Text = Text::new("Private", "Privat");
const BUSINESS: Text = Text::new("Business", "Geschäftlich");
const NOT_DECLARED: Text = Text::new("Not declared", "Nicht angegeben");
const BUSINESS_TITLE: Text = Text::new("Business use", "Geschäftliche Nutzung");
const BUSINESS_HINT: Text = Text::new(
    "Declare that you use this service for a company, or correct its name.",
    "Geben Sie an, dass Sie diesen Dienst für ein Unternehmen nutzen, oder berichtigen Sie dessen \
     Namen.",
);
const BUSINESS_OWED: Text = Text::new(
    "This server is for businesses only. To continue, declare which company you use it for.",
    "Dieser Server ist nur für Unternehmen. Um fortzufahren, geben Sie an, für welches Unternehmen \
     Sie ihn nutzen.",
);
const COMPANY: Text = Text::new("Company", "Unternehmen");
const CONFIRMATION: Text = Text::new("Confirmation", "Bestätigung");
const ACTING: Text = Text::new(
    "I use this service for this company and not as a consumer.",
    "Ich nutze diesen Dienst für dieses Unternehmen und nicht als Verbraucherin oder Verbraucher.",
);
