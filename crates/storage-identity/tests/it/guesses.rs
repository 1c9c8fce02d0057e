//! Contract tests of the counters of password guesses.

use std::time::Duration;

use futures_util::future::join_all;
use pia_identity::{GuessRules, PasswordThrottleStore, RateLimitOutcome};
use pia_kernel::{SideEffects, Timestamp};
use pia_storage::Database;
use pia_storage_identity::SqlPasswordThrottleStore;

use crate::people::{START, count_audited, create_person};

pia_testkit::contract! {
    concurrent_guesses_respect_the_free_number,
    one_of_concurrent_guesses_is_allowed_after_a_wait,
    each_wrong_guess_doubles_the_wait_up_to_a_quarter_of_an_hour,
    a_returned_guess_changes_nothing,
    a_returned_guess_shortens_no_later_wait,
    wrong_guesses_are_counted,
    a_correct_guess_resets_the_counter,
    several_counters_are_reset_with_their_effects,
    the_end_of_the_last_wait_of_several_counters_is_returned,
    guesses_are_forgotten_a_day_after_the_last,
    each_account_is_counted_separately,
    a_clock_that_is_behind_delays_no_free_guess,
    only_old_guesses_are_swept,
}

const RULES: GuessRules = GuessRules {
    free: 5,
    first_wait: Duration::from_secs(1),
    max_wait: Duration::from_mins(15),
    memory: Duration::from_hours(24),
};

/// Makes 64 guesses at once. Returns the number of allowed ones.
async fn guess_concurrently(throttle: &SqlPasswordThrottleStore, now: Timestamp) -> usize {
    let outcomes = join_all((0..64).map(|_| throttle.count("ada", RULES, now))).await;
    outcomes.into_iter().filter(|it| matches!(it, Ok(RateLimitOutcome::Allowed))).count()
}

/// Waits as long as required, and guesses. Returns the wait.
async fn guess(throttle: &SqlPasswordThrottleStore, now: &mut Timestamp) -> Duration {
    match throttle.count("ada", RULES, *now).await.unwrap() {
        RateLimitOutcome::Allowed => Duration::ZERO,
        RateLimitOutcome::Wait(wait) => {
            *now = *now + wait;
            let allowed_outcome = throttle.count("ada", RULES, *now).await.unwrap();
            assert_eq!(allowed_outcome, RateLimitOutcome::Allowed);
            wait
        }
    }
}

async fn concurrent_guesses_respect_the_free_number(db: Database) {
    let throttle = SqlPasswordThrottleStore::new(db);

    let allowed_guesses = guess_concurrently(&throttle, START).await;

    assert_eq!(allowed_guesses, usize::try_from(RULES.free).unwrap());
}

async fn one_of_concurrent_guesses_is_allowed_after_a_wait(db: Database) {
    let throttle = SqlPasswordThrottleStore::new(db);
    guess_concurrently(&throttle, START).await;

    let early_guesses = guess_concurrently(&throttle, START + Duration::from_millis(999)).await;
    let later_guesses = guess_concurrently(&throttle, START + Duration::from_secs(1)).await;
    let repeated_guesses = guess_concurrently(&throttle, START + Duration::from_secs(3)).await;

    assert_eq!(early_guesses, 0);
    assert_eq!(later_guesses, 1);
    assert_eq!(repeated_guesses, 1);
}

async fn each_wrong_guess_doubles_the_wait_up_to_a_quarter_of_an_hour(db: Database) {
    let throttle = SqlPasswordThrottleStore::new(db);
    let expected_waits = [0, 0, 0, 0, 0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 900, 900, 900];

    let mut now = START;
    let mut waits = Vec::new();
    for _ in expected_waits {
        waits.push(guess(&throttle, &mut now).await.as_secs());
    }

    assert_eq!(waits, expected_waits);
}

async fn a_returned_guess_changes_nothing(db: Database) {
    let throttle = SqlPasswordThrottleStore::new(db);
    for _ in 0..10 {
        throttle.count("ada", RULES, START).await.unwrap();
        throttle.give_back("ada", RULES).await.unwrap();
    }
    throttle.give_back("bob", RULES).await.unwrap();
    assert_eq!(guess_concurrently(&throttle, START).await, 5);

    throttle.give_back("ada", RULES).await.unwrap();
    assert_eq!(guess_concurrently(&throttle, START).await, 1);
}

async fn a_returned_guess_shortens_no_later_wait(db: Database) {
    let throttle = SqlPasswordThrottleStore::new(db);
    guess_concurrently(&throttle, START).await;

    let mut now = START;
    let mut waits = vec![guess(&throttle, &mut now).await, guess(&throttle, &mut now).await];
    throttle.give_back("ada", RULES).await.unwrap();
    waits.push(guess(&throttle, &mut now).await);
    waits.push(guess(&throttle, &mut now).await);

    // The returned guess is repeated without a wait, and the next wait is doubled.
    assert_eq!(waits, [1, 2, 0, 4].map(Duration::from_secs));
}

async fn wrong_guesses_are_counted(db: Database) {
    let throttle = SqlPasswordThrottleStore::new(db);
    assert_eq!(throttle.failures("ada").await.unwrap(), 0);

    guess_concurrently(&throttle, START).await;
    throttle.give_back("ada", RULES).await.unwrap();
    assert_eq!(throttle.failures("ada").await.unwrap(), 4);

    throttle.clear("ada").await.unwrap();
    assert_eq!(throttle.failures("ada").await.unwrap(), 0);
}

async fn a_correct_guess_resets_the_counter(db: Database) {
    let throttle = SqlPasswordThrottleStore::new(db);
    guess_concurrently(&throttle, START).await;

    throttle.clear("ada").await.unwrap();
    throttle.clear("ada").await.unwrap();

    assert_eq!(guess_concurrently(&throttle, START).await, 5);
}

async fn several_counters_are_reset_with_their_effects(db: Database) {
    let throttle = SqlPasswordThrottleStore::new(db.clone());
    let user = create_person(&db, "a@b.org").await;
    for key in ["ada", "ada at home", "bob"] {
        throttle.count(key, RULES, START).await.unwrap();
    }

    let keys = ["ada".to_owned(), "ada at home".to_owned(), "nobody".to_owned()];
    throttle.clear_all(&keys, SideEffects::about(START, user, "lifted")).await.unwrap();

    assert_eq!(throttle.failures("ada").await.unwrap(), 0);
    assert_eq!(throttle.failures("ada at home").await.unwrap(), 0);
    assert_eq!(throttle.failures("bob").await.unwrap(), 1);
    assert_eq!(count_audited(&db, user, "lifted").await, 1);
}

async fn the_end_of_the_last_wait_of_several_counters_is_returned(db: Database) {
    let throttle = SqlPasswordThrottleStore::new(db);
    let keys = ["ada".to_owned(), "ada at home".to_owned(), "nobody".to_owned()];
    throttle.count("ada", RULES, START).await.unwrap();
    assert_eq!(throttle.waits_until(&keys).await.unwrap(), None);

    let later_time = START + Duration::from_mins(1);
    for (key, now) in
        [("ada", START), ("ada at home", later_time), ("bob", later_time + RULES.max_wait)]
    {
        for _ in 0..RULES.free {
            throttle.count(key, RULES, now).await.unwrap();
        }
    }
    let waits_until = throttle.waits_until(&keys).await.unwrap();

    assert_eq!(waits_until, Some(later_time + RULES.first_wait));
}

async fn guesses_are_forgotten_a_day_after_the_last(db: Database) {
    let throttle = SqlPasswordThrottleStore::new(db);
    guess_concurrently(&throttle, START).await;

    let last_second = START + RULES.memory - Duration::from_secs(1);
    let allowed_guesses = guess_concurrently(&throttle, last_second).await;
    let allowed_a_day_after_the_first = guess_concurrently(&throttle, START + RULES.memory).await;
    let allowed_later = guess_concurrently(&throttle, START + RULES.memory * 2).await;

    assert_eq!(allowed_guesses, 1);
    assert_eq!(allowed_a_day_after_the_first, 0);
    assert_eq!(allowed_later, 5);
}

async fn each_account_is_counted_separately(db: Database) {
    let throttle = SqlPasswordThrottleStore::new(db);
    guess_concurrently(&throttle, START).await;

    let outcome_of_bob = throttle.count("bob", RULES, START).await.unwrap();

    assert_eq!(outcome_of_bob, RateLimitOutcome::Allowed);
}

async fn a_clock_that_is_behind_delays_no_free_guess(db: Database) {
    let throttle = SqlPasswordThrottleStore::new(db);
    throttle.count("ada", RULES, START + Duration::from_mins(5)).await.unwrap();

    let outcome_of_earlier_guess = throttle.count("ada", RULES, START).await.unwrap();

    assert_eq!(outcome_of_earlier_guess, RateLimitOutcome::Allowed);
}

async fn only_old_guesses_are_swept(db: Database) {
    let throttle = SqlPasswordThrottleStore::new(db);
    guess_concurrently(&throttle, START).await;
    throttle.count("bob", RULES, START - Duration::from_secs(1)).await.unwrap();

    let swept_counters = throttle.sweep(START).await.unwrap();

    assert_eq!(swept_counters, 1);
    assert_eq!(guess_concurrently(&throttle, START).await, 0);
}
