//! Choice among several keys of an upstream.
//!
//! Before a call, `order` returns the keys to try one after the other. After a failure of a
//! key (`AttemptOutcome::is_key_failure`), `set_cooldown` moves that key behind the others.
//! A key in cooldown is still tried when all others have failed.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use pia_kernel::Secret;

use crate::ports::UpstreamError;

/// Default cooldown of a key.
const DEFAULT_COOLDOWN: Duration = Duration::from_secs(30);
/// Maximum cooldown, whatever the upstream requests.
const MAX_COOLDOWN: Duration = Duration::from_mins(10);

/// State of upstream keys: the next one, and those in cooldown. Shared by all
/// workers of a process, not by several processes.
#[derive(Debug, Default)]
pub struct KeyHealth {
    hasher: RandomState,
    states: Mutex<KeyStates>,
}

#[derive(Debug, Default)]
struct KeyStates {
    /// Ends of cooldowns by the timer, by the hash of the key: no key is stored.
    cooldowns: HashMap<u64, Duration>,
    /// Number of calls of `order` so far, which selects the key to begin with.
    turn: usize,
}

impl KeyHealth {
    /// Returns the keys of an upstream in the order in which to try them: those
    /// without cooldown in turn, then the others by the end of their cooldown.
    /// A single empty key if the upstream requires none.
    pub(crate) fn order(&self, keys: &[Secret<String>], now: Duration) -> Vec<Secret<String>> {
        if keys.len() < 2 {
            return vec![keys.first().cloned().unwrap_or_else(|| Secret::new(String::new()))];
        }

        let mut states = self.lock();
        states.cooldowns.retain(|_, until| *until > now);
        states.turn = states.turn.wrapping_add(1);
        let first_index = states.turn.checked_rem(keys.len()).unwrap_or_default();
        let (last_keys, first_keys) = keys.split_at(first_index.min(keys.len()));
        let mut order: Vec<_> = first_keys.iter().chain(last_keys).cloned().collect();
        // Stable, so that keys without cooldown keep their turns.
        order.sort_by_key(|it| states.cooldowns.get(&self.hash(it)).copied().unwrap_or_default());

        order
    }

    /// Starts the cooldown of a key that was refused, or that is at capacity.
    pub(crate) fn set_cooldown(
        &self,
        key: &Secret<String>,
        now: Duration,
        cooldown: Option<Duration>,
    ) {
        let until = now + cooldown.unwrap_or(DEFAULT_COOLDOWN).min(MAX_COOLDOWN);
        let hash = self.hash(key);
        self.lock().cooldowns.insert(hash, until);
    }

    /// Returns the number of these keys that are in cooldown.
    pub(crate) fn count_in_cooldown(&self, keys: &[Secret<String>], now: Duration) -> usize {
        let states = self.lock();
        let is_in_cooldown = |key: &&Secret<String>| {
            states.cooldowns.get(&self.hash(key)).is_some_and(|until| *until > now)
        };
        keys.iter().filter(is_in_cooldown).count()
    }

    fn hash(&self, key: &Secret<String>) -> u64 {
        self.hasher.hash_one(key.expose())
    }

    /// Locks the state. No method panics halfway, so that a poisoned lock is still usable.
    fn lock(&self) -> MutexGuard<'_, KeyStates> {
        self.states.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the cooldown that an upstream requests.
pub(crate) fn requested_cooldown(err: &UpstreamError) -> Option<Duration> {
    match err {
        UpstreamError::Refused { retry_after, .. } => *retry_after,
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Duration = Duration::from_secs(100);

    fn secret_keys(keys: &[&str]) -> Vec<Secret<String>> {
        keys.iter().map(|&it| Secret::new(it.to_owned())).collect()
    }

    fn order(health: &KeyHealth, keys: &[Secret<String>], now: Duration) -> Vec<String> {
        health.order(keys, now).iter().map(|it| it.expose().clone()).collect()
    }

    #[test]
    fn keys_take_turns() {
        let health = KeyHealth::default();
        let keys = secret_keys(&["a", "b", "c"]);

        let first_keys: Vec<_> = (0..6).map(|_| order(&health, &keys, NOW)[0].clone()).collect();

        for key in ["a", "b", "c"] {
            assert_eq!(first_keys.iter().filter(|it| *it == key).count(), 2, "{first_keys:?}");
        }
    }

    #[test]
    fn a_key_in_cooldown_is_last_until_its_end() {
        let health = KeyHealth::default();
        let keys = secret_keys(&["a", "b"]);
        health.set_cooldown(&Secret::new("a".to_owned()), NOW, None);

        for _ in 0..4 {
            assert_eq!(order(&health, &keys, NOW), ["b", "a"]);
        }
        let after_cooldown = NOW + DEFAULT_COOLDOWN;
        let in_cooldown = |now| health.count_in_cooldown(&keys, now);
        assert_eq!(in_cooldown(NOW), 1);
        assert_eq!(in_cooldown(after_cooldown), 0);
        let first_keys: Vec<_> =
            (0..2).map(|_| order(&health, &keys, after_cooldown)[0].clone()).collect();
        assert!(first_keys.contains(&"a".to_owned()), "{first_keys:?}");
    }

    #[test]
    fn keys_in_cooldown_are_ordered_by_its_end_which_is_limited() {
        let health = KeyHealth::default();
        let keys = secret_keys(&["a", "b"]);
        let set = |key: &str, cooldown| {
            health.set_cooldown(&Secret::new(key.to_owned()), NOW, Some(cooldown));
        };
        set("a", Duration::MAX);
        set("b", Duration::from_secs(5));

        assert_eq!(order(&health, &keys, NOW), ["b", "a"]);
        assert_eq!(health.lock().cooldowns.values().max(), Some(&(NOW + MAX_COOLDOWN)));
    }

    #[test]
    fn an_empty_key_is_used_if_none_is_required() {
        assert_eq!(order(&KeyHealth::default(), &secret_keys(&[]), NOW), [""]);
    }
}
