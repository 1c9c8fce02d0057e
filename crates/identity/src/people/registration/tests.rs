//! Tests of registration, and of what it does not disclose.

use pia_kernel::Timestamp;
use pia_testkit::FixedClock;

use super::*;
use crate::fakes::{self, Post};
use crate::ports::{MockAccountStore, MockPasswordHasher, MockSeats};

fn person() -> RegistrationForm {
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
    RegistrationForm { invitation: Some(Secret::new(token.to_owned())), ..person() }
}

/// Returns ports that must not be called: neither hasher nor store.
fn idle() -> (MockAccountStore, MockPasswordHasher) {
    (MockAccountStore::new(), MockPasswordHasher::new())
}

fn storing(outcome: Registered) -> (MockAccountStore, MockPasswordHasher) {
    let (mut accounts, mut hasher) = idle();
    accounts.expect_register().once().returning(move |_, _, _| Ok(outcome));
    hasher.expect_hash().once().returning(|_| Ok(Secret::new("$kept$".to_owned())));
    (accounts, hasher)
}

fn registration(
    ports: (MockAccountStore, MockPasswordHasher),
    rules: RegistrationRules,
) -> Registration {
    registration_with(ports, rules, fakes::verification(false))
}

fn registration_with(
    (accounts, hasher): (MockAccountStore, MockPasswordHasher),
    rules: RegistrationRules,
    verification: Verification,
) -> Registration {
    let mut seats = MockSeats::new();
    seats.expect_limit().return_const(Some(25));
    seats.expect_admins().return_const(Some(2));
    let ports = RegistrationPorts {
        accounts: Arc::new(accounts),
        hasher: Arc::new(hasher),
        seats: Arc::new(seats),
        verification,
    };
    let clock = Arc::new(FixedClock(Timestamp::UNIX_EPOCH));
    Registration::new(ports, LiveSetting::new(rules), clock)
}

async fn faults(
    person: RegistrationForm,
    rules: RegistrationRules,
) -> Vec<(&'static str, &'static str)> {
    match registration(idle(), rules).register(person).await {
        Err(RegisterError::Invalid(faults)) => {
            faults.iter().map(|it| (it.field, it.code)).collect()
        }
        other => panic!("{other:?}"),
    }
}

fn made(joined: Result<RegistrationOutcome, RegisterError>) -> Account {
    match joined {
        Ok(RegistrationOutcome::Made(account)) => *account,
        other => panic!("{other:?}"),
    }
}

fn declared_only() -> RegistrationRules {
    RegistrationRules { require_declaration: true, ..RegistrationRules::default() }
}

#[tokio::test]
async fn an_account_is_stored_with_its_hash_its_limit_and_its_audit_entry() {
    let (mut accounts, mut hasher) = idle();
    hasher
        .expect_hash()
        .withf(|password| password.expose() == "a perfectly fine passphrase")
        .returning(|_| Ok(Secret::new("$kept$".to_owned())));
    accounts
        .expect_register()
        .withf(|new, seats, effects| {
            let (at, user) = (Timestamp::UNIX_EPOCH, new.account.user);
            new.password_hash.as_ref().is_some_and(|it| it.expose() == "$kept$")
                && *seats == Some(25)
                && *effects == SideEffects::audit(at, user, "account.registered")
        })
        .once()
        .returning(|_, _, _| Ok(Registered::Stored));

    let registration = registration((accounts, hasher), RegistrationRules::default());
    let account = made(registration.register(person()).await);

    assert_eq!((account.email.as_str(), account.provider.as_str()), ("Ada@Example.org", "local"));
    assert_eq!(account.display_name.as_deref(), Some("Ada"));
}

#[tokio::test]
async fn all_that_is_wrong_is_reported_at_once() {
    let person = RegistrationForm {
        email: "nobody".to_owned(),
        password: Secret::new("short".to_owned()),
        display_name: Some("x".repeat(201)),
        customer: CustomerType::Business,
        company_name: Some(" ".to_owned()),
        invitation: None,
    };

    let faults = faults(person, declared_only()).await;

    assert_eq!(
        faults,
        [
            ("email", "invalid"),
            ("password", "too_short"),
            ("displayName", "too_long"),
            ("companyName", "required")
        ]
    );
}

#[tokio::test]
async fn a_password_is_weak_that_is_the_address_or_the_name() {
    for password in ["ada@example.org", "Ada Augusta"] {
        let person = RegistrationForm {
            password: Secret::new(password.to_owned()),
            display_name: Some("Ada Augusta".to_owned()),
            ..person()
        };

        let faults = faults(person, RegistrationRules::default()).await;

        assert_eq!(faults, [("password", "personal")]);
    }
}

#[tokio::test]
async fn a_declaration_is_required_only_where_the_operator_requires_it() {
    let undeclared = RegistrationForm { customer: CustomerType::NotDeclared, ..person() };
    let lax = registration(storing(Registered::Stored), RegistrationRules::default());

    let taken = lax.register(undeclared.clone()).await;

    assert!(taken.is_ok());
    assert_eq!(faults(undeclared, declared_only()).await, [("customerType", "required")]);
}

#[tokio::test]
async fn the_company_of_a_trader_is_stored_and_of_no_one_else() {
    let company = |customer| RegistrationForm {
        customer,
        company_name: Some(" Engines Ltd ".to_owned()),
        ..person()
    };
    let stored = async |customer| {
        let registration = registration(storing(Registered::Stored), declared_only());
        made(registration.register(company(customer)).await).company_name
    };

    assert_eq!(stored(CustomerType::Business).await.as_deref(), Some("Engines Ltd"));
    assert_eq!(stored(CustomerType::Consumer).await, None);
}

#[tokio::test]
async fn nobody_comes_in_uninvited_and_no_hash_is_made_for_them() {
    for policy in [RegistrationPolicy::Invitation, RegistrationPolicy::Closed] {
        let rules = RegistrationRules { policy, ..RegistrationRules::default() };

        let outcome = registration(idle(), rules).register(person()).await;

        assert!(matches!(outcome, Err(RegisterError::Closed)));
    }
}

#[tokio::test]
async fn an_invitation_is_the_stores_to_judge_and_is_within_the_licence() {
    for policy in [RegistrationPolicy::Open, RegistrationPolicy::Invitation] {
        let rules = RegistrationRules {
            policy,
            allowed_domains: vec!["other.example".to_owned()],
            ..RegistrationRules::default()
        };
        let (mut accounts, mut hasher) = idle();
        hasher.expect_hash().returning(|_| Ok(Secret::new("$kept$".to_owned())));
        accounts
            .expect_register()
            .withf(|new, _, effects| {
                new.invitation.is_some_and(|it| it.max_admins == Some(2))
                    && effects.audit.iter().any(|it| it.action == "invitation.used")
            })
            .once()
            .returning(|_, _, _| Ok(Registered::NotInvited));

        let outcome = registration((accounts, hasher), rules).register(invited("token")).await;

        assert!(matches!(outcome, Err(RegisterError::Closed)));
    }
}

#[tokio::test]
async fn what_cannot_be_an_invitation_and_what_comes_to_a_closed_server_is_not_even_hashed() {
    let long = "x".repeat(129);
    let rules = |policy| RegistrationRules { policy, ..RegistrationRules::default() };
    for (policy, token) in [
        (RegistrationPolicy::Closed, "token"),
        (RegistrationPolicy::Invitation, ""),
        (RegistrationPolicy::Invitation, &*long),
        (RegistrationPolicy::Open, &*long),
    ] {
        let outcome = registration(idle(), rules(policy)).register(invited(token)).await;

        assert!(matches!(outcome, Err(RegisterError::Closed)), "{policy:?}");
    }
}

#[tokio::test]
async fn only_addresses_of_allowed_domains_come_in() {
    let rules = |domain: &str| RegistrationRules {
        allowed_domains: vec!["other.example".to_owned(), domain.to_owned()],
        ..RegistrationRules::default()
    };
    let register =
        async |domain: &str, ports| registration(ports, rules(domain)).register(person()).await;

    assert!(register("@EXAMPLE.org", storing(Registered::Stored)).await.is_ok());
    for domain in ["sub.example.org", "org", "ample.org"] {
        let outcome = register(domain, idle()).await;

        assert!(matches!(outcome, Err(RegisterError::Closed)), "{domain}");
    }
}

#[tokio::test]
async fn a_taken_address_and_taken_seats_are_distinguished() {
    let register = async |outcome| {
        let registration = registration(storing(outcome), RegistrationRules::default());
        registration.register(person()).await
    };

    let taken = register(Registered::EmailTaken).await;
    let full = register(Registered::SeatsTaken).await;

    assert!(matches!(taken, Err(RegisterError::EmailTaken)));
    assert!(matches!(full, Err(RegisterError::SeatsTaken { limit: 25 })));
}

#[tokio::test]
async fn where_addresses_are_verified_a_taken_one_is_reported_to_its_owner_alone() {
    let (fresh, taken) = (Post::open(), Post::open());
    let owner = taken.person("ADA@example.org", Some("kept"));
    taken.prove(owner);
    let register = async |post: &Arc<Post>, outcome| {
        let rules = RegistrationRules::default();
        registration_with(storing(outcome), rules, post.verification(true)).register(person()).await
    };

    let made = register(&fresh, Registered::Stored).await;
    let refused = register(&taken, Registered::EmailTaken).await;

    assert!(
        matches!(made, Ok(RegistrationOutcome::Written))
            && matches!(refused, Ok(RegistrationOutcome::Written))
    );
    assert_eq!((fresh.letters(), taken.letters()), (vec![], vec![("address-taken", owner)]));
    assert_eq!(fresh.steps(), taken.steps());
}

#[tokio::test]
async fn where_addresses_are_verified_an_account_is_stored_with_its_token_and_letter() {
    let (mut accounts, mut hasher) = idle();
    hasher.expect_hash().returning(|_| Ok(Secret::new("$kept$".to_owned())));
    accounts
        .expect_register()
        .withf(|new, _, effects| {
            let letters: Vec<_> = effects.mail.iter().map(|it| it.letter.name).collect();
            new.verification.is_some() && letters == ["verify-address"]
        })
        .once()
        .returning(|_, _, _| Ok(Registered::Stored));
    let (rules, verification) = (RegistrationRules::default(), Post::open().verification(true));

    let joined =
        registration_with((accounts, hasher), rules, verification).register(person()).await;

    assert!(matches!(joined, Ok(RegistrationOutcome::Written)));
}

#[tokio::test]
async fn a_full_hashing_queue_is_an_outage() {
    let (accounts, mut hasher) = idle();
    hasher.expect_hash().returning(|_| Err(Unavailable::new("password hashing", "full")));

    let outcome =
        registration((accounts, hasher), RegistrationRules::default()).register(person()).await;

    assert!(matches!(outcome, Err(RegisterError::Unavailable(_))));
}

#[test]
fn what_a_person_fills_in_shows_no_password_when_it_is_printed() {
    assert!(!format!("{:?}", person()).contains("passphrase"));
}
