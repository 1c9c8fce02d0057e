//! The page to make an account.

use pia_identity::Violation;

use super::*;
use crate::testing::{Accounts, RenderedPage, account_pages, opened};

const URI: &str = "/auth/register.html";

fn violation(field: &'static str, code: &'static str) -> Violation {
    Violation { field, code, message: "an English sentence".to_owned() }
}

fn with(rules: RegistrationRules) -> Arc<Accounts> {
    Arc::new(Accounts { rules, ..Accounts::default() })
}

fn declaring() -> RegistrationRules {
    RegistrationRules { require_declaration: true, ..RegistrationRules::default() }
}

fn under(policy: RegistrationPolicy) -> RegistrationRules {
    RegistrationRules { policy, ..RegistrationRules::default() }
}

async fn page(rules: RegistrationRules, uri: &str) -> RenderedPage {
    let account_pages = Data::new(account_pages(with(rules)));
    RenderedPage::from_response(show(account_pages, opened(uri)).await).await
}

async fn filled_in(accounts: &Arc<Accounts>, uri: &str, form: &str) -> RenderedPage {
    let (account_pages, body) = (account_pages(Arc::clone(accounts)), Bytes::from(form.to_owned()));
    RenderedPage::from_response(answer(&account_pages, &crate::testing::sent(uri), Ok(body)).await)
        .await
}

async fn render(joined: RegistrationResult, rules: RegistrationRules, uri: &str) -> RenderedPage {
    let accounts = Arc::new(Accounts { rules, joined, ..Accounts::default() });
    let form = "email=ada%40example.org&password=the-password&displayName=%3Cb%3EAda&customerType=1\
                &companyName=Analytical+Engines&invitation=the-code";
    filled_in(&accounts, uri, form).await
}

#[actix_web::test]
async fn the_form_states_what_a_password_must_be() {
    let rules = RegistrationRules { fewest_password_chars: 14, ..RegistrationRules::default() };

    let presented = page(rules, URI).await;

    assert_eq!(presented.status, 200);
    assert!(presented.has("method=\"post\" action=\"register.html\" novalidate>"));
    assert!(presented.has("At least 14 characters."), "{}", presented.text);
    assert!(presented.has("type=\"email\"") && presented.has("autocomplete=\"email\""));
    assert!(presented.has("autocomplete=\"new-password\""));
    assert!(presented.has("aria-describedby=\"password-hint\""));
}

#[actix_web::test]
async fn the_declaration_is_called_for_where_the_operator_wants_it() {
    let free = page(RegistrationRules::default(), URI).await;
    let declared = page(declaring(), URI).await;

    for field in ["name=\"customerType\"", "name=\"companyName\""] {
        assert!(declared.has(field) && !free.has(field), "{field}");
    }
    assert!(declared.has("<legend>How do you use Pia?</legend>"));
}

#[actix_web::test]
async fn an_invitation_comes_from_the_link_or_is_called_for() {
    let open = page(under(RegistrationPolicy::Open), URI).await;
    let requested = page(under(RegistrationPolicy::Invitation), URI).await;
    let brought = page(under(RegistrationPolicy::Open), &format!("{URI}?invitation=a%26b")).await;

    assert!(!open.has("name=\"invitation\""));
    assert!(requested.has("name=\"invitation\" type=\"text\" value=\"\""), "{}", requested.text);
    assert!(brought.has("value=\"a&#38;b\""), "{}", brought.text);
}

#[actix_web::test]
async fn where_nobody_may_register_no_form_is_displayed() {
    let presented = page(under(RegistrationPolicy::Closed), URI).await;

    assert!(presented.has("No new accounts here") && !presented.has("<form"));
}

#[actix_web::test]
async fn what_was_filled_in_reaches_the_desk() {
    let accounts = with(declaring());
    let form = "email=ada%2Bpia%40example.org&password=+%C3%A4%26+&displayName=+&customerType=2\
                &companyName=&invitation=+the-code+";

    filled_in(&accounts, URI, form).await;

    let applicants = accounts.applicants.lock().unwrap();
    let ada = applicants.first().unwrap();
    assert_eq!(
        (ada.email.as_str(), ada.password.expose().as_str()),
        ("ada+pia@example.org", " ä& ")
    );
    assert_eq!((ada.display_name.as_deref(), ada.company_name.as_deref()), (None, None));
    assert_eq!(ada.customer, CustomerType::Consumer);
    assert_eq!(ada.invitation.as_ref().unwrap().expose(), "the-code");
}

#[actix_web::test]
async fn a_customer_type_that_there_is_not_is_none() {
    for input in ["", "0", "3", "-1", "1e0", "business", "99999999999999999999"] {
        let accounts = with(declaring());

        filled_in(&accounts, URI, &format!("customerType={input}")).await;

        let applicants = accounts.applicants.lock().unwrap();
        assert_eq!(applicants.first().unwrap().customer, CustomerType::NotDeclared, "{input}");
    }
}

#[actix_web::test]
async fn each_outcome_is_reported_in_both_languages() {
    use RegistrationPolicy::{Closed, Invitation, Open};
    for (joined, policy, status, english, german) in [
        (RegistrationResult::Closed, Open, 403, "cannot create an account", "kein Konto anlegen"),
        (
            RegistrationResult::Closed,
            Invitation,
            403,
            "this invitation is not valid",
            "diese gilt nicht",
        ),
        (
            RegistrationResult::Closed,
            Closed,
            403,
            "No new accounts here",
            "Hier gibt es keine neuen Konten",
        ),
        (RegistrationResult::SeatsTaken, Open, 403, "are taken", "sind vergeben"),
        (RegistrationResult::EmailTaken, Open, 409, "There is an account", "gibt es schon"),
    ] {
        let in_english = render(joined.clone(), under(policy), URI).await;
        let in_german = render(joined, under(policy), "/auth/register.html?lang=de").await;

        assert_eq!((in_english.status, in_german.status), (status, status));
        assert!(in_english.has(english), "{}", in_english.text);
        assert!(in_german.has(german), "{}", in_german.text);
    }
}

#[actix_web::test]
async fn a_fault_stands_beside_its_field_and_in_the_summary() {
    let faults = vec![violation("password", "too_short"), violation("companyName", "required")];

    let presented = render(RegistrationResult::Invalid(faults), declaring(), URI).await;

    assert_eq!(presented.status, 400);
    assert!(presented.has("<title>Error: Create account</title>"));
    assert!(presented.has("role=\"alert\" tabindex=\"-1\" autofocus"));
    assert!(
        presented.has("<a href=\"#password\">The password must have at least 8 characters.</a>")
    );
    assert!(
        presented.has("aria-invalid=\"true\" aria-describedby=\"password-hint password-fault\"")
    );
    assert!(presented.has("id=\"companyName-fault\">Enter the name of your company."));
    assert_eq!(presented.text.matches("aria-invalid").count(), 2, "{}", presented.text);
}

#[actix_web::test]
async fn a_fault_of_the_choice_leads_to_its_first_option() {
    let faults = vec![violation("customerType", "required")];

    let presented = render(RegistrationResult::Invalid(faults), declaring(), URI).await;

    assert!(presented.has("<a href=\"#customerType-1\">"), "{}", presented.text);
    assert!(presented.has("id=\"customerType-1\""));
}

#[actix_web::test]
async fn a_fault_of_what_is_not_requested_is_reported_all_the_same() {
    let presented =
        render(RegistrationResult::Invalid(vec![violation("other", "odd")]), declaring(), URI)
            .await;

    assert!(presented.has("Check your entries."), "{}", presented.text);
}

#[actix_web::test]
async fn what_was_typed_comes_back_but_for_the_password() {
    for joined in [
        RegistrationResult::Closed,
        RegistrationResult::EmailTaken,
        RegistrationResult::Invalid(vec![]),
    ] {
        let presented = render(joined, declaring(), URI).await;

        for typed in ["ada@example.org", "&#60;b&#62;Ada", "Analytical Engines", "the-code"] {
            assert!(presented.has(&format!("value=\"{typed}\"")), "{typed}: {}", presented.text);
        }
        assert!(presented.has("value=\"1\" checked"));
        assert!(!presented.has("the-password") && !presented.has("<b>"));
    }
}

#[actix_web::test]
async fn a_success_leads_to_a_page_that_can_be_reloaded() {
    for (joined, lang, place, title) in [
        (RegistrationResult::Made, "", "register.html?done=created", "Your account is ready"),
        (RegistrationResult::Mailed, "", "register.html?done=mailed", "Check your inbox"),
        (
            RegistrationResult::Made,
            "?lang=de",
            "register.html?lang=de&done=created",
            "Konto erstellt",
        ),
        (
            RegistrationResult::Mailed,
            "?lang=de",
            "register.html?lang=de&done=mailed",
            "Posteingang",
        ),
    ] {
        let sent = render(joined, RegistrationRules::default(), &format!("{URI}{lang}")).await;
        let presented =
            page(RegistrationRules::default(), &format!("/auth/{}", sent.location())).await;

        assert_eq!((sent.status, sent.location()), (303, place));
        assert!(
            presented.status == 200 && presented.has(title) && !presented.has("<form"),
            "{}",
            presented.text
        );
    }
}

#[actix_web::test]
async fn what_was_typed_survives_another_language_but_for_the_password() {
    let accounts = with(declaring());
    let form = "email=ada%40example.org&password=the-password&displayName=Ada&customerType=1\
                &companyName=Engines&invitation=the-code&switch=language";

    let presented = filled_in(&accounts, &format!("{URI}?lang=de"), form).await;

    assert_eq!((presented.status, accounts.requests().len()), (200, 0));
    for typed in ["ada@example.org", "Ada", "Engines", "the-code"] {
        assert!(presented.has(&format!("value=\"{typed}\"")), "{typed}: {}", presented.text);
    }
    assert!(presented.has("value=\"1\" checked") && presented.has("<html lang=\"de\">"));
    assert!(!presented.has("the-password") && !presented.has("role=\"alert\""));
}
