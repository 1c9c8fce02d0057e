//! Tests of changing an address.

use std::sync::Arc;

use pia_kernel::{Clock, LiveSetting, SessionId, Timestamp};

use super::*;
use crate::factors::proofs::{FactorProofs, FactorSettings};
use crate::fakes::{InMemoryAccounts, InMemoryFactors, PASSWORD};
use crate::ports::MockScimUserStore;

const ADA: &str = "ada@example.org";
const NEW: &str = "ada@engines.example";

struct World {
    accounts: Arc<InMemoryAccounts>,
    changes: AddressChanges,
    rules: LiveSetting<RegistrationRules>,
    ada: UserId,
}

fn new_world() -> World {
    let accounts = InMemoryAccounts::empty();
    let factors = Arc::<InMemoryFactors>::default();
    let ada = accounts.person(ADA, Some("kept"));
    // A recent sign-in is not enough.
    factors.state().proved_at = Some(Timestamp::UNIX_EPOCH);
    let settings = LiveSetting::new(FactorSettings::default());
    let clock = Arc::clone(&accounts.clock) as Arc<dyn Clock>;
    let reauthenticator =
        Reauthenticator::new(FactorProofs { ports: factors.ports(), settings, clock });
    let rules = LiveSetting::new(RegistrationRules::default());
    let mut scim_users = MockScimUserStore::new();
    scim_users.expect_find().returning(|_| Ok(None));
    let ports = AddressChangePorts {
        emails: accounts.ports(),
        scim_users: Arc::new(scim_users),
        rules: rules.clone(),
    };
    let changes = AddressChanges::new(ports, reauthenticator, accounts.caller_cache());
    World { accounts, changes, rules, ada }
}

impl World {
    async fn request(&self, email: &str) -> Result<(), AddressChangeError> {
        self.request_with(email, Some(PASSWORD)).await
    }

    async fn request_with(
        &self,
        email: &str,
        password: Option<&str>,
    ) -> Result<(), AddressChangeError> {
        let caller = CallerState::new(self.ada, SessionId::generate());
        let proof = password.map(|it| ReauthProof::Password(Secret::new(it.to_owned())));
        self.changes.request(caller, email, proof).await
    }

    async fn confirm(&self, user: UserId, email: &str) -> Result<(), AddressChangeError> {
        self.changes.confirm(user, email, &self.accounts.token()).await
    }

    fn email(&self) -> String {
        self.accounts.account(self.ada).unwrap().email
    }
}

#[tokio::test]
async fn a_link_to_the_new_address_changes_it_and_the_old_one_is_notified() {
    let world = new_world();

    world.request(" ada@engines.example ").await.unwrap();

    let link = "https://pia.example/pia/account/email/confirm?email=ada%40engines%2Eexample&token=";
    assert!(world.accounts.link().starts_with(link), "{}", world.accounts.link());
    assert_eq!(world.email(), ADA);
    world.confirm(world.ada, NEW).await.unwrap();
    assert_eq!(world.email(), NEW);
    assert_eq!(
        world.accounts.addressed(),
        [("address-change", NEW.to_owned()), ("address-changed", ADA.to_owned())]
    );
    let audited = ["account.email_change_requested", "account.email_changed"];
    assert_eq!(world.accounts.audited(), audited);
}

#[tokio::test]
async fn a_link_is_for_its_address_and_account_and_for_a_day() {
    let world = new_world();
    let eve = world.accounts.person("eve@example.org", Some("kept"));
    world.request(NEW).await.unwrap();

    let for_other_address = world.confirm(world.ada, "ada@other.example").await;
    let for_other_account = world.confirm(eve, NEW).await;
    world.accounts.clock.advance(Duration::from_hours(24));
    let after_a_day = world.confirm(world.ada, NEW).await;

    for refusal in [for_other_address, for_other_account, after_a_day] {
        assert!(matches!(refusal, Err(AddressChangeError::InvalidToken)), "{refusal:?}");
    }
}

#[tokio::test]
async fn an_address_of_another_account_is_not_revealed() {
    let world = new_world();
    world.accounts.person(NEW, Some("kept"));

    world.request(NEW).await.unwrap();

    assert_eq!(world.accounts.addressed(), []);
    let templates: Vec<_> = world.accounts.emails().iter().map(|it| it.0).collect();
    assert_eq!(templates, ["address-change-requested", "address-taken"]);
}

#[tokio::test]
async fn a_request_requires_a_password_and_a_valid_address() {
    let world = new_world();

    let missing_proof = world.request_with(NEW, None).await;
    assert!(matches!(missing_proof, Err(AddressChangeError::Owner(OwnerError::Missing))));
    let wrong_proof = world.request_with(NEW, Some("wrong horse battery")).await;
    assert!(matches!(wrong_proof, Err(AddressChangeError::Owner(OwnerError::Wrong))));

    for (email, code) in [(ADA, "unchanged"), ("ada", "invalid")] {
        let refusal = world.request(email).await;
        assert!(is_invalid(&refusal, code), "{email}: {refusal:?}");
    }
}

/// Returns whether a request was refused because of its address.
fn is_invalid(outcome: &Result<(), AddressChangeError>, code: &str) -> bool {
    matches!(outcome, Err(AddressChangeError::Invalid(it)) if it[0].code == code)
}

#[tokio::test]
async fn a_new_address_is_in_an_allowed_domain() {
    let world = new_world();
    let rules = RegistrationRules {
        allowed_domains: vec!["example.org".to_owned()],
        ..RegistrationRules::default()
    };
    world.rules.set(rules);

    let refusal = world.request(NEW).await;

    assert!(is_invalid(&refusal, "address_not_allowed"), "{refusal:?}");
}

#[tokio::test]
async fn a_request_requires_a_server_that_sends_emails() {
    let world = new_world();
    world.accounts.mail.set(false);

    let refusal = world.request(NEW).await;

    assert!(matches!(refusal, Err(AddressChangeError::Mail(_))), "{refusal:?}");
}

#[tokio::test]
async fn requests_are_limited() {
    let world = new_world();
    for _ in 0..5 {
        world.request(NEW).await.unwrap();
    }

    // Beyond three emails to one address nothing more is sent there.
    assert_eq!(world.accounts.addressed().len(), 3);
    assert!(matches!(world.request(NEW).await, Err(AddressChangeError::TooMany { .. })));
}
