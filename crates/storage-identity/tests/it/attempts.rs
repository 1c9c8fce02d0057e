//! Contract tests of the rate limits of sign-in attempts.

use std::time::Duration;

use futures_util::future::join_all;
use pia_identity::{RateLimitOutcome, RateLimitStore, RateQuota};
use pia_storage::Database;
use pia_storage_identity::SqlRateLimitStore;

use crate::people::START;

pia_testkit::contract! {
    concurrent_attempts_respect_the_limit,
    an_empty_bucket_reports_when_it_refills,
    a_returned_attempt_can_be_made_again,
    returning_to_a_full_bucket_does_not_enlarge_it,
    only_full_buckets_are_swept,
    extreme_times_and_quotas_do_not_overflow,
}

const TEN_A_MINUTE: RateQuota = RateQuota { burst: 10, window: Duration::from_mins(1) };

/// Returns the number of allowed attempts, of 64 concurrent ones.
async fn count_allowed(attempts: &SqlRateLimitStore) -> usize {
    let outcomes = join_all((0..64).map(|_| attempts.attempt("ip:1", TEN_A_MINUTE, START))).await;
    outcomes.into_iter().filter(|it| matches!(it, Ok(RateLimitOutcome::Allowed))).count()
}

async fn concurrent_attempts_respect_the_limit(db: Database) {
    let attempts = SqlRateLimitStore::new(db);

    assert_eq!(count_allowed(&attempts).await, 10);
}

async fn an_empty_bucket_reports_when_it_refills(db: Database) {
    let attempts = SqlRateLimitStore::new(db);
    for _ in 0..10 {
        attempts.attempt("ip:1", TEN_A_MINUTE, START).await.unwrap();
    }

    let wait = Duration::from_secs(6);
    let refused_outcome = attempts.attempt("ip:1", TEN_A_MINUTE, START).await.unwrap();
    let later_outcome = attempts.attempt("ip:1", TEN_A_MINUTE, START + wait).await.unwrap();

    assert_eq!(refused_outcome, RateLimitOutcome::Wait(wait));
    assert_eq!(later_outcome, RateLimitOutcome::Allowed);
}

async fn a_returned_attempt_can_be_made_again(db: Database) {
    let attempts = SqlRateLimitStore::new(db);
    count_allowed(&attempts).await;

    join_all((0..3).map(|_| attempts.give_back("ip:1", TEN_A_MINUTE, START))).await;

    assert_eq!(count_allowed(&attempts).await, 3);
}

async fn returning_to_a_full_bucket_does_not_enlarge_it(db: Database) {
    let attempts = SqlRateLimitStore::new(db);
    attempts.attempt("ip:1", TEN_A_MINUTE, START).await.unwrap();

    for _ in 0..5 {
        attempts.give_back("ip:1", TEN_A_MINUTE, START).await.unwrap();
        attempts.give_back("ip:2", TEN_A_MINUTE, START).await.unwrap();
    }

    assert_eq!(count_allowed(&attempts).await, 10);
}

async fn only_full_buckets_are_swept(db: Database) {
    let attempts = SqlRateLimitStore::new(db);
    attempts.attempt("full", TEN_A_MINUTE, START).await.unwrap();
    let later_time = START + Duration::from_secs(6);
    for _ in 0..10 {
        attempts.attempt("empty", TEN_A_MINUTE, later_time).await.unwrap();
    }

    let swept = attempts.sweep(later_time).await.unwrap();

    let refused_outcome = attempts.attempt("empty", TEN_A_MINUTE, later_time).await.unwrap();
    assert_eq!(swept, 1);
    assert_eq!(refused_outcome, RateLimitOutcome::Wait(Duration::from_secs(6)));
}

async fn extreme_times_and_quotas_do_not_overflow(db: Database) {
    let attempts = SqlRateLimitStore::new(db);
    let endless = RateQuota { burst: 0, window: Duration::MAX };

    let first_outcome = attempts.attempt("ip:1", endless, START).await.unwrap();
    let second_outcome = attempts.attempt("ip:1", endless, START).await.unwrap();

    assert_eq!(first_outcome, RateLimitOutcome::Allowed);
    assert!(matches!(second_outcome, RateLimitOutcome::Wait(_)), "{second_outcome:?}");
}
