//! Tests of creating the first administrator and of the order of its checks.

use pia_kernel::Timestamp;
use pia_testkit::FixedClock;

use super::*;
use crate::ports::{MockFirstAdminStore, MockPasswordHasher, MockSeats, MockSetupToken};

fn admin() -> NewAdmin {
    NewAdmin {
        email: " Root@Example.org ".to_owned(),
        password: Secret::new("a perfectly fine passphrase".to_owned()),
        display_name: None,
    }
}

fn secret(text: &str) -> Secret<String> {
    Secret::new(text.to_owned())
}

struct Ports {
    store: MockFirstAdminStore,
    hasher: MockPasswordHasher,
    token: MockSetupToken,
}

impl Ports {
    /// Returns ports of a server without an administrator, whose token is `right`. No other call is
    /// expected.
    fn idle() -> Self {
        let mut store = MockFirstAdminStore::new();
        let mut token = MockSetupToken::new();
        store.expect_exists().returning(|| Ok(false));
        token.expect_is_right().returning(|it| Ok(it.expose() == "right"));
        Self { store, hasher: MockPasswordHasher::new(), token }
    }

    fn storing(outcome: FirstAdminOutcome) -> Self {
        let mut ports = Self::idle();
        ports.hasher.expect_hash().once().returning(|_| Ok(secret("$kept$")));
        ports.store.expect_create_first_admin().once().returning(move |_, _, _| Ok(outcome));
        ports
    }

    fn build(self) -> FirstAdmin {
        let mut seats = MockSeats::new();
        seats.expect_limit().return_const(Some(25));
        seats.expect_admins().return_const(Some(2));
        let ports = FirstAdminPorts {
            store: Arc::new(self.store),
            hasher: Arc::new(self.hasher),
            seats: Arc::new(seats),
            token: Arc::new(self.token),
        };
        let rules = RegistrationRules { require_declaration: true, ..RegistrationRules::default() };
        FirstAdmin::new(ports, LiveSetting::new(rules), Arc::new(FixedClock(Timestamp::UNIX_EPOCH)))
    }
}

#[tokio::test]
async fn the_account_is_an_administrators_with_a_verified_address_and_ends_the_token() {
    let mut ports = Ports::idle();
    ports.hasher.expect_hash().returning(|_| Ok(secret("$kept$")));
    ports
        .store
        .expect_create_first_admin()
        .withf(|new, limits, effects| {
            let account = &new.account;
            account.role == Role::Admin
                && account.email_verified_at == Some(Timestamp::UNIX_EPOCH)
                && new.password_hash.as_ref().is_some_and(|it| it.expose() == "$kept$")
                && *limits == SeatLimits { accounts: Some(25), admins: Some(2) }
                && effects.audit.iter().all(|it| it.actor == Some(account.user))
        })
        .once()
        .returning(|_, _, _| Ok(FirstAdminOutcome::Stored));
    ports.token.expect_record_administrator().once().returning(|| ());

    let account = ports.build().create_first_admin(&secret("right"), admin()).await.unwrap();

    assert_eq!(account.email, "Root@Example.org");
}

#[tokio::test]
async fn a_wrong_token_is_refused_before_validation_and_hashing() {
    for admin in [admin(), NewAdmin { email: "nobody".to_owned(), ..admin() }] {
        let outcome = Ports::idle().build().create_first_admin(&secret("wrong"), admin).await;

        assert!(matches!(outcome, Err(FirstAdminError::WrongToken)), "{outcome:?}");
    }
}

#[tokio::test]
async fn with_an_administrator_the_token_is_not_checked() {
    let mut store = MockFirstAdminStore::new();
    store.expect_exists().returning(|| Ok(true));
    let ports = Ports { store, hasher: MockPasswordHasher::new(), token: MockSetupToken::new() };

    let outcome = ports.build().create_first_admin(&secret("right"), admin()).await;

    assert!(matches!(outcome, Err(FirstAdminError::AlreadySetUp)), "{outcome:?}");
}

#[tokio::test]
async fn a_token_that_ends_during_its_check_is_reported_as_already_set_up() {
    let mut store = MockFirstAdminStore::new();
    let mut order = mockall::Sequence::new();
    for exists in [false, true] {
        store.expect_exists().once().in_sequence(&mut order).return_once(move || Ok(exists));
    }
    let ports = Ports { store, ..Ports::idle() };

    let outcome = ports.build().create_first_admin(&secret("right no more"), admin()).await;

    assert!(matches!(outcome, Err(FirstAdminError::AlreadySetUp)), "{outcome:?}");
}

#[tokio::test]
async fn all_violations_are_reported_at_once() {
    let wrong_admin = NewAdmin {
        email: "nobody".to_owned(),
        password: secret("short"),
        display_name: Some("x".repeat(201)),
    };

    let outcome = Ports::idle().build().create_first_admin(&secret("right"), wrong_admin).await;

    let Err(FirstAdminError::Invalid(violations)) = outcome else { panic!("{outcome:?}") };
    let fields: Vec<_> = violations.iter().map(|it| it.field).collect();
    assert_eq!(fields, ["email", "password", "displayName"]);
}

#[tokio::test]
async fn each_refusal_of_the_store_has_its_error_and_leaves_the_token() {
    let create = async |outcome| {
        Ports::storing(outcome).build().create_first_admin(&secret("right"), admin()).await
    };

    let late = create(FirstAdminOutcome::AlreadySetUp).await;
    let taken_outcome = create(FirstAdminOutcome::EmailTaken).await;
    let seats_outcome = create(FirstAdminOutcome::SeatsTaken).await;

    assert!(matches!(late, Err(FirstAdminError::AlreadySetUp)), "{late:?}");
    assert!(matches!(taken_outcome, Err(FirstAdminError::EmailTaken)), "{taken_outcome:?}");
    assert!(matches!(seats_outcome, Err(FirstAdminError::SeatsTaken)), "{seats_outcome:?}");
}
