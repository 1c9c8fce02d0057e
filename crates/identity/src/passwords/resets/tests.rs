//! Tests of password resets.

use pia_kernel::{LiveSetting, UserId};

use super::*;
use crate::factors::challenges::MAX_TOKEN_BYTES;
use crate::fakes::{InMemoryAccounts, session_ref};
use crate::people::registration::RegistrationRules;
use crate::ports::MockPasswordThrottleStore;

const ADA: &str = "ada+pia@example.org";
const NEW_PASSWORD: &str = "a perfectly fine passphrase";
/// Hash of the old password, as the fake hasher makes them.
const OLD_HASH: &str = "kept old";

fn secret(text: &str) -> Secret<String> {
    Secret::new(text.to_owned())
}

fn device() -> SignInDevice {
    SignInDevice { address: "192.0.2.7".parse().ok(), ..SignInDevice::default() }
}

fn resets(accounts: &Arc<InMemoryAccounts>) -> PasswordResets {
    resets_with(accounts, MockPasswordThrottleStore::new())
}

fn resets_with(
    accounts: &Arc<InMemoryAccounts>,
    throttle: MockPasswordThrottleStore,
) -> PasswordResets {
    let passwords = PasswordPorts {
        store: Arc::clone(accounts) as _,
        hasher: InMemoryAccounts::hasher(),
        rules: LiveSetting::new(RegistrationRules::default()),
    };
    PasswordResets::new(accounts.ports(), passwords, Arc::new(throttle), accounts.caller_cache())
}

/// Returns a throttle whose counts of strangers and of the device's network may be cleared.
fn clearing_throttle() -> MockPasswordThrottleStore {
    let mut throttle = MockPasswordThrottleStore::new();
    throttle.expect_clear().times(0..=2).returning(|_| Ok(()));
    throttle
}

struct RequestedReset {
    accounts: Arc<InMemoryAccounts>,
    resets: PasswordResets,
    ada: UserId,
}

/// Requests a reset of Ada's password.
async fn request_reset() -> RequestedReset {
    let accounts = InMemoryAccounts::empty();
    let ada = accounts.person(ADA, Some(OLD_HASH));
    let resets = resets_with(&accounts, clearing_throttle());
    resets.request(ADA).await.unwrap();
    RequestedReset { accounts, resets, ada }
}

fn stored_hash(accounts: &InMemoryAccounts, user: UserId) -> String {
    accounts.credentials(user).unwrap().password_hash.unwrap().expose().clone()
}

#[tokio::test]
async fn the_link_has_the_page_and_the_encoded_address() {
    let RequestedReset { accounts, ada, .. } = request_reset().await;

    let link = accounts.link();

    let (before, token) = link.split_once("&token=").unwrap();
    let page = "https://pia.example/pia/auth/reset-password.html";
    assert_eq!(before, format!("{page}?email=ada%2Bpia%40example%2Eorg"));
    assert_eq!(token.len(), 43, "256 bits");
    assert_eq!(accounts.emails(), [("password-reset", ada)]);
}

#[tokio::test]
async fn an_older_account_with_an_invalid_address_gets_its_email() {
    let accounts = InMemoryAccounts::empty();
    let ada = accounts.person("ada..pia@example.org", Some(OLD_HASH));

    resets(&accounts).request("ada..pia@example.org").await.unwrap();

    assert_eq!(accounts.emails(), [("password-reset", ada)]);
}

#[tokio::test]
async fn a_token_resets_the_password_once() {
    let RequestedReset { accounts, resets, ada } = request_reset().await;
    let token = accounts.token();
    let session_ref = session_ref(ada);
    resets.caller_cache.fresh(session_ref).await.unwrap();

    let reset = resets.reset(" ADA+Pia@example.org", &token, secret(NEW_PASSWORD), &device()).await;
    let repeated_reset =
        resets.reset(ADA, &token, secret("another fine passphrase"), &device()).await;

    assert!(reset.is_ok(), "{reset:?}");
    assert!(matches!(repeated_reset, Err(ResetError::InvalidToken)), "{repeated_reset:?}");
    assert_eq!(stored_hash(&accounts, ada), format!("kept {NEW_PASSWORD}"));
    assert_eq!(resets.caller_cache.cached(session_ref), None);
    assert_eq!(accounts.emails().last(), Some(&("password-changed", ada)));
    assert_eq!(accounts.audited(), ["password.reset_requested", "password.reset", "session.ended"]);
}

#[tokio::test]
async fn a_token_is_valid_for_its_address_for_an_hour() {
    let RequestedReset { accounts, resets, ada } = request_reset().await;
    let token = accounts.token();
    accounts.person("eve@example.org", Some(OLD_HASH));
    let reset = async |email: &str, token: &Secret<String>| {
        resets.reset(email, token, secret(NEW_PASSWORD), &device()).await
    };

    let with_address_of_another = reset("eve@example.org", &token).await;
    let with_unknown_address = reset("nobody@example.org", &token).await;
    let with_nonsense = reset(ADA, &secret("nonsense")).await;
    let with_long_token = reset(ADA, &secret(&"x".repeat(MAX_TOKEN_BYTES + 1))).await;
    let with_empty_token = reset(ADA, &secret("")).await;
    accounts.clock.advance(Duration::from_hours(1));
    let after_expiry = reset(ADA, &token).await;

    for refusal in [
        with_address_of_another,
        with_unknown_address,
        with_nonsense,
        with_long_token,
        with_empty_token,
        after_expiry,
    ] {
        assert!(matches!(refusal, Err(ResetError::InvalidToken)), "{refusal:?}");
    }
    assert_eq!(stored_hash(&accounts, ada), OLD_HASH);
}

#[tokio::test]
async fn a_token_of_another_purpose_resets_nothing() {
    let RequestedReset { accounts, resets, .. } = request_reset().await;
    accounts.verification(true).resend(ADA).await.unwrap();

    let refusal = resets.reset(ADA, &accounts.token(), secret(NEW_PASSWORD), &device()).await;

    assert!(matches!(refusal, Err(ResetError::InvalidToken)));
}

#[tokio::test]
async fn a_weak_password_is_reported_and_leaves_the_token_valid() {
    let RequestedReset { accounts, resets, .. } = request_reset().await;
    let token = accounts.token();

    for (password, code) in [
        ("", "required"),
        ("short", "too_short"),
        ("password123", "common"),
        ("Ada Augusta", "personal"),
        (ADA, "personal"),
        (&"x".repeat(999), "too_long"),
    ] {
        match resets.reset(ADA, &token, secret(password), &device()).await {
            Err(ResetError::Invalid(violations)) => {
                let reported: Vec<_> = violations.iter().map(|it| (it.field, it.code)).collect();
                assert_eq!(reported, [("newPassword", code)]);
            }
            outcome => panic!("{outcome:?}"),
        }
    }
    assert!(resets.reset(ADA, &token, secret(NEW_PASSWORD), &device()).await.is_ok());
}

#[tokio::test]
async fn without_the_token_nothing_is_revealed_about_the_name() {
    let RequestedReset { resets, .. } = request_reset().await;

    let refusal = resets.reset(ADA, &secret("nonsense"), secret("Ada Augusta"), &device()).await;

    assert!(matches!(refusal, Err(ResetError::InvalidToken)));
}

#[tokio::test]
async fn every_request_takes_the_same_steps_to_the_same_response() {
    let RequestedReset { accounts, resets, ada } = request_reset().await;
    accounts.person("vouched@example.org", None);
    accounts.steps();

    for email in [ADA, "nobody@example.org", "vouched@example.org"] {
        resets.request(email).await.unwrap();

        assert_eq!(accounts.steps(), ["count", "look", "write"], "{email}");
    }
    assert_eq!(accounts.emails(), [("password-reset", ada); 2]);
}

#[tokio::test]
async fn an_address_gets_at_most_three_emails_without_an_error() {
    let RequestedReset { accounts, resets, ada } = request_reset().await;

    for email in [ADA, " ADA+pia@example.org", ADA, ADA] {
        resets.request(email).await.unwrap();
    }

    assert_eq!(accounts.emails(), [("password-reset", ada); 3]);
}

#[tokio::test]
async fn without_mail_every_request_fails_before_any_step() {
    let RequestedReset { accounts, resets, .. } = request_reset().await;
    accounts.mail.set(false);
    accounts.steps();

    for email in [ADA, "nobody@example.org", "no address"] {
        let outcome = resets.request(email).await;

        assert!(matches!(outcome, Err(EmailTokenError::NotConfigured)), "{email}");
    }
    assert_eq!(accounts.steps(), Vec::<&str>::new());
}

#[tokio::test]
async fn guesses_at_the_old_password_are_cleared_by_a_reset() {
    let accounts = InMemoryAccounts::empty();
    accounts.person(ADA, Some(OLD_HASH));
    let mut throttle = MockPasswordThrottleStore::new();
    throttle.expect_clear().times(2).returning(|_| Ok(()));
    let resets = resets_with(&accounts, throttle);
    resets.request(ADA).await.unwrap();

    let token = accounts.token();
    resets.reset(ADA, &secret("nonsense"), secret(NEW_PASSWORD), &device()).await.unwrap_err();
    resets.reset(ADA, &token, secret(NEW_PASSWORD), &device()).await.unwrap();
}
