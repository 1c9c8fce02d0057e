//! Cache of recently read values.
//!
//! A reader calls `get`, and on a miss `begin_read`, then reads the database, then
//! `insert` with the value. A change calls `invalidate` after its commit. A value
//! that was read before an invalidation can thus not be inserted after it. Changes
//! of other instances are noticed only by age: see `MAX_AGE`.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hash, RandomState};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::{Clock, Timestamp};

/// Maximum age of an entry, unless the cache has another one.
const MAX_AGE: Duration = Duration::from_secs(5);
/// Number of shards: requests look up entries at the same time, and seldom in
/// the same shard.
const SHARDS: usize = 64;
/// Number of entries below which a shard is not worth sweeping.
const MIN_SWEEP: usize = 64;

/// Cache of values that may be five seconds old, or have another maximum age.
///
/// Entries belong to an owner, which may be their key: all entries of an owner
/// are in one shard, and invalidating any of them prevents a read that began
/// earlier from being cached. An entry from the future was read before the
/// clock was set back, and is not returned.
pub struct RecentCache<K, V> {
    clock: Arc<dyn Clock>,
    hasher: RandomState,
    shards: Vec<Mutex<Shard<K, V>>>,
    max_in_shard: usize,
    max_age: Duration,
}

/// Start of a read whose result may be cached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CacheRead {
    at: Timestamp,
    invalidations: u64,
}

struct Shard<K, V> {
    invalidations: u64,
    entries: HashMap<K, Entry<V>>,
    /// Number of entries at which old ones are swept.
    sweep_at: usize,
}

struct Entry<V> {
    value: V,
    /// Time when the read began.
    at: Timestamp,
}

impl<K: Eq + Hash, V: Clone> RecentCache<K, V> {
    /// Creates a cache of about `capacity` entries at most.
    pub fn new(clock: Arc<dyn Clock>, capacity: usize) -> Self {
        Self::with_shards(clock, SHARDS, capacity)
    }

    fn with_shards(clock: Arc<dyn Clock>, shards: usize, capacity: usize) -> Self {
        let max_in_shard = capacity / shards.max(1);
        let shards = std::iter::repeat_with(Mutex::default).take(shards).collect();
        Self { clock, hasher: RandomState::new(), shards, max_in_shard, max_age: MAX_AGE }
    }

    /// Changes the maximum age of entries.
    #[must_use]
    pub fn with_max_age(self, max_age: Duration) -> Self {
        Self { max_age, ..self }
    }

    /// Returns the value of a key if it is recent.
    pub fn get(&self, owner: impl Hash, key: &K) -> Option<V> {
        let now = self.clock.now();
        let shard = self.shard(owner)?;
        let entry = shard.entries.get(key)?;
        entry.is_recent(now, self.max_age).then(|| entry.value.clone())
    }

    /// Marks the start of a read of a value that belongs to `owner`.
    pub fn begin_read(&self, owner: impl Hash) -> CacheRead {
        let invalidations = self.shard(owner).map_or(0, |it| it.invalidations);
        CacheRead { at: self.clock.now(), invalidations }
    }

    /// Caches a value, unless its shard was invalidated since the read began or
    /// is full of recent entries.
    pub fn insert(&self, owner: impl Hash, key: K, value: V, read: CacheRead) {
        let Some(mut shard) = self.shard(owner) else { return };
        if shard.invalidations == read.invalidations {
            shard.sweep_if_due(self.max_in_shard, self.max_age, read.at);
            shard.insert(key, Entry { value, at: read.at }, self.max_in_shard);
        }
    }

    /// Removes the entry of a key that no longer exists.
    pub fn remove(&self, owner: impl Hash, key: &K) {
        if let Some(mut shard) = self.shard(owner) {
            shard.entries.remove(key);
        }
    }

    /// Invalidates the entries of an owner for which `is_stale` is true.
    pub fn invalidate(&self, owner: impl Hash, is_stale: impl Fn(&K) -> bool) {
        if let Some(mut shard) = self.shard(owner) {
            shard.invalidations += 1;
            shard.entries.retain(|it, _| !is_stale(it));
        }
    }

    /// Invalidates every entry, and every read that is under way.
    pub fn invalidate_all(&self) {
        for shard in &self.shards {
            let mut shard = lock(shard);
            shard.invalidations += 1;
            shard.entries.clear();
        }
    }

    fn shard(&self, owner: impl Hash) -> Option<MutexGuard<'_, Shard<K, V>>> {
        let hash = usize::try_from(self.hasher.hash_one(owner) >> 32).unwrap_or_default();
        let index = hash.checked_rem(self.shards.len())?;
        self.shards.get(index).map(lock)
    }
}

impl<K: Eq + Hash, V> Shard<K, V> {
    /// Sweeps old entries when there are twice as many as after the last sweep,
    /// or the shard is full.
    fn sweep_if_due(&mut self, max: usize, max_age: Duration, now: Timestamp) {
        if self.entries.len() >= self.sweep_at.max(MIN_SWEEP).min(max) {
            self.entries.retain(|_, it| it.is_recent(now, max_age));
            self.sweep_at = self.entries.len() * 2;
        }
    }

    /// Inserts an entry; in a full shard, only if it replaces one.
    fn insert(&mut self, key: K, entry: Entry<V>, max: usize) {
        if self.entries.len() < max || self.entries.contains_key(&key) {
            self.entries.insert(key, entry);
        }
    }
}

impl<K, V> Default for Shard<K, V> {
    fn default() -> Self {
        Self { invalidations: 0, entries: HashMap::new(), sweep_at: 0 }
    }
}

impl<V> Entry<V> {
    fn is_recent(&self, now: Timestamp, max_age: Duration) -> bool {
        self.at <= now && now <= self.at + max_age
    }
}

/// Locks a shard. No code panics while it holds the lock, so a poisoned shard
/// is consistent.
fn lock<K, V>(shard: &Mutex<Shard<K, V>>) -> MutexGuard<'_, Shard<K, V>> {
    shard.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicI64, Ordering};

    use super::*;

    #[derive(Default)]
    struct SecondsClock(AtomicI64);

    impl Clock for SecondsClock {
        fn now(&self) -> Timestamp {
            Timestamp::from_micros(self.0.load(Ordering::SeqCst) * 1_000_000)
        }
    }

    fn new_cache(shards: usize, capacity: usize) -> (RecentCache<u32, u32>, Arc<SecondsClock>) {
        let clock = Arc::new(SecondsClock::default());
        let cache_clock: Arc<dyn Clock> = Arc::<SecondsClock>::clone(&clock);
        (RecentCache::with_shards(cache_clock, shards, capacity), clock)
    }

    fn put(cache: &RecentCache<u32, u32>, key: u32) {
        cache.insert(key, key, key + 1, cache.begin_read(key));
    }

    fn entry_count(cache: &RecentCache<u32, u32>) -> usize {
        cache.shards.iter().map(|it| lock(it).entries.len()).sum()
    }

    #[test]
    fn an_entry_is_returned_for_five_seconds_unless_the_clock_is_set_back() {
        let (cache, clock) = new_cache(SHARDS, 1000);
        clock.0.store(100, Ordering::SeqCst);
        put(&cache, 1);

        for (second, expected) in [(99, None), (100, Some(2)), (105, Some(2)), (106, None)] {
            clock.0.store(second, Ordering::SeqCst);

            assert_eq!(cache.get(1, &1), expected, "{second}");
        }
    }

    #[test]
    fn an_invalidation_removes_stale_entries_and_voids_earlier_reads() {
        let (cache, _) = new_cache(1, 1000);
        for key in [1, 2] {
            put(&cache, key);
        }
        let voided_read = cache.begin_read(3);

        cache.invalidate(1, |it| *it == 1);
        cache.insert(3, 3, 4, voided_read);

        assert_eq!([1, 2, 3].map(|it| cache.get(it, &it)), [None, Some(3), None]);

        let voided_read = cache.begin_read(3);
        cache.invalidate_all();
        cache.insert(3, 3, 4, voided_read);

        assert_eq!([2, 3].map(|it| cache.get(it, &it)), [None, None]);
    }

    #[test]
    fn a_full_shard_evicts_old_entries_only() {
        let (cache, clock) = new_cache(1, 100);
        for key in 0..250 {
            put(&cache, key);
        }

        let full_len = entry_count(&cache);
        clock.0.store(6, Ordering::SeqCst);
        put(&cache, 999);

        assert_eq!(full_len, 100);
        assert_eq!(entry_count(&cache), 1);
        assert_eq!(cache.get(999, &999), Some(1000));
    }

    #[test]
    fn a_removed_entry_is_gone_and_a_read_meanwhile_stays_valid() {
        let (cache, _) = new_cache(1, 100);
        put(&cache, 1);
        let valid_read = cache.begin_read(2);

        cache.remove(1, &1);
        cache.insert(2, 2, 3, valid_read);

        assert_eq!([1, 2].map(|it| cache.get(it, &it)), [None, Some(3)]);
    }
}
