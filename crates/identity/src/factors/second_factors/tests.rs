//! Putting a second factor on, taking it off, and what proves it.

use std::sync::Arc;

use pia_kernel::{Clock, SessionId};
use pia_testkit::ManualClock;
use totp_rs::{Builder, Secret as TotpSecret};

use super::*;
use crate::fakes::{Factors, Meanwhile, PASSWORD};
use crate::people::account::CallerState;
use crate::ports::MockAccountStore;

/// A time like any other.
const START: u64 = 1_800_000_015;

struct World {
    stored: Arc<Factors>,
    factors: SecondFactors,
    caller_cache: CallerCache,
    clock: Arc<ManualClock>,
    session_ref: SessionRef,
}

fn world() -> World {
    let stored = Arc::<Factors>::default();
    let start = Timestamp::UNIX_EPOCH + Duration::from_secs(START);
    let clock = Arc::new(ManualClock::new(start));
    let mut accounts = MockAccountStore::new();
    accounts
        .expect_standing()
        .returning(|user, session, _| Ok(Some(CallerState::new(user, session))));
    let caller_cache = CallerCache::new(Arc::new(accounts), Arc::<ManualClock>::clone(&clock));
    let factors =
        SecondFactors::new(stored.proofs(Arc::<ManualClock>::clone(&clock)), caller_cache.clone());
    let session_ref = SessionRef { user: UserId::generate(), session: SessionId::generate() };
    World { stored, factors, caller_cache, clock, session_ref }
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
    fn code(&self, presented: &Enrolment) -> Secret<String> {
        let key = TotpSecret::try_from_base32(presented.secret.expose()).unwrap();
        let app = Builder::new().with_secret(key).build().unwrap();
        let now = u64::try_from(self.clock.now().micros() / 1_000_000).unwrap();
        secret(&app.generate(now).to_string())
    }

    /// A factor that is on, half a minute ago.
    async fn on(&self) -> (Enrolment, Vec<Secret<String>>) {
        let presented = self.begin().await.unwrap();
        let codes = self.factors.confirm(self.session_ref, self.code(&presented)).await.unwrap();
        self.clock.advance(Duration::from_secs(30));
        (presented, codes.0)
    }
}

#[tokio::test]
async fn a_factor_is_on_once_its_first_code_was_seen() {
    let world = world();
    world.caller_cache.fresh(world.session_ref).await.unwrap();

    let presented = world.begin().await.unwrap();
    let before =
        world.factors.disable(world.session_ref, ReauthProof::Password(secret(PASSWORD))).await;
    let codes = world.factors.confirm(world.session_ref, world.code(&presented)).await.unwrap();

    assert!(matches!(before, Err(FactorChangeError::NotOn)));
    assert_eq!(codes.0.len(), 10);
    assert_eq!(world.stored.audited(), ["factor.enabled"]);
    assert_eq!(world.stored.letters(), ["factor-enabled"]);
    assert_eq!(world.stored.state.lock().unwrap().stored, Some(world.session_ref.session));
    assert_eq!(world.caller_cache.cached(world.session_ref), None, "the gates look anew");
    assert_eq!(world.stored.wrong(), 0);
}

#[tokio::test]
async fn only_hashes_of_recovery_codes_and_a_sealed_secret_are_stored() {
    let world = world();

    let (_, codes) = world.on().await;

    let state = world.stored.state.lock().unwrap();
    let expected: Vec<_> = codes
        .iter()
        .filter_map(|it| factors::recovery_codes::hash(world.session_ref.user, it))
        .collect();
    assert_eq!(state.codes, expected);
    assert!(state.factor.as_ref().unwrap().sealed.starts_with(world.session_ref.user.0.as_bytes()));
}

#[tokio::test]
async fn a_wrong_code_puts_nothing_on_and_is_counted() {
    let world = world();
    let presented = world.begin().await.unwrap();
    let code = world.code(&presented);
    let wrong = if code.expose() == "123456" { "654321" } else { "123456" };

    for text in [wrong, "", "nonsense"] {
        let refused = world.factors.confirm(world.session_ref, secret(text)).await;
        assert!(matches!(refused, Err(ConfirmError::WrongCode)), "{text}");
    }

    assert_eq!((world.stored.wrong(), world.stored.audited()), (3, vec![]));
}

#[tokio::test]
async fn wrong_codes_are_limited_and_the_wait_is_reported() {
    let world = world();
    let presented = world.begin().await.unwrap();
    for _ in 0..10 {
        world.factors.confirm(world.session_ref, secret("nonsense")).await.unwrap_err();
    }

    let refused = world.factors.confirm(world.session_ref, world.code(&presented)).await;

    let wait = Duration::from_secs(90);
    assert!(matches!(refused, Err(ConfirmError::TooMany { wait: reported }) if reported == wait));
}

#[tokio::test]
async fn a_secret_waits_a_quarter_of_an_hour_for_its_code() {
    let world = world();
    let nothing = world.factors.confirm(world.session_ref, secret("123456")).await;
    let presented = world.begin().await.unwrap();
    world.clock.advance(Duration::from_mins(15));

    let late = world.factors.confirm(world.session_ref, world.code(&presented)).await;

    assert!(matches!(nothing, Err(ConfirmError::NotBegun)));
    assert!(matches!(late, Err(ConfirmError::NotBegun)));
}

#[tokio::test]
async fn a_second_beginning_takes_the_place_of_the_first() {
    let world = world();
    let first = world.begin().await.unwrap();
    let second = world.begin().await.unwrap();

    let refused = world.factors.confirm(world.session_ref, world.code(&first)).await;
    let taken = world.factors.confirm(world.session_ref, world.code(&second)).await;

    assert!(matches!(refused, Err(ConfirmError::WrongCode)));
    assert!(taken.is_ok());
}

#[tokio::test]
async fn while_a_factor_is_on_none_is_begun_or_confirmed() {
    let world = world();
    let (presented, _) = world.on().await;

    let begun = world.begin().await;
    let confirmed = world.factors.confirm(world.session_ref, world.code(&presented)).await;

    assert!(matches!(begun, Err(EnrolError::AlreadyOn)));
    assert!(matches!(confirmed, Err(ConfirmError::NotBegun)));
}

#[tokio::test]
async fn whoever_is_deleted_while_they_begin_is_reported_as_gone() {
    let world = world();
    world.stored.state.lock().unwrap().meanwhile = Some(Meanwhile::Deleted);

    let begun = world.begin().await;

    assert!(matches!(begun, Err(EnrolError::Gone)), "{begun:?}");
}

#[tokio::test]
async fn any_fresh_proof_takes_the_factor_off() {
    for number in 0..3 {
        let world = world();
        let (presented, codes) = world.on().await;
        let (action, letter) = ("factor.disabled", "factor-disabled");
        let (proof, audited, letters) = match number {
            0 => (ReauthProof::Password(secret(PASSWORD)), vec![action], vec![letter]),
            1 => (by_code(world.code(&presented)), vec![action], vec![letter]),
            _ => (
                by_recovery_code(&codes[7]),
                vec!["recovery_code.used", action],
                vec!["recovery-code-used", letter],
            ),
        };

        world.factors.disable(world.session_ref, proof).await.unwrap();

        assert!(world.stored.state.lock().unwrap().factor.is_none());
        assert_eq!(world.stored.audited()[1..], audited);
        assert_eq!(world.stored.letters()[1..], letters);
        assert_eq!(world.stored.wrong(), 0);
    }
}

#[tokio::test]
async fn a_wrong_proof_changes_nothing_and_is_counted() {
    let world = world();
    let (_, codes) = world.on().await;
    let long = "x".repeat(10_000);
    let wrong = [
        ReauthProof::Password(secret("a wrong password")),
        ReauthProof::Password(secret("")),
        ReauthProof::Password(secret(&long)),
        by_code(secret("12345")),
        by_code(secret(&long)),
        by_recovery_code(&secret("K3V90-0QXZ7-1BCDE-FGHJK-MNPQR")),
        by_recovery_code(&secret(&long)),
    ];

    let count = u32::try_from(wrong.len()).unwrap();
    for proof in wrong {
        let refused = world.factors.disable(world.session_ref, proof).await;
        assert!(matches!(refused, Err(FactorChangeError::WrongProof)), "{refused:?}");
    }

    assert_eq!(world.stored.wrong(), count);
    assert_eq!(world.stored.audited(), ["factor.enabled"]);
    assert_eq!(world.stored.state.lock().unwrap().codes.len(), codes.len());
}

#[tokio::test]
async fn a_code_that_was_used_proves_nothing_again() {
    let world = world();
    let (presented, codes) = world.on().await;
    let code = world.code(&presented);
    let proof = || by_code(code.clone());

    world.factors.regenerate_codes(world.session_ref, proof()).await.unwrap();
    let replayed = world.factors.regenerate_codes(world.session_ref, proof()).await;
    let old = world.factors.disable(world.session_ref, by_recovery_code(&codes[0])).await;

    assert!(matches!(replayed, Err(FactorChangeError::WrongProof)));
    assert!(matches!(old, Err(FactorChangeError::WrongProof)), "the codes before are gone");
    assert_eq!(world.stored.audited(), ["factor.enabled", "recovery_codes.regenerated"]);
    assert_eq!(world.stored.letters(), ["factor-enabled", "recovery-codes-regenerated"]);
}

#[tokio::test]
async fn the_owner_is_informed_that_a_recovery_code_made_new_ones() {
    let world = world();
    let (_, codes) = world.on().await;

    world.factors.regenerate_codes(world.session_ref, by_recovery_code(&codes[3])).await.unwrap();

    let letters = ["recovery-code-used", "recovery-codes-regenerated"].map(QueuedEmail::new);
    assert_eq!(world.stored.state.lock().unwrap().letters[1..], letters);
    let audited = ["recovery_code.used", "recovery_codes.regenerated"];
    assert_eq!(world.stored.audited()[1..], audited);
}

#[tokio::test]
async fn with_its_key_lost_an_authenticator_is_taken_off_by_other_proofs() {
    let world = world();
    let (presented, codes) = world.on().await;
    world.stored.state.lock().unwrap().key_lost = true;

    let by_app = world.factors.disable(world.session_ref, by_code(world.code(&presented))).await;
    let by_paper = world.factors.disable(world.session_ref, by_recovery_code(&codes[0])).await;

    assert!(matches!(by_app, Err(FactorChangeError::WrongProof)));
    assert!(by_paper.is_ok());
}

#[tokio::test]
async fn nobody_begins_without_the_accounts_password() {
    let world = world();

    let silent = world.factors.begin(world.session_ref, None).await;
    let guessed = world.factors.begin(world.session_ref, Some(secret("a guess"))).await;
    let counted = world.stored.wrong();
    for _ in 1..10 {
        world.factors.begin(world.session_ref, Some(secret("a guess"))).await.unwrap_err();
    }
    let late = world.begin().await;

    assert!(matches!(silent, Err(EnrolError::Owner(OwnerError::Missing))));
    assert!(matches!(guessed, Err(EnrolError::Owner(OwnerError::Wrong))));
    assert_eq!(counted, 1);
    assert!(matches!(late, Err(EnrolError::Owner(OwnerError::TooMany { .. }))));
    assert!(world.stored.state.lock().unwrap().factor.is_none());
}

#[tokio::test]
async fn an_account_without_a_password_begins_right_after_a_sign_in() {
    let world = world();
    let now = world.clock.now();
    let begin = async |began_at| {
        world.stored.has_no_password(began_at);
        world.factors.begin(world.session_ref, None).await
    };
    let (fresh, old) = (now - Duration::from_mins(10), now - Duration::from_secs(601));

    let over = begin(None).await;
    let late = begin(Some(old)).await;
    let in_time = begin(Some(fresh)).await;
    let invented = world.factors.begin(world.session_ref, Some(secret(PASSWORD))).await;

    assert!(matches!(over, Err(EnrolError::Owner(OwnerError::SignInAgain))));
    assert!(matches!(late, Err(EnrolError::Owner(OwnerError::SignInAgain))));
    assert!(in_time.is_ok());
    assert!(matches!(invented, Err(EnrolError::Owner(OwnerError::Wrong))));
}
