//! Bounded caches that keep what was recently used, in memory and on disk. Generic over what they keep.

#[cfg_attr(
    not(any(feature = "cuda", feature = "opencl")),
    allow(dead_code, reason = "the host alone has nothing to keep there")
)]
pub mod disk;

use std::borrow::Borrow;
use std::hash::Hash;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use lru::LruCache;
use rustc_hash::FxBuildHasher;

/// A cache bounded by a count, least recently used out first, that computes each missing value once.
///
/// Keys are compared whole; the hash only finds the candidates. The cache is not locked while a value is made: threads
/// that want the same key wait for the one that makes it, others go on.
pub struct Cache<K, V> {
    entries: Mutex<LruCache<K, Arc<Slot<V>>, FxBuildHasher>>,
    hits: AtomicU64,
    evictions: AtomicU64,
}

/// Where one value is, or is being made: whoever makes it holds the lock.
struct Slot<V> {
    value: OnceLock<V>,
    making: Mutex<()>,
}

/// A value, and whether it was already there.
pub struct Found<V> {
    /// The value.
    pub value: V,
    /// True where it was made by an earlier call.
    pub hit: bool,
}

impl<K: Hash + Eq, V: Clone> Cache<K, V> {
    /// A cache for so many values; at least one.
    pub fn new(capacity: usize) -> Self {
        let capacity = NonZeroUsize::new(capacity).unwrap_or(NonZeroUsize::MIN);
        Self {
            entries: Mutex::new(LruCache::with_hasher(capacity, FxBuildHasher)),
            hits: AtomicU64::new(0),
            evictions: AtomicU64::new(0),
        }
    }

    /// The value under `key`, made by `make` where it is missing. An error is returned and nothing kept.
    pub fn get_or_make<Q, E>(&self, key: &Q, make: impl FnOnce() -> Result<V, E>) -> Result<Found<V>, E>
    where
        Q: Hash + Eq + ?Sized,
        K: Borrow<Q> + for<'a> From<&'a Q>,
    {
        let slot = match self.find(key) {
            Ok(value) => return Ok(self.hit(value)),
            Err(slot) => slot,
        };
        let making = slot.making.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(value) = slot.value.get() {
            return Ok(self.hit(value.clone()));
        }
        match make() {
            Ok(made) => Ok(Found { value: slot.value.get_or_init(|| made).clone(), hit: false }),
            Err(error) => {
                drop(making);
                self.entries.lock().unwrap_or_else(PoisonError::into_inner).pop(key);
                Err(error)
            }
        }
    }

    fn hit(&self, value: V) -> Found<V> {
        self.hits.fetch_add(1, Ordering::Relaxed);
        Found { value, hit: true }
    }

    /// Whether the value under `key` is there or being made. Counts for nothing: neither as a hit nor as a use.
    pub fn contains<Q>(&self, key: &Q) -> bool
    where
        Q: Hash + Eq + ?Sized,
        K: Borrow<Q>,
    {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner).contains(key)
    }

    /// How many calls found their value.
    pub fn hits(&self) -> u64 {
        self.hits.load(Ordering::Relaxed)
    }

    /// How many values were dropped to make room.
    pub fn evictions(&self) -> u64 {
        self.evictions.load(Ordering::Relaxed)
    }

    /// The value under `key`, else the place where it is to be made.
    fn find<Q>(&self, key: &Q) -> Result<V, Arc<Slot<V>>>
    where
        Q: Hash + Eq + ?Sized,
        K: Borrow<Q> + for<'a> From<&'a Q>,
    {
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(slot) = entries.get(key) {
            return slot.value.get().cloned().ok_or_else(|| slot.clone());
        }
        let slot = Arc::new(Slot { value: OnceLock::new(), making: Mutex::new(()) });
        let evicted = entries.push(K::from(key), slot.clone());
        drop(entries);
        if evicted.is_some() {
            self.evictions.fetch_add(1, Ordering::Relaxed);
        }
        Err(slot)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A key that is looked up by its number.
    #[derive(PartialEq, Eq, Hash)]
    struct Key(u32);

    impl From<&u32> for Key {
        fn from(number: &u32) -> Self {
            Key(*number)
        }
    }

    impl Borrow<u32> for Key {
        fn borrow(&self) -> &u32 {
            &self.0
        }
    }

    fn never() -> Result<u32, ()> {
        Err(())
    }

    #[test]
    fn a_value_is_made_once_and_the_oldest_is_evicted() {
        let cache: Cache<Key, u32> = Cache::new(2);
        for key in [1, 2, 1, 3] {
            assert_eq!(cache.get_or_make::<u32, ()>(&key, || Ok(key * 10)).map(|found| found.value), Ok(key * 10));
        }
        assert_eq!((cache.hits(), cache.evictions()), (1, 1));
        assert!(cache.get_or_make(&1, never).is_ok_and(|found| found.hit), "1 was used after 2");
        assert!(cache.contains(&3) && !cache.contains(&2));
        assert!(cache.get_or_make(&2, never).is_err(), "2 was the oldest");
    }

    #[test]
    fn a_failure_is_not_kept() {
        let cache: Cache<Key, u32> = Cache::new(2);
        assert!(cache.get_or_make(&1, never).is_err());
        assert_eq!(cache.get_or_make::<u32, ()>(&1, || Ok(5)).map(|found| (found.value, found.hit)), Ok((5, false)));
    }

    #[test]
    fn threads_that_want_one_key_make_it_once() {
        let cache: Cache<Key, u32> = Cache::new(2);
        let made = AtomicU64::new(0);
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    let found = cache.get_or_make::<u32, ()>(&7, || {
                        made.fetch_add(1, Ordering::Relaxed);
                        std::thread::sleep(std::time::Duration::from_millis(20));
                        Ok(49)
                    });
                    assert_eq!(found.map(|found| found.value), Ok(49));
                });
            }
        });
        assert_eq!(made.into_inner(), 1);
    }
}
