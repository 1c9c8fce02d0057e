//! Settings that may change while the server runs.
//!
//! Most handles follow `LiveConfig` of `settings`, which sets them after each
//! reload; domains only call `get`. Two calls of `get` may return different values,
//! so a decision reads the value once.

use std::sync::Arc;

use arc_swap::ArcSwap;

/// Handle on one section of the settings; every clone sees a new value.
#[derive(Debug)]
pub struct LiveSetting<T>(Arc<ArcSwap<T>>);

impl<T> LiveSetting<T> {
    /// Creates a handle that starts with `value`.
    pub fn new(value: T) -> Self {
        Self(Arc::new(ArcSwap::from_pointee(value)))
    }

    /// Returns the current value. Use it for one decision only.
    pub fn get(&self) -> Arc<T> {
        self.0.load_full()
    }

    /// Replaces the current value for all clones. Values already returned by
    /// `get` stay as they are.
    pub fn set(&self, value: T) {
        self.0.store(Arc::new(value));
    }
}

impl<T> Clone for LiveSetting<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}
