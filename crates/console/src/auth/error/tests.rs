//! The page for a sign-in that failed.

use std::collections::HashSet;

use super::*;
use crate::testing::{RenderedPage, opened};

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
    RenderedPage::from_response(show(opened(&format!("/auth/error{query}"))).await).await
}

/// The first sentence below the heading.
fn sentence(presented: &RenderedPage) -> String {
    let text = presented.text.split("<p>").nth(1).and_then(|it| it.split("</p>").next());
    text.unwrap_or_default().to_owned()
}

#[actix_web::test]
async fn each_known_reason_has_a_sentence_of_its_own_in_each_language() {
    for language in ["en", "de"] {
        let mut reported = HashSet::new();
        for reason in KNOWN.iter().chain(&["unheard_of"]) {
            reported.insert(sentence(&page(&format!("?lang={language}&reason={reason}")).await));
        }

        assert_eq!(reported.len(), KNOWN.len() + 1, "{reported:?}");
    }
}

#[actix_web::test]
async fn nothing_of_an_unknown_reason_is_repeated() {
    let general = sentence(&page("?lang=en").await);

    for reason in
        ["", "x", "%3Cscript%3Ealert(1)%3C/script%3E", "Call%20%2B49%20555", "ACCESS_DENIED"]
    {
        let presented = page(&format!("?lang=en&reason={reason}")).await;

        assert_eq!((presented.status, sentence(&presented)), (200, general.clone()), "{reason}");
        assert!(!presented.has("<script") && !presented.has("alert(1)<"), "{}", presented.text);
        assert!(!presented.has("Call +49"), "{}", presented.text);
    }
}
