//! Tests of challenges for the second factor.

use std::time::Duration;

use pia_kernel::{Clock, QueuedEmail, Timestamp};
use pia_testkit::ManualClock;
use totp_rs::{Builder, Secret as TotpSecret};

use super::*;
use crate::factors;
use crate::factors::proofs::PURPOSE;
use crate::fakes::{InMemoryFactors, Meanwhile, account};
use crate::ports::{Factor, FactorState, SecretBox, Step};

const KEY: [u8; 20] = *b"12345678901234567890";
/// Start of the clock in seconds: the middle of a code's step.
const START_SECONDS: u64 = 1_800_000_015;
/// Seconds for which the app displays a code.
const STEP_SECONDS: i64 = 30;
const MICROS_PER_SECOND: i64 = 1_000_000;
const RECOVERY: &str = "K3V90-0QXZ7-1BCDE-FGHJK-MNPQR";

struct World {
    store: Arc<InMemoryFactors>,
    challenges: FactorChallenges,
    clock: Arc<ManualClock>,
    user: UserId,
}

/// Returns a world whose user's factor is on, with one recovery code left.
async fn new_world() -> World {
    let store = Arc::<InMemoryFactors>::default();
    let start = Timestamp::UNIX_EPOCH + Duration::from_secs(START_SECONDS);
    let clock = Arc::new(ManualClock::new(start));
    let challenges = store.challenges(Arc::<ManualClock>::clone(&clock));
    let user = UserId::generate();
    let sealed_key = store.seal(user, PURPOSE, &Secret::new(KEY.to_vec())).await.unwrap().unwrap();
    {
        let mut state = store.state();
        state.factor = Some(Factor { sealed: sealed_key, state: FactorState::On });
        state.codes.extend(factors::recovery_codes::hash(user, &secret(RECOVERY)));
    }
    World { store, challenges, clock, user }
}

fn secret(text: &str) -> Secret<String> {
    Secret::new(text.to_owned())
}

impl World {
    /// Returns the code that the app displays this many steps from now.
    fn code(&self, steps: i64) -> FactorAnswer {
        let app = Builder::new().with_secret(TotpSecret::from(KEY)).build().unwrap();
        let at = self.seconds() + steps * STEP_SECONDS;
        FactorAnswer::Code(secret(&app.generate(u64::try_from(at).unwrap()).to_string()))
    }

    fn seconds(&self) -> i64 {
        self.clock.now().micros() / MICROS_PER_SECOND
    }

    async fn token(&self) -> Secret<String> {
        self.challenges.challenge(&account(self.user)).await.unwrap()
    }

    async fn meet(
        &self,
        token: &Secret<String>,
        answer: FactorAnswer,
    ) -> Result<Account, ChallengeError> {
        self.challenges.meet(token, &answer).await
    }
}

fn is_gone(outcome: &Result<Account, ChallengeError>) -> bool {
    matches!(outcome, Err(ChallengeError::Gone))
}

fn is_wrong(outcome: &Result<Account, ChallengeError>) -> bool {
    matches!(outcome, Err(ChallengeError::Wrong { .. }))
}

#[tokio::test]
async fn no_challenge_is_opened_if_the_credentials_changed_meanwhile() {
    let world = new_world().await;
    world.store.set_meanwhile(Meanwhile::Changed);

    let refusal = world.challenges.challenge(&account(world.user)).await;

    assert!(matches!(refusal, Err(StartError::Stale)), "{refusal:?}");
}

#[tokio::test]
async fn a_code_meets_a_challenge_once() {
    let world = new_world().await;
    let token = world.token().await;

    let met = world.meet(&token, world.code(0)).await;
    let again = world.meet(&token, world.code(1)).await;

    assert_eq!(met.unwrap().user, world.user);
    assert!(is_gone(&again));
    assert_eq!(world.store.wrong_answers(), 0);
}

#[tokio::test]
async fn a_clock_may_be_off_by_one_step_but_not_by_two() {
    for (steps, accepted) in [(-2, false), (-1, true), (0, true), (1, true), (2, false)] {
        let world = new_world().await;
        let token = world.token().await;

        let met = world.meet(&token, world.code(steps)).await;

        assert_eq!(met.is_ok(), accepted, "{steps}");
        assert_eq!(is_wrong(&met), !accepted, "{steps}");
    }
}

#[tokio::test]
async fn a_code_that_was_used_or_an_older_one_is_wrong() {
    let world = new_world().await;
    let used_token = world.token().await;
    let token = world.token().await;
    world.meet(&used_token, world.code(0)).await.unwrap();

    assert!(is_wrong(&world.meet(&token, world.code(0)).await));
    assert!(is_wrong(&world.meet(&token, world.code(-1)).await));
    assert!(world.meet(&token, world.code(1)).await.is_ok());
    let next_step = world.seconds() / STEP_SECONDS + 1;
    assert_eq!(world.store.state().last_step, Some(Step(next_step)));
}

#[tokio::test]
async fn a_recovery_code_meets_a_challenge_once_and_that_is_audited() {
    let world = new_world().await;
    let phone_token = world.token().await;
    let laptop_token = world.token().await;
    let answer = || FactorAnswer::RecoveryCode(secret("k3v90 0qxz7 1bcde fghjk mnpqr"));

    let met = world.meet(&phone_token, answer()).await;
    let again = world.meet(&laptop_token, answer()).await;

    assert!(met.is_ok());
    assert!(is_wrong(&again));
    assert_eq!(world.store.audited(), ["recovery_code.used"]);
    let codes_left = world.store.state().codes.len().to_string();
    let email = QueuedEmail::new("recovery-code-used").with("left", codes_left);
    assert_eq!(world.store.state().emails, [email]);
}

#[tokio::test]
async fn a_challenge_lives_five_minutes() {
    let world = new_world().await;
    let punctual_token = world.token().await;
    let late_token = world.token().await;

    world.clock.advance(Duration::from_mins(5) - Duration::from_secs(1));
    let in_time = world.meet(&punctual_token, world.code(0)).await;
    world.clock.advance(Duration::from_secs(1));
    let late = world.meet(&late_token, world.code(0)).await;

    assert!(in_time.is_ok());
    assert!(is_gone(&late));
}

#[tokio::test]
async fn a_challenge_is_tried_five_times() {
    let world = new_world().await;
    let token = world.token().await;

    for _ in 0..5 {
        assert!(is_wrong(&world.meet(&token, FactorAnswer::Code(secret("nonsense"))).await));
    }

    assert!(is_gone(&world.meet(&token, world.code(0)).await));
    assert_eq!(world.store.wrong_answers(), 5);
}

#[tokio::test]
async fn the_owner_is_warned_of_the_fifth_wrong_code_once_a_day() {
    let world = new_world().await;
    let mut warned = Vec::new();
    for _ in 0..7 {
        let token = world.token().await;
        let nonsense = FactorAnswer::Code(secret("nonsense"));
        match world.meet(&token, nonsense).await.unwrap_err() {
            ChallengeError::Wrong { warn, .. } => warned.push(warn),
            // Simulates the end of the delay.
            _ => world.store.give_back("", GuessRules::default()).await.unwrap(),
        }
    }
    assert_eq!(warned, [false, false, false, false, true, false]);
}

#[tokio::test]
async fn wrong_codes_delay_the_next_without_using_up_its_attempts() {
    let world = new_world().await;
    let token = world.token().await;
    for _ in 0..5 {
        world.meet(&token, FactorAnswer::Code(secret("nonsense"))).await.unwrap_err();
    }
    let token = world.token().await;

    for _ in 0..7 {
        let refusal = world.meet(&token, world.code(0)).await;
        let err = refusal.unwrap_err();
        assert!(matches!(err, ChallengeError::TooMany { .. }), "{err}");
    }

    assert!(world.store.state().challenges.values().any(|(_, tries)| *tries == 0));
}

#[tokio::test]
async fn an_unknown_token_is_gone_and_counts_for_no_account() {
    let world = new_world().await;

    for text in ["", "nonsense", &"x".repeat(10_000)] {
        assert!(is_gone(&world.meet(&secret(text), world.code(0)).await), "{text}");
    }

    assert_eq!(world.store.wrong_answers(), 0);
}

#[tokio::test]
async fn a_disabled_factor_meets_no_challenge() {
    let world = new_world().await;
    let token = world.token().await;
    world.store.state().factor = None;

    let met = world.meet(&token, world.code(0)).await;

    assert!(is_gone(&met));
}

#[tokio::test]
async fn a_correct_code_reseals_its_secret_after_a_key_change() {
    for is_key_changed in [false, true] {
        let world = new_world().await;
        let token = world.token().await;
        let wrong_answer = FactorAnswer::Code(secret("nonsense"));
        world.store.state().key_changed = is_key_changed;

        world.meet(&token, wrong_answer).await.unwrap_err();
        let count_after_wrong = world.store.state().resealed.len();
        world.meet(&token, world.code(0)).await.unwrap();

        let count_after_right = world.store.state().resealed.len();
        assert_eq!(count_after_wrong, 0);
        assert_eq!(count_after_right, usize::from(is_key_changed));
    }
}

#[tokio::test]
async fn only_a_hash_of_the_token_is_stored() {
    let world = new_world().await;

    let token = world.token().await;

    let state = world.store.state();
    let stored_hashes: Vec<_> = state.challenges.keys().collect();
    assert_eq!(stored_hashes, [&token_hash::of_ours(&token)]);
    assert_ne!(stored_hashes[0].0[..], token.expose().as_bytes()[..32]);
}
