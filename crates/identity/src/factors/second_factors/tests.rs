//! Tests of enabling and disabling second factors.

use std::sync::Arc;

use pia_kernel::{Clock, SessionId};
use pia_testkit::ManualClock;
use totp_rs::{Builder, Secret as TotpSecret};

use super::*;
use crate::fakes::{InMemoryFactors, Meanwhile, PASSWORD};
use crate::people::account::CallerState;
use crate::ports::MockAccountStore;

/// Arbitrary time in seconds, in the middle of a step.
const START: u64 = 1_800_000_015;

struct World {
    store: Arc<InMemoryFactors>,
    factors: SecondFactors,
    caller_cache: CallerCache,
    clock: Arc<ManualClock>,
    session_ref: SessionRef,
}

fn new_world() -> World {
    let store = Arc::<InMemoryFactors>::default();
    let start = Timestamp::UNIX_EPOCH + Duration::from_secs(START);
    let clock = Arc::new(ManualClock::new(start));
    let mut accounts = MockAccountStore::new();
    accounts
        .expect_caller_state()
        .returning(|user, session, _| Ok(Some(CallerState::new(user, session))));
    let caller_cache = CallerCache::new(Arc::new(accounts), Arc::<ManualClock>::clone(&clock));
    let factors =
        SecondFactors::new(store.proofs(Arc::<ManualClock>::clone(&clock)), caller_cache.clone());
    let session_ref = SessionRef { user: UserId::generate(), session: SessionId::generate() };
    World { store, factors, caller_cache, clock, session_ref }
}

fn secret(text: &str) -> Secret<String> {
    Secret::new(text.to_owned())
}

fn by_code(code: Secret<String>) -> ReauthProof {
    ReauthProof::Factor(FactorAnswer::Code(code))
}

fn by_recovery_code(code: &Secret<String>) -> ReauthProof {
    ReauthProof::Factor(FactorAnswer::RecoveryCode(code.clone()))
}

impl World {
    async fn begin(&self) -> Result<Enrolment, EnrolError> {
        self.factors.begin(self.session_ref, Some(secret(PASSWORD))).await
    }

    /// Returns the code that an app with this secret displays now.
    fn code(&self, enrolment: &Enrolment) -> Secret<String> {
        let key = TotpSecret::try_from_base32(enrolment.secret.expose()).unwrap();
        let app = Builder::new().with_secret(key).build().unwrap();
        let now = u64::try_from(self.clock.now().micros() / 1_000_000).unwrap();
        secret(&app.generate(now).to_string())
    }

    /// Returns an enrolment enabled half a minute ago, and its recovery codes.
    async fn enable(&self) -> (Enrolment, Vec<Secret<String>>) {
        let enrolment = self.begin().await.unwrap();
        let codes = self.factors.confirm(self.session_ref, self.code(&enrolment)).await.unwrap();
        self.clock.advance(Duration::from_secs(30));
        (enrolment, codes.0)
    }
}

#[tokio::test]
async fn a_factor_is_on_after_its_first_code() {
    let world = new_world();
    world.caller_cache.fresh(world.session_ref).await.unwrap();

    let enrolment = world.begin().await.unwrap();
    let before =
        world.factors.disable(world.session_ref, ReauthProof::Password(secret(PASSWORD))).await;
    let codes = world.factors.confirm(world.session_ref, world.code(&enrolment)).await.unwrap();

    assert!(matches!(before, Err(FactorChangeError::NotOn)));
    assert_eq!(codes.0.len(), 10);
    assert_eq!(world.store.audited(), ["factor.enabled"]);
    assert_eq!(world.store.emails(), ["factor-enabled"]);
    assert_eq!(world.store.surviving_session(), Some(world.session_ref.session));
    assert_eq!(world.caller_cache.cached(world.session_ref), None, "the gates reload the caller");
    assert_eq!(world.store.wrong_proofs(), 0);
}

#[tokio::test]
async fn only_hashes_of_recovery_codes_and_a_sealed_secret_are_stored() {
    let world = new_world();

    let (_, codes) = world.enable().await;

    let state = world.store.state();
    let expected: Vec<_> = codes
        .iter()
        .filter_map(|it| factors::recovery_codes::hash(world.session_ref.user, it))
        .collect();
    assert_eq!(state.codes, expected);
    assert!(state.factor.as_ref().unwrap().sealed.starts_with(world.session_ref.user.0.as_bytes()));
}

#[tokio::test]
async fn a_wrong_code_enables_nothing_and_is_counted() {
    let world = new_world();
    let enrolment = world.begin().await.unwrap();
    let code = world.code(&enrolment);
    let wrong_code = if code.expose() == "123456" { "654321" } else { "123456" };

    for text in [wrong_code, "", "nonsense"] {
        let refusal = world.factors.confirm(world.session_ref, secret(text)).await;
        assert!(matches!(refusal, Err(ConfirmError::WrongCode)), "{text}");
    }

    assert_eq!(world.store.wrong_proofs(), 3);
    assert!(world.store.audited().is_empty());
}

#[tokio::test]
async fn wrong_codes_are_limited_and_the_wait_is_reported() {
    let world = new_world();
    let enrolment = world.begin().await.unwrap();
    for _ in 0..10 {
        world.factors.confirm(world.session_ref, secret("nonsense")).await.unwrap_err();
    }

    let refusal = world.factors.confirm(world.session_ref, world.code(&enrolment)).await;

    let wait = Duration::from_secs(90);
    assert!(matches!(refusal, Err(ConfirmError::TooMany { wait: actual }) if actual == wait));
}

#[tokio::test]
async fn a_secret_waits_a_quarter_of_an_hour_for_its_code() {
    let world = new_world();
    let without_enrolment = world.factors.confirm(world.session_ref, secret("123456")).await;
    let enrolment = world.begin().await.unwrap();
    world.clock.advance(Duration::from_mins(15));

    let after_deadline = world.factors.confirm(world.session_ref, world.code(&enrolment)).await;

    assert!(matches!(without_enrolment, Err(ConfirmError::NotPending)));
    assert!(matches!(after_deadline, Err(ConfirmError::NotPending)));
}

#[tokio::test]
async fn a_second_enrolment_replaces_the_first() {
    let world = new_world();
    let replaced_enrolment = world.begin().await.unwrap();
    let enrolment = world.begin().await.unwrap();

    let refusal = world.factors.confirm(world.session_ref, world.code(&replaced_enrolment)).await;
    let confirmation = world.factors.confirm(world.session_ref, world.code(&enrolment)).await;

    assert!(matches!(refusal, Err(ConfirmError::WrongCode)));
    assert!(confirmation.is_ok());
}

#[tokio::test]
async fn while_a_factor_is_on_no_other_can_be_enrolled() {
    let world = new_world();
    let (enrolment, _) = world.enable().await;

    let outcome = world.begin().await;
    let confirmed = world.factors.confirm(world.session_ref, world.code(&enrolment)).await;

    assert!(matches!(outcome, Err(EnrolError::AlreadyOn)));
    assert!(matches!(confirmed, Err(ConfirmError::NotPending)));
}

#[tokio::test]
async fn enrolment_fails_if_the_account_is_deleted_meanwhile() {
    let world = new_world();
    world.store.set_meanwhile(Meanwhile::Deleted);

    let outcome = world.begin().await;

    assert!(matches!(outcome, Err(EnrolError::Gone)), "{outcome:?}");
}

/// Asserts that a proof disables an enabled factor, and that these audit entries and emails follow
/// those of its enrolment.
async fn assert_disables(world: &World, proof: ReauthProof, audited: &[&str], emails: &[&str]) {
    world.factors.disable(world.session_ref, proof).await.unwrap();

    assert!(!world.store.has_factor());
    assert_eq!(world.store.audited()[1..], *audited);
    assert_eq!(world.store.emails()[1..], *emails);
    assert_eq!(world.store.wrong_proofs(), 0);
}

#[tokio::test]
async fn the_password_disables_the_factor() {
    let world = new_world();
    world.enable().await;

    let proof = ReauthProof::Password(secret(PASSWORD));
    assert_disables(&world, proof, &["factor.disabled"], &["factor-disabled"]).await;
}

#[tokio::test]
async fn a_code_disables_the_factor() {
    let world = new_world();
    let (enrolment, _) = world.enable().await;

    let proof = by_code(world.code(&enrolment));
    assert_disables(&world, proof, &["factor.disabled"], &["factor-disabled"]).await;
}

#[tokio::test]
async fn a_recovery_code_disables_the_factor_and_its_use_is_reported() {
    let world = new_world();
    let (_, codes) = world.enable().await;

    let audited = ["recovery_code.used", "factor.disabled"];
    let emails = ["recovery-code-used", "factor-disabled"];
    assert_disables(&world, by_recovery_code(&codes[7]), &audited, &emails).await;
}

#[tokio::test]
async fn a_wrong_proof_changes_nothing_and_is_counted() {
    let world = new_world();
    let (_, codes) = world.enable().await;
    let long_code = "x".repeat(10_000);
    let wrong_proofs = [
        ReauthProof::Password(secret("a wrong password")),
        ReauthProof::Password(secret("")),
        ReauthProof::Password(secret(&long_code)),
        by_code(secret("12345")),
        by_code(secret(&long_code)),
        by_recovery_code(&secret("K3V90-0QXZ7-1BCDE-FGHJK-MNPQR")),
        by_recovery_code(&secret(&long_code)),
    ];

    let count = u32::try_from(wrong_proofs.len()).unwrap();
    for proof in wrong_proofs {
        let refusal = world.factors.disable(world.session_ref, proof).await;
        assert!(matches!(refusal, Err(FactorChangeError::WrongProof)), "{refusal:?}");
    }

    assert_eq!(world.store.wrong_proofs(), count);
    assert_eq!(world.store.audited(), ["factor.enabled"]);
    assert_eq!(world.store.code_count(), codes.len());
}

#[tokio::test]
async fn a_code_that_was_used_proves_nothing_again() {
    let world = new_world();
    let (enrolment, codes) = world.enable().await;
    let code = world.code(&enrolment);
    let proof = || by_code(code.clone());

    world.factors.regenerate_codes(world.session_ref, proof()).await.unwrap();
    let replayed = world.factors.regenerate_codes(world.session_ref, proof()).await;
    let old = world.factors.disable(world.session_ref, by_recovery_code(&codes[0])).await;

    assert!(matches!(replayed, Err(FactorChangeError::WrongProof)));
    assert!(matches!(old, Err(FactorChangeError::WrongProof)), "the previous codes are gone");
    assert_eq!(world.store.audited(), ["factor.enabled", "recovery_codes.regenerated"]);
    assert_eq!(world.store.emails(), ["factor-enabled", "recovery-codes-regenerated"]);
}

#[tokio::test]
async fn the_owner_is_emailed_when_a_recovery_code_replaces_the_others() {
    let world = new_world();
    let (_, codes) = world.enable().await;

    world.factors.regenerate_codes(world.session_ref, by_recovery_code(&codes[3])).await.unwrap();

    let emails = ["recovery-code-used", "recovery-codes-regenerated"].map(QueuedEmail::new);
    assert_eq!(world.store.queued_emails()[1..], emails);
    let audited = ["recovery_code.used", "recovery_codes.regenerated"];
    assert_eq!(world.store.audited()[1..], audited);
}

#[tokio::test]
async fn an_authenticator_whose_key_is_lost_is_disabled_by_other_proofs() {
    let world = new_world();
    let (enrolment, codes) = world.enable().await;
    world.store.lose_key();

    let disabled_by_code =
        world.factors.disable(world.session_ref, by_code(world.code(&enrolment))).await;
    let disabled_by_recovery_code =
        world.factors.disable(world.session_ref, by_recovery_code(&codes[0])).await;

    assert!(matches!(disabled_by_code, Err(FactorChangeError::WrongProof)));
    assert!(disabled_by_recovery_code.is_ok());
}

#[tokio::test]
async fn enrolment_requires_the_accounts_password() {
    let world = new_world();

    let without_password = world.factors.begin(world.session_ref, None).await;
    let wrong_password = world.factors.begin(world.session_ref, Some(secret("a guess"))).await;

    assert!(matches!(without_password, Err(EnrolError::Owner(OwnerError::Missing))));
    assert!(matches!(wrong_password, Err(EnrolError::Owner(OwnerError::Wrong))));
    assert_eq!(world.store.wrong_proofs(), 1);
    assert!(!world.store.has_factor());
}

#[tokio::test]
async fn wrong_passwords_at_enrolment_are_limited() {
    let world = new_world();
    for _ in 0..10 {
        world.factors.begin(world.session_ref, Some(secret("a guess"))).await.unwrap_err();
    }

    let right_password = world.begin().await;

    assert!(matches!(right_password, Err(EnrolError::Owner(OwnerError::TooMany { .. }))));
    assert!(!world.store.has_factor());
}

#[tokio::test]
async fn an_account_without_a_password_enrols_right_after_a_sign_in() {
    let world = new_world();
    let now = world.clock.now();
    let begin = async |proved_at| {
        world.store.remove_password(proved_at);
        world.factors.begin(world.session_ref, None).await
    };
    let max_age = Duration::from_mins(10);

    let without_sign_in = begin(None).await;
    let after_old_sign_in = begin(Some(now - max_age - Duration::from_secs(1))).await;
    let after_fresh_sign_in = begin(Some(now - max_age)).await;
    let with_invented_password =
        world.factors.begin(world.session_ref, Some(secret(PASSWORD))).await;

    assert!(matches!(without_sign_in, Err(EnrolError::Owner(OwnerError::SignInAgain))));
    assert!(matches!(after_old_sign_in, Err(EnrolError::Owner(OwnerError::SignInAgain))));
    assert!(after_fresh_sign_in.is_ok());
    assert!(matches!(with_invented_password, Err(EnrolError::Owner(OwnerError::Wrong))));
}
