//! Tests of the page for failed sign-ins.

use std::collections::HashSet;

use super::*;
use crate::testing::{RenderedPage, get_request};

const KNOWN: [&str; 20] = [
    "access_denied",
    "email_exists",
    "email_missing",
    "email_not_verified",
    "user_limit_reached",
    "license_expired",
    "registration_closed",
    "free_tier_suspended",
    "provider_error",
    "provider_unreachable",
    "provider_not_configured",
    "unknown_provider",
    "code_challenge_required",
    "invalid_redirect_uri",
    "invalid_state",
    "expired",
    "feature_not_licensed",
    "account_deactivated",
    "unavailable",
    "server_error",
];

async fn page(query: &str) -> RenderedPage {
    RenderedPage::from_response(show(get_request(&format!("/auth/error{query}"))).await).await
}

/// Returns the first sentence below the heading.
fn sentence(rendered: &RenderedPage) -> String {
    let text = rendered.text.split("<p>").nth(1).and_then(|it| it.split("</p>").next());
    text.unwrap_or_default().to_owned()
}

#[actix_web::test]
async fn each_known_reason_has_its_own_sentence_in_each_language() {
    for language in ["en", "de"] {
        let mut sentences = HashSet::new();
        for reason in KNOWN.iter().chain(&["unheard_of"]) {
            sentences.insert(sentence(&page(&format!("?lang={language}&reason={reason}")).await));
        }

        assert_eq!(sentences.len(), KNOWN.len() + 1, "{sentences:?}");
    }
}

#[actix_web::test]
async fn an_unknown_reason_is_not_repeated() {
    let general = sentence(&page("?lang=en").await);

    for reason in
        ["", "x", "%3Cscript%3Ealert(1)%3C/script%3E", "Call%20%2B49%20555", "ACCESS_DENIED"]
    {
        let rendered = page(&format!("?lang=en&reason={reason}")).await;

        assert_eq!(rendered.status, 200, "{reason}");
        assert_eq!(sentence(&rendered), general, "{reason}");
        assert!(!rendered.has("<script") && !rendered.has("alert(1)<"), "{}", rendered.text);
        assert!(!rendered.has("Call +49"), "{}", rendered.text);
    }
}
