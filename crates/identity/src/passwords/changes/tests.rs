//! Tests of password changes.

use std::sync::Arc;

use pia_kernel::{LiveSetting, Timestamp, UserId};
use pia_testkit::FixedClock;

use super::*;
use crate::factors::proofs::FactorPorts;
use crate::fakes::{InMemoryAccounts, InMemoryFactors, session_ref};
use crate::people::registration::RegistrationRules;

const ADA: &str = "ada@example.org";
const OLD: &str = "correct horse battery staple";
const NEW: &str = "a perfectly fine passphrase";

struct World {
    accounts: Arc<InMemoryAccounts>,
    factors: Arc<InMemoryFactors>,
    changes: PasswordChanges,
}

fn new_world() -> World {
    let accounts = InMemoryAccounts::empty();
    let factors = Arc::<InMemoryFactors>::default();
    let clock = Arc::new(FixedClock(Timestamp::UNIX_EPOCH));
    let passwords = PasswordPorts {
        store: Arc::clone(&accounts) as _,
        hasher: InMemoryAccounts::hasher(),
        rules: LiveSetting::new(RegistrationRules::default()),
    };
    let ports = FactorPorts { accounts: accounts.account_store(), ..factors.ports() };
    let proofs = FactorProofs { ports, ..factors.proofs(clock) };
    let changes = PasswordChanges::new(proofs, passwords, accounts.caller_cache());
    World { accounts, factors, changes }
}

impl World {
    fn ada(&self) -> UserId {
        self.accounts.person(ADA, Some(&format!("kept {OLD}")))
    }

    async fn change(
        &self,
        user: UserId,
        current: &str,
        new: &str,
    ) -> Result<AppAccess, ChangePasswordError> {
        let secret = |it: &str| Secret::new(it.to_owned());
        self.changes.change(session_ref(user), secret(current), secret(new), false).await
    }

    fn stored_hash(&self, user: UserId) -> String {
        self.accounts.credentials(user).unwrap().password_hash.unwrap().expose().clone()
    }
}

#[tokio::test]
async fn the_owner_changes_the_password_with_the_current_one() {
    let world = new_world();
    let ada = world.ada();
    let adas_session = session_ref(ada);
    world.changes.caller_cache.fresh(adas_session).await.unwrap();

    let remaining_access = world.change(ada, OLD, NEW).await.unwrap();

    assert_eq!(remaining_access, AppAccess { app_passwords: 2, api_keys: 1 });
    assert_eq!(world.stored_hash(ada), format!("kept {NEW}"));
    assert_eq!(world.changes.caller_cache.cached(adas_session), None);
    assert_eq!(world.accounts.emails(), [("password-changed", ada)]);
    assert_eq!(world.accounts.audited(), ["password.changed", "session.ended"]);
    assert_eq!(world.factors.wrong_proofs(), 0);
}

#[tokio::test]
async fn a_wrong_password_is_counted_and_changes_nothing() {
    let world = new_world();
    let ada = world.ada();

    for wrong in ["a wrong password", "", &"x".repeat(999)] {
        let refusal = world.change(ada, wrong, NEW).await;

        assert!(matches!(refusal, Err(ChangePasswordError::WrongPassword)), "{refusal:?}");
    }

    assert_eq!(world.factors.wrong_proofs(), 3);
    assert_eq!(world.stored_hash(ada), format!("kept {OLD}"));
}

#[tokio::test]
async fn after_ten_wrong_passwords_the_right_one_must_wait_too() {
    let world = new_world();
    let ada = world.ada();
    for _ in 0..10 {
        drop(world.change(ada, "a wrong password", NEW).await);
    }

    let refusal = world.change(ada, OLD, NEW).await;

    assert!(matches!(refusal, Err(ChangePasswordError::TooMany { .. })), "{refusal:?}");
}

#[tokio::test]
async fn violations_of_the_new_password_are_reported_and_count_as_no_guess() {
    let world = new_world();
    let ada = world.ada();

    for (new, code) in
        [("", "required"), ("short", "too_short"), ("Ada Augusta", "personal"), (OLD, "unchanged")]
    {
        match world.change(ada, OLD, new).await {
            Err(ChangePasswordError::Invalid(violations)) => {
                let reported: Vec<_> = violations.iter().map(|it| (it.field, it.code)).collect();
                assert_eq!(reported, [("newPassword", code)]);
            }
            outcome => panic!("{outcome:?}"),
        }
    }
    assert_eq!(world.factors.wrong_proofs(), 0);
}

#[tokio::test]
async fn accounts_without_a_password_and_deleted_ones_are_refused() {
    let world = new_world();
    let provider_user = world.accounts.person("vouched@example.org", None);

    let without = world.change(provider_user, OLD, NEW).await;
    let gone = world.change(UserId::generate(), OLD, NEW).await;

    assert!(matches!(without, Err(ChangePasswordError::NoPassword)), "{without:?}");
    assert!(matches!(gone, Err(ChangePasswordError::Gone)), "{gone:?}");
}
