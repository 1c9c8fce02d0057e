//! Tests of address verification.

use std::sync::Arc;

use super::*;
use crate::fakes::{InMemoryAccounts, session_ref};

const ADA: &str = "ada@example.org";

fn secret(text: &str) -> Secret<String> {
    Secret::new(text.to_owned())
}

/// Returns Ada's account, to which an email was just sent.
async fn reminded() -> (Arc<InMemoryAccounts>, Verification, UserId) {
    let accounts = InMemoryAccounts::empty();
    let ada = accounts.person(ADA, Some("kept"));
    let verification = accounts.verification(true);
    verification.resend(ADA).await.unwrap();
    (accounts, verification, ada)
}

#[tokio::test]
async fn the_link_has_the_public_url() {
    let (accounts, _, ada) = reminded().await;

    let link = accounts.link();

    let (before, token) = link.split_once("&token=").unwrap();
    assert_eq!(before, format!("https://pia.example/pia/auth/verify-email?userId={ada}"));
    assert_eq!(token.len(), 43, "256 bits");
    assert_eq!(accounts.emails(), [("verify-address", ada)]);
}

#[tokio::test]
async fn a_token_verifies_once_and_clears_the_cache() {
    let (accounts, verification, ada) = reminded().await;
    let token = accounts.token();
    let session_ref = session_ref(ada);
    verification.caller_cache.fresh(session_ref).await.unwrap();

    let first = verification.redeem(ada, &token).await;
    let second = verification.redeem(ada, &token).await;

    assert!(first.is_ok() && matches!(second, Err(VerifyError::Invalid)));
    assert!(accounts.account(ada).unwrap().email_verified_at.is_some());
    assert_eq!(verification.caller_cache.cached(session_ref), None);
    assert_eq!(accounts.audited(), ["verification.requested", "account.verified"]);
}

#[tokio::test]
async fn a_token_is_valid_for_its_user_for_a_day() {
    let (accounts, verification, ada) = reminded().await;
    let token = accounts.token();
    let eve = accounts.person("eve@example.org", Some("kept"));
    let redeem = async |user, token: &Secret<String>| verification.redeem(user, token).await;

    let foreign = redeem(eve, &token).await;
    let nonsense = redeem(ada, &secret("nonsense")).await;
    let long = redeem(ada, &secret(&"x".repeat(129))).await;
    let empty = redeem(ada, &secret("")).await;
    accounts.clock.advance(Duration::from_hours(24));
    let late = redeem(ada, &token).await;
    accounts.clock.set(pia_kernel::Timestamp::from_micros(86_399_999_999));
    let in_time = redeem(ada, &token).await;

    for refusal in [foreign, nonsense, long, empty, late] {
        assert!(matches!(refusal, Err(VerifyError::Invalid)), "{refusal:?}");
    }
    assert!(in_time.is_ok());
}

#[tokio::test]
async fn every_request_takes_the_same_steps_to_the_same_response() {
    let (accounts, verification, ada) = reminded().await;
    let verified_user = accounts.person("verified@example.org", Some("kept"));
    verification.redeem(ada, &accounts.token()).await.unwrap();
    accounts.steps();

    for email in [ADA, "nobody@example.org", "Verified@example.org "] {
        verification.resend(email).await.unwrap();

        assert_eq!(accounts.steps(), ["count", "look", "write"], "{email}");
    }
    assert_eq!(accounts.emails(), [("verify-address", ada), ("verify-address", verified_user)]);
}

#[tokio::test]
async fn an_address_gets_at_most_three_emails_without_an_error() {
    let (accounts, verification, ada) = reminded().await;

    for email in [ADA, " ADA@example.org", ADA, ADA] {
        verification.resend(email).await.unwrap();
    }

    assert_eq!(accounts.emails(), [("verify-address", ada); 3]);
}

#[tokio::test]
async fn a_malformed_address_gets_no_email_and_the_same_response() {
    let (accounts, verification, _) = reminded().await;
    accounts.steps();

    for email in ["", "no address", "ada\0@example.org", &format!("{}@a.de", "x".repeat(999))] {
        verification.resend(email).await.unwrap();
    }

    assert_eq!(accounts.steps(), Vec::<&str>::new());
}

#[tokio::test]
async fn without_mail_every_request_fails_before_any_step() {
    let (accounts, verification, _) = reminded().await;
    accounts.mail.set(false);
    accounts.steps();

    for email in [ADA, "nobody@example.org", "no address"] {
        let outcome = verification.resend(email).await;

        assert!(matches!(outcome, Err(EmailTokenError::NotConfigured)), "{email}");
    }
    assert_eq!(accounts.steps(), Vec::<&str>::new());
}

#[tokio::test]
async fn an_unverified_user_is_refused_and_reminded_three_times() {
    let accounts = InMemoryAccounts::empty();
    let ada = accounts.person(ADA, Some("kept"));
    let account = accounts.account(ada).unwrap();
    let required = accounts.verification(true);
    let lax = accounts.verification(false);

    for _ in 0..5 {
        assert!(matches!(
            required.outstanding(&account).await,
            Err(OutstandingRequirement::Verification)
        ));
    }
    assert!(lax.outstanding(&account).await.is_ok());
    assert_eq!(accounts.emails(), [("verify-address", ada); 3]);

    required.redeem(ada, &accounts.token()).await.unwrap();
    assert!(required.outstanding(&accounts.account(ada).unwrap()).await.is_ok());
}

#[tokio::test]
async fn an_unverified_user_is_refused_without_mail() {
    let accounts = InMemoryAccounts::empty();
    let account = accounts.account(accounts.person(ADA, Some("kept"))).unwrap();
    accounts.mail.set(false);

    let outstanding = accounts.verification(true).outstanding(&account).await;

    assert!(matches!(outstanding, Err(OutstandingRequirement::Verification)));
    assert_eq!(accounts.emails(), []);
}

#[tokio::test]
async fn an_owner_is_emailed_about_registrations_three_times_an_hour() {
    let accounts = InMemoryAccounts::empty();
    let ada = accounts.person(ADA, Some("kept"));
    accounts.prove(ada);
    let verification = accounts.verification(true);

    for email in [ADA, "ADA@example.org", ADA, ADA] {
        verification.notify_owner(email, UserId::generate()).await.unwrap();

        assert_eq!(accounts.steps(), ["count", "look", "write"]);
    }

    assert_eq!(accounts.emails(), [("address-taken", ada); 3]);
    assert_eq!(accounts.audited(), ["registration.address_taken"; 3]);
}

/// Otherwise the link would verify an account that someone else registered first.
#[tokio::test]
async fn the_owner_of_an_unverified_address_is_sent_a_password_reset() {
    let accounts = InMemoryAccounts::empty();
    let ada = accounts.person(ADA, Some("kept"));
    let bob = accounts.person("bob@example.org", None);
    let verification = accounts.verification(true);

    for email in [ADA, "bob@example.org"] {
        verification.notify_owner(email, UserId::generate()).await.unwrap();
    }

    assert_eq!(accounts.emails(), [("password-reset", ada), ("address-taken", bob)]);
}

#[tokio::test]
async fn a_newcomer_is_not_emailed_and_takes_the_same_steps() {
    let accounts = InMemoryAccounts::empty();
    let ada = accounts.person(ADA, Some("kept"));

    accounts.verification(true).notify_owner(ADA, ada).await.unwrap();

    assert_eq!(accounts.steps(), ["count", "look", "write"]);
    assert_eq!(accounts.emails(), []);
}
