//! Counting guesses at passwords.

use std::time::Duration;

use futures_util::future::join_all;
use pia_identity::{GuessRules, PasswordThrottleStore, RateLimitOutcome};
use pia_kernel::Timestamp;
use pia_storage::Database;
use pia_storage_identity::SqlPasswordThrottleStore;

use crate::people::START;

pia_testkit::contract! {
    of_guesses_at_once_no_more_than_are_free_are_let_through,
    of_guesses_at_once_after_a_wait_one_is_let_through,
    each_wrong_guess_doubles_the_wait_up_to_a_quarter_of_an_hour,
    a_guess_that_nobody_judged_leaves_all_as_it_was,
    wrong_guesses_are_counted,
    a_right_guess_is_forgiven_those_before,
    guesses_are_forgotten_a_day_after_the_last,
    each_is_counted_apart,
    a_clock_that_is_behind_keeps_nobody_out_who_need_not_wait,
    only_old_guesses_are_swept,
}

const RULES: GuessRules = GuessRules {
    free: 5,
    first_wait: Duration::from_secs(1),
    longest_wait: Duration::from_mins(15),
    memory: Duration::from_hours(24),
};

/// Returns the number of guesses that are let through, of 64 at once.
async fn let_through(guesses: &SqlPasswordThrottleStore, now: Timestamp) -> usize {
    let all = join_all((0..64).map(|_| guesses.count("ada", RULES, now))).await;
    all.into_iter().filter(|it| matches!(it, Ok(RateLimitOutcome::Allowed))).count()
}

/// Waits as long as it must, and guesses. Answers how long that was.
async fn guess(guesses: &SqlPasswordThrottleStore, now: &mut Timestamp) -> Duration {
    match guesses.count("ada", RULES, *now).await.unwrap() {
        RateLimitOutcome::Allowed => Duration::ZERO,
        RateLimitOutcome::Wait(wait) => {
            *now = *now + wait;
            let allowed = guesses.count("ada", RULES, *now).await.unwrap();
            assert_eq!(allowed, RateLimitOutcome::Allowed);
            wait
        }
    }
}

async fn of_guesses_at_once_no_more_than_are_free_are_let_through(db: Database) {
    assert_eq!(let_through(&SqlPasswordThrottleStore::new(db), START).await, 5);
}

async fn of_guesses_at_once_after_a_wait_one_is_let_through(db: Database) {
    let guesses = SqlPasswordThrottleStore::new(db);
    let_through(&guesses, START).await;

    let early = let_through(&guesses, START + Duration::from_millis(999)).await;
    let later = let_through(&guesses, START + Duration::from_secs(1)).await;
    let again = let_through(&guesses, START + Duration::from_secs(3)).await;

    assert_eq!((early, later, again), (0, 1, 1));
}

async fn each_wrong_guess_doubles_the_wait_up_to_a_quarter_of_an_hour(db: Database) {
    let (guesses, mut now) = (SqlPasswordThrottleStore::new(db), START);

    let mut waits = Vec::new();
    for _ in 0..18 {
        waits.push(guess(&guesses, &mut now).await.as_secs());
    }

    let doubled = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 900, 900, 900];
    assert_eq!(waits, [&[0; 5][..], &doubled[..]].concat());
}

async fn a_guess_that_nobody_judged_leaves_all_as_it_was(db: Database) {
    let (guesses, mut now) = (SqlPasswordThrottleStore::new(db), START);

    for _ in 0..10 {
        guesses.count("ada", RULES, now).await.unwrap();
        guesses.give_back("ada", RULES).await.unwrap();
    }
    guesses.give_back("bob", RULES).await.unwrap();
    let at_first = let_through(&guesses, now).await;
    guesses.give_back("ada", RULES).await.unwrap();
    let once_more = let_through(&guesses, now).await;
    let waits = [guess(&guesses, &mut now).await, guess(&guesses, &mut now).await];
    guesses.give_back("ada", RULES).await.unwrap();
    let same_again = guess(&guesses, &mut now).await;
    let next = guess(&guesses, &mut now).await;

    assert_eq!((at_first, once_more), (5, 1));
    assert_eq!(waits.map(|it| it.as_secs()), [1, 2]);
    assert_eq!((same_again.as_secs(), next.as_secs()), (0, 4));
}

async fn wrong_guesses_are_counted(db: Database) {
    let guesses = SqlPasswordThrottleStore::new(db);
    let at_first = guesses.failures("ada").await.unwrap();
    let_through(&guesses, START).await;
    guesses.give_back("ada", RULES).await.unwrap();

    assert_eq!((at_first, guesses.failures("ada").await.unwrap()), (0, 4));
    guesses.clear("ada").await.unwrap();
    assert_eq!(guesses.failures("ada").await.unwrap(), 0);
}

async fn a_right_guess_is_forgiven_those_before(db: Database) {
    let guesses = SqlPasswordThrottleStore::new(db);
    let_through(&guesses, START).await;

    guesses.clear("ada").await.unwrap();
    guesses.clear("ada").await.unwrap();

    assert_eq!(let_through(&guesses, START).await, 5);
}

async fn guesses_are_forgotten_a_day_after_the_last(db: Database) {
    let guesses = SqlPasswordThrottleStore::new(db);
    let_through(&guesses, START).await;
    let day = Duration::from_hours(24);

    let early = let_through(&guesses, START + day - Duration::from_secs(1)).await;
    let too_early = let_through(&guesses, START + day).await;
    let forgotten = let_through(&guesses, START + day * 2).await;

    assert_eq!((early, too_early, forgotten), (1, 0, 5));
}

async fn each_is_counted_apart(db: Database) {
    let guesses = SqlPasswordThrottleStore::new(db);
    let_through(&guesses, START).await;

    let bobs = guesses.count("bob", RULES, START).await.unwrap();

    assert_eq!(bobs, RateLimitOutcome::Allowed);
}

async fn a_clock_that_is_behind_keeps_nobody_out_who_need_not_wait(db: Database) {
    let guesses = SqlPasswordThrottleStore::new(db);
    guesses.count("ada", RULES, START + Duration::from_mins(5)).await.unwrap();

    let behind = guesses.count("ada", RULES, START).await.unwrap();

    assert_eq!(behind, RateLimitOutcome::Allowed);
}

async fn only_old_guesses_are_swept(db: Database) {
    let guesses = SqlPasswordThrottleStore::new(db);
    let_through(&guesses, START).await;
    guesses.count("bob", RULES, START - Duration::from_secs(1)).await.unwrap();

    let swept = guesses.sweep(START).await.unwrap();

    assert_eq!((swept, let_through(&guesses, START).await), (1, 0));
}
