//! Choice of the next of several keys.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use pia_kernel::Secret;

use crate::ports::UpstreamError;

/// For how long a key rests whose upstream says nothing of it.
const DEFAULT_COOLDOWN: Duration = Duration::from_secs(30);
/// For how long at most, whatever its upstream says.
const MAX_COOLDOWN: Duration = Duration::from_mins(10);

/// State of upstream keys: the next one, and those that rest. One for all
/// workers of a process; another process finds out by itself.
#[derive(Debug, Default)]
pub struct KeyHealth {
    hasher: RandomState,
    known: Mutex<KeyStates>,
}

#[derive(Debug, Default)]
struct KeyStates {
    /// The hash of a key, and until when it rests.
    resting: HashMap<u64, Duration>,
    turn: usize,
}

impl KeyHealth {
    /// The keys of an upstream in the order in which they are to be tried: those
    /// that do not rest in turn, and behind them those that do, the one that
    /// has rested longest first. An empty one where the upstream wants none.
    pub(crate) fn order(&self, keys: &[Secret<String>], now: Duration) -> Vec<Secret<String>> {
        if keys.len() < 2 {
            return vec![keys.first().cloned().unwrap_or_else(|| Secret::new(String::new()))];
        }
        let mut known = self.lock();
        known.resting.retain(|_, until| *until > now);
        known.turn = known.turn.wrapping_add(1);
        let first = known.turn.checked_rem(keys.len()).unwrap_or_default();
        let (before, from) = keys.split_at(first.min(keys.len()));
        let mut order: Vec<_> = from.iter().chain(before).cloned().collect();
        // Stable, so that those that do not rest keep their turns.
        order.sort_by_key(|it| known.resting.get(&self.hash(it)).copied().unwrap_or_default());
        order
    }

    /// A key was refused, or has too much to do.
    pub(crate) fn set_cooldown(
        &self,
        key: &Secret<String>,
        now: Duration,
        how_long: Option<Duration>,
    ) {
        let until = now + how_long.unwrap_or(DEFAULT_COOLDOWN).min(MAX_COOLDOWN);
        let hash = self.hash(key);
        self.lock().resting.insert(hash, until);
    }

    fn hash(&self, key: &Secret<String>) -> u64 {
        self.hasher.hash_one(key.expose())
    }

    /// Locks the state. Nothing in here panics halfway, so a poisoned lock is still usable.
    fn lock(&self) -> MutexGuard<'_, KeyStates> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// For how long an upstream asked to be left alone.
pub(crate) fn rest(err: &UpstreamError) -> Option<Duration> {
    match err {
        UpstreamError::Refused { retry_after, .. } => *retry_after,
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Duration = Duration::from_secs(100);

    fn keys(keys: &[&str]) -> Vec<Secret<String>> {
        keys.iter().map(|&it| Secret::new(it.to_owned())).collect()
    }

    fn order(health: &KeyHealth, keys: &[Secret<String>], now: Duration) -> Vec<String> {
        health.order(keys, now).iter().map(|it| it.expose().clone()).collect()
    }

    #[test]
    fn keys_take_turns() {
        let (health, keys) = (KeyHealth::default(), keys(&["a", "b", "c"]));

        let first: Vec<_> = (0..6).map(|_| order(&health, &keys, NOW)[0].clone()).collect();

        for key in ["a", "b", "c"] {
            assert_eq!(first.iter().filter(|it| *it == key).count(), 2, "{first:?}");
        }
    }

    #[test]
    fn one_that_rests_comes_last_until_it_has_rested() {
        let (health, keys) = (KeyHealth::default(), keys(&["a", "b"]));
        health.set_cooldown(&Secret::new("a".to_owned()), NOW, None);

        for _ in 0..4 {
            assert_eq!(order(&health, &keys, NOW), ["b", "a"]);
        }
        let rested = NOW + DEFAULT_COOLDOWN;
        let first: Vec<_> = (0..2).map(|_| order(&health, &keys, rested)[0].clone()).collect();
        assert!(first.contains(&"a".to_owned()), "{first:?}");
    }

    #[test]
    fn of_those_that_rest_the_first_to_be_rested_is_tried_first_and_none_rests_long() {
        let (health, keys) = (KeyHealth::default(), keys(&["a", "b"]));
        let rest =
            |key: &str, long| health.set_cooldown(&Secret::new(key.to_owned()), NOW, Some(long));
        rest("a", Duration::MAX);
        rest("b", Duration::from_secs(5));

        assert_eq!(order(&health, &keys, NOW), ["b", "a"]);
        assert_eq!(health.lock().resting.values().max(), Some(&(NOW + MAX_COOLDOWN)));
    }

    #[test]
    fn where_no_key_is_wanted_an_empty_one_is_used() {
        assert_eq!(order(&KeyHealth::default(), &keys(&[]), NOW), [""]);
    }
}
