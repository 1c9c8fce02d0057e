//! Tests of the registration page.

use pia_identity::Violation;

use super::*;
use crate::testing::{Accounts, RenderedPage, account_pages, get_request};

const URI: &str = "/auth/register.html";

fn violation(field: &'static str, code: &'static str) -> Violation {
    Violation { field, code, message: "an English sentence".to_owned() }
}

fn accounts_with(rules: RegistrationRules) -> Arc<Accounts> {
    Arc::new(Accounts { rules, ..Accounts::default() })
}

fn rules_with_declaration() -> RegistrationRules {
    RegistrationRules { require_declaration: true, ..RegistrationRules::default() }
}

fn rules_with_policy(policy: RegistrationPolicy) -> RegistrationRules {
    RegistrationRules { policy, ..RegistrationRules::default() }
}

async fn page(rules: RegistrationRules, uri: &str) -> RenderedPage {
    let account_pages = Data::new(account_pages(accounts_with(rules)));
    RenderedPage::from_response(show(account_pages, get_request(uri)).await).await
}

async fn submit(accounts: &Arc<Accounts>, uri: &str, form: &str) -> RenderedPage {
    let account_pages = account_pages(Arc::clone(accounts));
    let body = Bytes::from(form.to_owned());
    let request = crate::testing::form_request(uri);
    let response = handle_submission(&account_pages, &request, Ok(body)).await;
    RenderedPage::from_response(response).await
}

async fn render(result: RegistrationResult, rules: RegistrationRules, uri: &str) -> RenderedPage {
    let accounts = Arc::new(Accounts { rules, registration: result, ..Accounts::default() });
    let form = "email=ada%40example.org&password=the-password&displayName=%3Cb%3EAda&customerType=1\
                &companyName=Analytical+Engines&invitation=the-code";
    submit(&accounts, uri, form).await
}

#[actix_web::test]
async fn the_form_explains_the_password_rules() {
    let rules = RegistrationRules { min_password_chars: 14, ..RegistrationRules::default() };

    let rendered = page(rules, URI).await;

    assert_eq!(rendered.status, 200);
    assert!(rendered.has("method=\"post\" action=\"register.html\" novalidate>"));
    assert!(rendered.has("At least 14 characters."), "{}", rendered.text);
    assert!(rendered.has("type=\"email\"") && rendered.has("autocomplete=\"email\""));
    assert!(rendered.has("autocomplete=\"new-password\""));
    assert!(rendered.has("aria-describedby=\"password-hint\""));
}

#[actix_web::test]
async fn the_declaration_is_part_of_the_form_if_required() {
    let free = page(RegistrationRules::default(), URI).await;
    let declared = page(rules_with_declaration(), URI).await;

    for field in ["name=\"customerType\"", "name=\"companyName\""] {
        assert!(declared.has(field) && !free.has(field), "{field}");
    }
    assert!(declared.has("<legend>How do you use Pia?</legend>"));
}

#[actix_web::test]
async fn an_invitation_is_taken_from_the_link_or_requested() {
    let open = page(rules_with_policy(RegistrationPolicy::Open), URI).await;
    let invited = page(rules_with_policy(RegistrationPolicy::Invitation), URI).await;
    let linked =
        page(rules_with_policy(RegistrationPolicy::Open), &format!("{URI}?invitation=a%26b")).await;

    assert!(!open.has("name=\"invitation\""));
    assert!(invited.has("name=\"invitation\" type=\"text\" value=\"\""), "{}", invited.text);
    assert!(linked.has("value=\"a&#38;b\""), "{}", linked.text);
}

#[actix_web::test]
async fn closed_registration_has_no_form() {
    let rendered = page(rules_with_policy(RegistrationPolicy::Closed), URI).await;

    assert!(rendered.has("Registration is closed") && !rendered.has("<form"));
}

#[actix_web::test]
async fn submitted_values_reach_the_service() {
    let accounts = accounts_with(rules_with_declaration());
    let form = "email=ada%2Bpia%40example.org&password=+%C3%A4%26+&displayName=+&customerType=2\
                &companyName=&invitation=+the-code+";

    submit(&accounts, URI, form).await;

    let registrations = accounts.registrations.lock().unwrap();
    let ada = registrations.first().unwrap();
    assert_eq!(ada.email, "ada+pia@example.org");
    assert_eq!(ada.password.expose(), " ä& ");
    assert_eq!(ada.display_name, None);
    assert_eq!(ada.company_name, None);
    assert_eq!(ada.customer, CustomerType::Consumer);
    assert_eq!(ada.invitation.as_ref().unwrap().expose(), "the-code");
}

#[actix_web::test]
async fn an_unknown_customer_type_is_not_declared() {
    for number in ["", "0", "3", "-1", "1e0", "business", "99999999999999999999"] {
        let accounts = accounts_with(rules_with_declaration());

        submit(&accounts, URI, &format!("customerType={number}")).await;

        let registrations = accounts.registrations.lock().unwrap();
        assert_eq!(registrations.first().unwrap().customer, CustomerType::NotDeclared, "{number}");
    }
}

#[actix_web::test]
async fn each_outcome_is_described_in_both_languages() {
    use RegistrationPolicy::{Closed, Invitation, Open};
    for (result, policy, status, english, german) in [
        (RegistrationResult::Closed, Open, 403, "cannot create an account", "kein Konto anlegen"),
        (
            RegistrationResult::Closed,
            Invitation,
            403,
            "this invitation is not valid",
            "nicht gültig",
        ),
        (RegistrationResult::Closed, Closed, 403, "Registration is closed", "geschlossen"),
        (RegistrationResult::SeatsTaken, Open, 403, "maximum number", "Höchstzahl"),
        (RegistrationResult::EmailTaken, Open, 409, "There is an account", "gibt es schon"),
    ] {
        let in_english = render(result.clone(), rules_with_policy(policy), URI).await;
        let in_german =
            render(result, rules_with_policy(policy), "/auth/register.html?lang=de").await;

        assert_eq!(in_english.status, status);
        assert_eq!(in_german.status, status);
        assert!(in_english.has(english), "{}", in_english.text);
        assert!(in_german.has(german), "{}", in_german.text);
    }
}

#[actix_web::test]
async fn an_error_is_displayed_at_its_field_and_in_the_summary() {
    let violations = vec![violation("password", "too_short"), violation("companyName", "required")];

    let rendered =
        render(RegistrationResult::Invalid(violations), rules_with_declaration(), URI).await;

    assert_eq!(rendered.status, 400);
    assert!(rendered.has("<title>Error: Create account</title>"));
    assert!(rendered.has("role=\"alert\" tabindex=\"-1\" autofocus"));
    assert!(
        rendered.has("<a href=\"#password\">The password must have at least 8 characters.</a>")
    );
    assert!(
        rendered.has("aria-invalid=\"true\" aria-describedby=\"password-hint password-fault\"")
    );
    assert!(rendered.has("id=\"companyName-fault\">Enter the name of your company."));
    assert_eq!(rendered.text.matches("aria-invalid").count(), 2, "{}", rendered.text);
}

#[actix_web::test]
async fn an_error_of_a_choice_links_to_its_first_option() {
    let violations = vec![violation("customerType", "required")];

    let rendered =
        render(RegistrationResult::Invalid(violations), rules_with_declaration(), URI).await;

    assert!(rendered.has("<a href=\"#customerType-1\">"), "{}", rendered.text);
    assert!(rendered.has("id=\"customerType-1\""));
}

#[actix_web::test]
async fn an_error_of_an_absent_field_is_displayed_too() {
    let rendered = render(
        RegistrationResult::Invalid(vec![violation("other", "odd")]),
        rules_with_declaration(),
        URI,
    )
    .await;

    assert!(rendered.has("Check your entries."), "{}", rendered.text);
}

#[actix_web::test]
async fn submitted_values_are_preserved_except_for_the_password() {
    for result in [
        RegistrationResult::Closed,
        RegistrationResult::EmailTaken,
        RegistrationResult::Invalid(vec![]),
    ] {
        let rendered = render(result, rules_with_declaration(), URI).await;

        for typed in ["ada@example.org", "&#60;b&#62;Ada", "Analytical Engines", "the-code"] {
            assert!(rendered.has(&format!("value=\"{typed}\"")), "{typed}: {}", rendered.text);
        }
        assert!(rendered.has("value=\"1\" checked"));
        assert!(!rendered.has("the-password") && !rendered.has("<b>"));
    }
}

#[actix_web::test]
async fn a_success_redirects_to_a_page_that_can_be_reloaded() {
    for (result, lang, location, title) in [
        (RegistrationResult::Created, "", "register.html?done=created", "Your account is ready"),
        (RegistrationResult::EmailQueued, "", "register.html?done=mailed", "Check your inbox"),
        (
            RegistrationResult::Created,
            "?lang=de",
            "register.html?lang=de&done=created",
            "Konto erstellt",
        ),
        (
            RegistrationResult::EmailQueued,
            "?lang=de",
            "register.html?lang=de&done=mailed",
            "Posteingang",
        ),
    ] {
        let response = render(result, RegistrationRules::default(), &format!("{URI}{lang}")).await;
        let rendered =
            page(RegistrationRules::default(), &format!("/auth/{}", response.location())).await;

        assert_eq!(response.status, 303);
        assert_eq!(response.location(), location);
        assert_eq!(rendered.status, 200);
        assert!(rendered.has(title) && !rendered.has("<form"), "{}", rendered.text);
    }
}

#[actix_web::test]
async fn submitted_values_survive_a_change_of_language_except_for_the_password() {
    let accounts = accounts_with(rules_with_declaration());
    let form = "email=ada%40example.org&password=the-password&displayName=Ada&customerType=1\
                &companyName=Engines&invitation=the-code&switch=language";

    let rendered = submit(&accounts, &format!("{URI}?lang=de"), form).await;

    assert_eq!(rendered.status, 200);
    assert!(accounts.requests().is_empty());
    for typed in ["ada@example.org", "Ada", "Engines", "the-code"] {
        assert!(rendered.has(&format!("value=\"{typed}\"")), "{typed}: {}", rendered.text);
    }
    assert!(rendered.has("value=\"1\" checked") && rendered.has("<html lang=\"de\">"));
    assert!(!rendered.has("the-password") && !rendered.has("role=\"alert\""));
}
