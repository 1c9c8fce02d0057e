//! Tests of creating the first administrator, and of the order of its checks.

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
    /// A server without an administrator, whose token is `right`. Nothing else
    /// is expected to be called.
    fn idle() -> Self {
        let (mut store, mut token) = (MockFirstAdminStore::new(), MockSetupToken::new());
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
    ports.token.expect_administered().once().returning(|| ());

    let account = ports.build().create_first_admin(&secret("right"), admin()).await.unwrap();

    assert_eq!(account.email, "Root@Example.org");
}

#[tokio::test]
async fn who_does_not_know_the_token_learns_nothing_and_has_nothing_hashed() {
    for admin in [admin(), NewAdmin { email: "nobody".to_owned(), ..admin() }] {
        let outcome = Ports::idle().build().create_first_admin(&secret("wrong"), admin).await;

        assert!(matches!(outcome, Err(FirstAdminError::WrongToken)), "{outcome:?}");
    }
}

#[tokio::test]
async fn once_there_is_an_administrator_the_token_is_not_even_looked_at() {
    let mut store = MockFirstAdminStore::new();
    store.expect_exists().returning(|| Ok(true));
    let ports = Ports { store, hasher: MockPasswordHasher::new(), token: MockSetupToken::new() };

    let outcome = ports.build().create_first_admin(&secret("right"), admin()).await;

    assert!(matches!(outcome, Err(FirstAdminError::AlreadySetUp)), "{outcome:?}");
}

#[tokio::test]
async fn whose_token_ended_while_it_was_looked_at_is_reported_why() {
    let (mut store, mut order) = (MockFirstAdminStore::new(), mockall::Sequence::new());
    for exists in [false, true] {
        store.expect_exists().once().in_sequence(&mut order).return_once(move || Ok(exists));
    }
    let ports = Ports { store, ..Ports::idle() };

    let outcome = ports.build().create_first_admin(&secret("right no more"), admin()).await;

    assert!(matches!(outcome, Err(FirstAdminError::AlreadySetUp)), "{outcome:?}");
}

#[tokio::test]
async fn all_that_is_wrong_is_reported_at_once() {
    let wrong = NewAdmin {
        email: "nobody".to_owned(),
        password: secret("short"),
        display_name: Some("x".repeat(201)),
    };

    let outcome = Ports::idle().build().create_first_admin(&secret("right"), wrong).await;

    let Err(FirstAdminError::Invalid(faults)) = outcome else { panic!("{outcome:?}") };
    let fields: Vec<_> = faults.iter().map(|it| it.field).collect();
    assert_eq!(fields, ["email", "password", "displayName"]);
}

#[tokio::test]
async fn what_the_store_refuses_is_distinguished_and_leaves_the_token() {
    let appoint = async |outcome| {
        Ports::storing(outcome).build().create_first_admin(&secret("right"), admin()).await
    };

    let late = appoint(FirstAdminOutcome::AlreadySetUp).await;
    let taken = appoint(FirstAdminOutcome::EmailTaken).await;
    let full = appoint(FirstAdminOutcome::SeatsTaken).await;

    assert!(matches!(late, Err(FirstAdminError::AlreadySetUp)), "{late:?}");
    assert!(matches!(taken, Err(FirstAdminError::EmailTaken)), "{taken:?}");
    assert!(matches!(full, Err(FirstAdminError::SeatsTaken)), "{full:?}");
}
