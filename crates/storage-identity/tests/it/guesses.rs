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

/// Returns the number of allowed guesses, of 64 concurrent ones.
async fn allowed_guesses(guesses: &SqlPasswordThrottleStore, now: Timestamp) -> usize {
    let outcomes = join_all((0..64).map(|_| guesses.count("ada", RULES, now))).await;
    outcomes.into_iter().filter(|it| matches!(it, Ok(RateLimitOutcome::Allowed))).count()
}

/// Waits as long as required, and guesses. Returns the wait.
async fn guess(guesses: &SqlPasswordThrottleStore, now: &mut Timestamp) -> Duration {
    match guesses.count("ada", RULES, *now).await.unwrap() {
        RateLimitOutcome::Allowed => Duration::ZERO,
        RateLimitOutcome::Wait(wait) => {
            *now = *now + wait;
            let allowed_outcome = guesses.count("ada", RULES, *now).await.unwrap();
            assert_eq!(allowed_outcome, RateLimitOutcome::Allowed);
            wait
        }
    }
}

async fn concurrent_guesses_respect_the_free_number(db: Database) {
    assert_eq!(allowed_guesses(&SqlPasswordThrottleStore::new(db), START).await, 5);
}

async fn one_of_concurrent_guesses_is_allowed_after_a_wait(db: Database) {
    let guesses = SqlPasswordThrottleStore::new(db);
    allowed_guesses(&guesses, START).await;

    let early_guesses = allowed_guesses(&guesses, START + Duration::from_millis(999)).await;
    let later_guesses = allowed_guesses(&guesses, START + Duration::from_secs(1)).await;
    let repeated_guesses = allowed_guesses(&guesses, START + Duration::from_secs(3)).await;

    assert_eq!(early_guesses, 0);
    assert_eq!(later_guesses, 1);
    assert_eq!(repeated_guesses, 1);
}

async fn each_wrong_guess_doubles_the_wait_up_to_a_quarter_of_an_hour(db: Database) {
    let guesses = SqlPasswordThrottleStore::new(db);
    let mut now = START;

    let mut waits = Vec::new();
    for _ in 0..18 {
        waits.push(guess(&guesses, &mut now).await.as_secs());
    }

    let doubled = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 900, 900, 900];
    assert_eq!(waits, [&[0; 5][..], &doubled[..]].concat());
}

async fn a_returned_guess_changes_nothing(db: Database) {
    let guesses = SqlPasswordThrottleStore::new(db);
    let mut now = START;

    for _ in 0..10 {
        guesses.count("ada", RULES, now).await.unwrap();
        guesses.give_back("ada", RULES).await.unwrap();
    }
    guesses.give_back("bob", RULES).await.unwrap();
    let at_first = allowed_guesses(&guesses, now).await;
    guesses.give_back("ada", RULES).await.unwrap();
    let once_more = allowed_guesses(&guesses, now).await;
    let waits = [guess(&guesses, &mut now).await, guess(&guesses, &mut now).await];
    guesses.give_back("ada", RULES).await.unwrap();
    let same_again = guess(&guesses, &mut now).await;
    let next = guess(&guesses, &mut now).await;

    assert_eq!(at_first, 5);
    assert_eq!(once_more, 1);
    assert_eq!(waits.map(|it| it.as_secs()), [1, 2]);
    assert_eq!(same_again.as_secs(), 0);
    assert_eq!(next.as_secs(), 4);
}

async fn wrong_guesses_are_counted(db: Database) {
    let guesses = SqlPasswordThrottleStore::new(db);
    let at_first = guesses.failures("ada").await.unwrap();
    allowed_guesses(&guesses, START).await;
    guesses.give_back("ada", RULES).await.unwrap();

    assert_eq!(at_first, 0);
    assert_eq!(guesses.failures("ada").await.unwrap(), 4);
    guesses.clear("ada").await.unwrap();
    assert_eq!(guesses.failures("ada").await.unwrap(), 0);
}

async fn a_correct_guess_resets_the_counter(db: Database) {
    let guesses = SqlPasswordThrottleStore::new(db);
    allowed_guesses(&guesses, START).await;

    guesses.clear("ada").await.unwrap();
    guesses.clear("ada").await.unwrap();

    assert_eq!(allowed_guesses(&guesses, START).await, 5);
}

async fn several_counters_are_reset_with_their_effects(db: Database) {
    let guesses = SqlPasswordThrottleStore::new(db.clone());
    let user = create_person(&db, "a@b.org").await;
    for key in ["ada", "ada at home", "bob"] {
        guesses.count(key, RULES, START).await.unwrap();
    }

    let keys = ["ada".to_owned(), "ada at home".to_owned(), "nobody".to_owned()];
    guesses.clear_all(&keys, SideEffects::about(START, user, "lifted")).await.unwrap();

    let mut left = Vec::new();
    for key in ["ada", "ada at home", "bob"] {
        left.push(guesses.failures(key).await.unwrap());
    }
    assert_eq!(left, [0, 0, 1]);
    assert_eq!(count_audited(&db, user, "lifted").await, 1);
}

async fn the_end_of_the_last_wait_of_several_counters_is_returned(db: Database) {
    let guesses = SqlPasswordThrottleStore::new(db);
    let keys = ["ada".to_owned(), "ada at home".to_owned(), "nobody".to_owned()];
    guesses.count("ada", RULES, START).await.unwrap();
    let without_a_wait = guesses.waits_until(&keys).await.unwrap();

    let later_time = START + Duration::from_mins(1);
    for (key, now) in
        [("ada", START), ("ada at home", later_time), ("bob", later_time + RULES.max_wait)]
    {
        for _ in 0..RULES.free {
            guesses.count(key, RULES, now).await.unwrap();
        }
    }
    let waits_until = guesses.waits_until(&keys).await.unwrap();

    assert_eq!(without_a_wait, None);
    assert_eq!(waits_until, Some(later_time + RULES.first_wait));
}

async fn guesses_are_forgotten_a_day_after_the_last(db: Database) {
    let guesses = SqlPasswordThrottleStore::new(db);
    allowed_guesses(&guesses, START).await;
    let day = Duration::from_hours(24);

    let early_guesses = allowed_guesses(&guesses, START + day - Duration::from_secs(1)).await;
    let too_early = allowed_guesses(&guesses, START + day).await;
    let forgotten = allowed_guesses(&guesses, START + day * 2).await;

    assert_eq!(early_guesses, 1);
    assert_eq!(too_early, 0);
    assert_eq!(forgotten, 5);
}

async fn each_account_is_counted_separately(db: Database) {
    let guesses = SqlPasswordThrottleStore::new(db);
    allowed_guesses(&guesses, START).await;

    let bobs = guesses.count("bob", RULES, START).await.unwrap();

    assert_eq!(bobs, RateLimitOutcome::Allowed);
}

async fn a_clock_that_is_behind_delays_no_free_guess(db: Database) {
    let guesses = SqlPasswordThrottleStore::new(db);
    guesses.count("ada", RULES, START + Duration::from_mins(5)).await.unwrap();

    let behind = guesses.count("ada", RULES, START).await.unwrap();

    assert_eq!(behind, RateLimitOutcome::Allowed);
}

async fn only_old_guesses_are_swept(db: Database) {
    let guesses = SqlPasswordThrottleStore::new(db);
    allowed_guesses(&guesses, START).await;
    guesses.count("bob", RULES, START - Duration::from_secs(1)).await.unwrap();

    let swept = guesses.sweep(START).await.unwrap();

    assert_eq!(swept, 1);
    assert_eq!(allowed_guesses(&guesses, START).await, 0);
}
