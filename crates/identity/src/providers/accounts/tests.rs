//! Tests of finding the account of an external identity, with scripted stores.

use pia_kernel::{Timestamp, Unavailable};
use pia_testkit::FixedClock;

use super::*;
use crate::people::registration::RegistrationPolicy;
use crate::ports::{
    MockAccountStore, MockLicenceInForce, MockProviderAccounts, MockSeats, ProviderIdentity,
};

const NOW: Timestamp = Timestamp::UNIX_EPOCH;

fn identity() -> ProviderIdentity {
    ProviderIdentity { issuer: "https://issuer".to_owned(), subject: "ada".to_owned() }
}

fn claims() -> ProviderClaims {
    ProviderClaims {
        identity: identity(),
        email: Some(" Ada@example.org ".to_owned()),
        email_verified: Some(true),
        trusts_email: false,
        name: Some("Ada\n".to_owned()),
    }
}

fn account() -> Account {
    Account::local(UserId::generate(), "ada@example.org".to_owned(), NOW)
}

/// Returns a fake that finds no account at first, and this one when called again.
fn knowing_later(later: Option<KnownAccount>) -> MockProviderAccounts {
    knowing_later_at(later, false)
}

fn knowing_later_at(later: Option<KnownAccount>, taken: bool) -> MockProviderAccounts {
    let mut provider_accounts = MockProviderAccounts::new();
    provider_accounts.expect_find().once().returning(|_, _| Ok(None));
    provider_accounts.expect_find().returning(move |_, _| Ok(later.clone()));
    provider_accounts.expect_has_address().returning(move |_| Ok(taken));
    provider_accounts.expect_link_provisioned().returning(|_| Ok(None));
    provider_accounts
}

fn finder(
    provider_accounts: MockProviderAccounts,
    accounts: MockAccountStore,
    policy: RegistrationPolicy,
    in_force: bool,
) -> ProviderAccountFinder {
    let mut seats = MockSeats::new();
    let mut licence = MockLicenceInForce::new();
    seats.expect_limit().return_const(Some(25));
    licence.expect_in_force().return_const(in_force);
    ProviderAccountFinder {
        provider_accounts: Arc::new(provider_accounts),
        accounts: Arc::new(accounts),
        seats: Arc::new(seats),
        licence: Arc::new(licence),
        rules: LiveSetting::new(RegistrationRules { policy, ..RegistrationRules::default() }),
        clock: Arc::new(FixedClock(NOW)),
    }
}

fn registering(outcome: AccountCreationOutcome) -> MockAccountStore {
    let mut accounts = MockAccountStore::new();
    accounts.expect_register().once().returning(move |_, _, _| Ok(outcome));
    accounts
}

#[tokio::test]
async fn an_account_is_stored_with_its_identity_its_limit_and_its_audit_entry() {
    let mut accounts = MockAccountStore::new();
    accounts
        .expect_register()
        .withf(|new, seats, effects| {
            let account = &new.account;
            (account.email.as_str(), account.provider.as_str()) == ("Ada@example.org", "google")
                && account.display_name.as_deref() == Some("Ada")
                && account.email_verified_at == Some(NOW)
                && new.password_hash.is_none()
                && new.identity.as_ref() == Some(&identity())
                && *seats == Some(25)
                && *effects == SideEffects::audit(NOW, account.user, "account.registered")
        })
        .once()
        .returning(|_, _, _| Ok(AccountCreationOutcome::Stored));
    let finder = finder(knowing_later(None), accounts, RegistrationPolicy::Open, true);

    let account = finder.find_or_register(Provider::Google, claims()).await.unwrap();

    assert_eq!(account.provider, "google");
}

#[tokio::test]
async fn a_user_who_was_registered_meanwhile_is_signed_in() {
    let existing_account = account();
    let knowing_existing =
        |taken| knowing_later_at(Some(KnownAccount::Active(existing_account.clone())), taken);
    // Before the address was looked up, or after.
    for (provider_accounts, accounts) in [
        (knowing_existing(true), MockAccountStore::new()),
        (knowing_existing(false), registering(AccountCreationOutcome::EmailTaken)),
    ] {
        let finder = finder(provider_accounts, accounts, RegistrationPolicy::Open, true);

        assert_eq!(
            finder.find_or_register(Provider::Google, claims()).await.unwrap(),
            existing_account
        );
    }
}

#[tokio::test]
async fn each_refusal_of_the_store_has_its_error() {
    let refusal = async |outcome| {
        let accounts = registering(outcome);
        let finder = finder(knowing_later(None), accounts, RegistrationPolicy::Open, true);
        finder.find_or_register(Provider::Google, claims()).await.unwrap_err()
    };

    let taken_error = refusal(AccountCreationOutcome::EmailTaken).await;
    let seats_error = refusal(AccountCreationOutcome::SeatsTaken).await;

    assert!(matches!(taken_error, ProviderSignInError::EmailExists));
    assert!(matches!(seats_error, ProviderSignInError::SeatsTaken { limit: 25 }));
}

#[tokio::test]
async fn no_account_is_created_without_licence_or_permission() {
    let refusal = async |policy, in_force| {
        let finder = finder(knowing_later(None), MockAccountStore::new(), policy, in_force);
        finder.find_or_register(Provider::Google, claims()).await.unwrap_err()
    };

    let licence_error = refusal(RegistrationPolicy::Open, false).await;
    let policy_error = refusal(RegistrationPolicy::Closed, true).await;

    assert!(matches!(licence_error, ProviderSignInError::LicenceEnded));
    assert!(matches!(policy_error, ProviderSignInError::RegistrationClosed));
}

#[tokio::test]
async fn an_outage_is_reported_as_unavailable() {
    let mut provider_accounts = MockProviderAccounts::new();
    provider_accounts.expect_find().returning(|_, _| Err(Unavailable::new("storage", "down")));
    let finder = finder(provider_accounts, MockAccountStore::new(), RegistrationPolicy::Open, true);

    let outcome = finder.find_or_register(Provider::Google, claims()).await;

    assert!(matches!(outcome, Err(ProviderSignInError::Unavailable(_))));
}
