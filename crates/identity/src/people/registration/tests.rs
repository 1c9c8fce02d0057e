//! Tests of registration and its confidentiality.

use pia_kernel::Timestamp;
use pia_testkit::FixedClock;

use super::*;
use crate::fakes::{self, InMemoryAccounts};
use crate::ports::{MockAccountStore, MockPasswordHasher, MockSeats};

fn form() -> RegistrationForm {
    RegistrationForm {
        email: " Ada@Example.org ".to_owned(),
        password: Secret::new("a perfectly fine passphrase".to_owned()),
        display_name: Some(" Ada ".to_owned()),
        customer: CustomerType::Consumer,
        company_name: None,
        invitation: None,
    }
}

fn invited(token: &str) -> RegistrationForm {
    RegistrationForm { invitation: Some(Secret::new(token.to_owned())), ..form() }
}

struct Mocks {
    accounts: MockAccountStore,
    hasher: MockPasswordHasher,
}

/// Returns mocks that must not be called.
fn idle() -> Mocks {
    Mocks { accounts: MockAccountStore::new(), hasher: MockPasswordHasher::new() }
}

fn hashing() -> Mocks {
    let mut mocks = idle();
    mocks.hasher.expect_hash().returning(|_| Ok(Secret::new("$kept$".to_owned())));
    mocks
}

fn storing(outcome: AccountCreationOutcome) -> Mocks {
    let mut mocks = idle();
    mocks.accounts.expect_register().once().returning(move |_, _, _| Ok(outcome));
    mocks.hasher.expect_hash().once().returning(|_| Ok(Secret::new("$kept$".to_owned())));
    mocks
}

fn registration(mocks: Mocks, rules: RegistrationRules) -> Registration {
    registration_with(mocks, rules, fakes::verification(false))
}

fn registration_with(
    mocks: Mocks,
    rules: RegistrationRules,
    verification: Verification,
) -> Registration {
    let mut seats = MockSeats::new();
    seats.expect_limit().return_const(Some(25));
    seats.expect_admins().return_const(Some(2));
    let ports = RegistrationPorts {
        accounts: Arc::new(mocks.accounts),
        hasher: Arc::new(mocks.hasher),
        seats: Arc::new(seats),
        verification,
    };
    let clock = Arc::new(FixedClock(Timestamp::UNIX_EPOCH));
    Registration::new(ports, LiveSetting::new(rules), clock)
}

async fn violations(
    form: RegistrationForm,
    rules: RegistrationRules,
) -> Vec<(&'static str, &'static str)> {
    match registration(idle(), rules).register(form).await {
        Err(RegisterError::Invalid(violations)) => {
            violations.iter().map(|it| (it.field, it.code)).collect()
        }
        outcome => panic!("{outcome:?}"),
    }
}

fn created(outcome: Result<RegistrationOutcome, RegisterError>) -> Account {
    match outcome {
        Ok(RegistrationOutcome::Created(account)) => *account,
        outcome => panic!("{outcome:?}"),
    }
}

fn declared_only() -> RegistrationRules {
    RegistrationRules { require_declaration: true, ..RegistrationRules::default() }
}

#[tokio::test]
async fn an_account_is_stored_with_its_hash_its_limit_and_its_audit_entry() {
    let mut mocks = idle();
    mocks
        .hasher
        .expect_hash()
        .withf(|password| password.expose() == "a perfectly fine passphrase")
        .returning(|_| Ok(Secret::new("$kept$".to_owned())));
    mocks
        .accounts
        .expect_register()
        .withf(|new, seats, effects| {
            let at = Timestamp::UNIX_EPOCH;
            let user = new.account.user;
            new.password_hash.as_ref().is_some_and(|it| it.expose() == "$kept$")
                && *seats == Some(25)
                && *effects == SideEffects::audit(at, user, "account.registered")
        })
        .once()
        .returning(|_, _, _| Ok(AccountCreationOutcome::Stored));

    let outcome = registration(mocks, RegistrationRules::default()).register(form()).await;
    let account = created(outcome);

    assert_eq!(account.email, "Ada@Example.org");
    assert_eq!(account.provider, "local");
    assert_eq!(account.display_name.as_deref(), Some("Ada"));
}

#[tokio::test]
async fn all_violations_are_reported_at_once() {
    let form = RegistrationForm {
        email: "nobody".to_owned(),
        password: Secret::new("short".to_owned()),
        display_name: Some("x".repeat(201)),
        customer: CustomerType::Business,
        company_name: Some(" ".to_owned()),
        invitation: None,
    };

    let violations = violations(form, declared_only()).await;

    assert_eq!(
        violations,
        [
            ("email", "invalid"),
            ("password", "too_short"),
            ("displayName", "too_long"),
            ("companyName", "required")
        ]
    );
}

#[tokio::test]
async fn the_address_and_the_name_are_weak_passwords() {
    for password in ["ada@example.org", "Ada Augusta"] {
        let form = RegistrationForm {
            password: Secret::new(password.to_owned()),
            display_name: Some("Ada Augusta".to_owned()),
            ..form()
        };

        let violations = violations(form, RegistrationRules::default()).await;

        assert_eq!(violations, [("password", "personal")]);
    }
}

#[tokio::test]
async fn a_declaration_is_required_only_by_the_rules() {
    let undeclared = RegistrationForm { customer: CustomerType::NotDeclared, ..form() };
    let lax = registration(storing(AccountCreationOutcome::Stored), RegistrationRules::default());

    let outcome = lax.register(undeclared.clone()).await;

    assert!(outcome.is_ok());
    assert_eq!(violations(undeclared, declared_only()).await, [("customerType", "required")]);
}

#[tokio::test]
async fn only_the_company_of_a_trader_is_stored() {
    let company = |customer| RegistrationForm {
        customer,
        company_name: Some(" Engines Ltd ".to_owned()),
        ..form()
    };
    let stored_company = async |customer| {
        let registration = registration(storing(AccountCreationOutcome::Stored), declared_only());
        created(registration.register(company(customer)).await).company_name
    };

    assert_eq!(stored_company(CustomerType::Business).await.as_deref(), Some("Engines Ltd"));
    assert_eq!(stored_company(CustomerType::Consumer).await, None);
}

#[tokio::test]
async fn an_uninvited_registration_is_refused_without_hashing() {
    for policy in [RegistrationPolicy::Invitation, RegistrationPolicy::Closed] {
        let rules = RegistrationRules { policy, ..RegistrationRules::default() };

        let outcome = registration(idle(), rules).register(form()).await;

        assert!(matches!(outcome, Err(RegisterError::Closed)));
    }
}

#[tokio::test]
async fn the_store_checks_an_invitation_and_the_licensed_administrators() {
    for policy in [RegistrationPolicy::Open, RegistrationPolicy::Invitation] {
        let rules = RegistrationRules {
            policy,
            allowed_domains: vec!["other.example".to_owned()],
            ..RegistrationRules::default()
        };
        let mut mocks = hashing();
        mocks
            .accounts
            .expect_register()
            .withf(|new, _, effects| {
                new.invitation.is_some_and(|it| it.max_admins == Some(2))
                    && effects.audit.iter().any(|it| it.action == "invitation.used")
            })
            .once()
            .returning(|_, _, _| Ok(AccountCreationOutcome::NotInvited));

        let outcome = registration(mocks, rules).register(invited("token")).await;

        assert!(matches!(outcome, Err(RegisterError::Closed)));
    }
}

#[tokio::test]
async fn malformed_invitations_and_closed_registration_are_refused_without_hashing() {
    let long_text = "x".repeat(129);
    let rules = |policy| RegistrationRules { policy, ..RegistrationRules::default() };
    for (policy, token) in [
        (RegistrationPolicy::Closed, "token"),
        (RegistrationPolicy::Invitation, ""),
        (RegistrationPolicy::Invitation, &*long_text),
        (RegistrationPolicy::Open, &*long_text),
    ] {
        let outcome = registration(idle(), rules(policy)).register(invited(token)).await;

        assert!(matches!(outcome, Err(RegisterError::Closed)), "{policy:?}");
    }
}

#[tokio::test]
async fn only_addresses_of_allowed_domains_may_register() {
    let rules = |domain: &str| RegistrationRules {
        allowed_domains: vec!["other.example".to_owned(), domain.to_owned()],
        ..RegistrationRules::default()
    };
    let register =
        async |domain: &str, mocks| registration(mocks, rules(domain)).register(form()).await;

    assert!(register("@EXAMPLE.org", storing(AccountCreationOutcome::Stored)).await.is_ok());
    for domain in ["sub.example.org", "org", "ample.org"] {
        let outcome = register(domain, idle()).await;

        assert!(matches!(outcome, Err(RegisterError::Closed)), "{domain}");
    }
}

#[tokio::test]
async fn a_taken_address_and_taken_seats_have_different_errors() {
    let register = async |outcome| {
        let registration = registration(storing(outcome), RegistrationRules::default());
        registration.register(form()).await
    };

    let taken_outcome = register(AccountCreationOutcome::EmailTaken).await;
    let seats_outcome = register(AccountCreationOutcome::SeatsTaken).await;

    assert!(matches!(taken_outcome, Err(RegisterError::EmailTaken)));
    assert!(matches!(seats_outcome, Err(RegisterError::SeatsTaken { limit: 25 })));
}

#[tokio::test]
async fn with_verification_only_the_owner_learns_that_an_address_is_taken() {
    let empty_store = InMemoryAccounts::empty();
    let owners_store = InMemoryAccounts::empty();
    let owner = owners_store.person("ADA@example.org", Some("kept"));
    owners_store.prove(owner);
    let register = async |accounts: &Arc<InMemoryAccounts>, outcome| {
        let rules = RegistrationRules::default();
        registration_with(storing(outcome), rules, accounts.verification(true))
            .register(form())
            .await
    };

    let new_outcome = register(&empty_store, AccountCreationOutcome::Stored).await;
    let taken_outcome = register(&owners_store, AccountCreationOutcome::EmailTaken).await;

    assert!(
        matches!(new_outcome, Ok(RegistrationOutcome::EmailQueued))
            && matches!(taken_outcome, Ok(RegistrationOutcome::EmailQueued))
    );
    assert!(empty_store.emails().is_empty());
    assert_eq!(owners_store.emails(), [("address-taken", owner)]);
    assert_eq!(empty_store.steps(), owners_store.steps());
}

#[tokio::test]
async fn with_verification_an_account_is_stored_with_its_token_and_email() {
    let mut mocks = hashing();
    mocks
        .accounts
        .expect_register()
        .withf(|new, _, effects| {
            let emails: Vec<_> = effects.mail.iter().map(|it| it.email.name).collect();
            new.verification.is_some() && emails == ["verify-address"]
        })
        .once()
        .returning(|_, _, _| Ok(AccountCreationOutcome::Stored));
    let rules = RegistrationRules::default();
    let verification = InMemoryAccounts::empty().verification(true);

    let outcome = registration_with(mocks, rules, verification).register(form()).await;

    assert!(matches!(outcome, Ok(RegistrationOutcome::EmailQueued)));
}

#[tokio::test]
async fn a_full_hashing_queue_is_an_outage() {
    let mut mocks = idle();
    mocks.hasher.expect_hash().returning(|_| Err(Unavailable::new("password hashing", "full")));

    let outcome = registration(mocks, RegistrationRules::default()).register(form()).await;

    assert!(matches!(outcome, Err(RegisterError::Unavailable(_))));
}

#[test]
fn the_password_of_a_form_is_redacted_in_debug_output() {
    assert!(!format!("{:?}", form()).contains("passphrase"));
}
