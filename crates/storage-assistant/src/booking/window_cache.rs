//! Cache of windows. Another instance may have changed them since: they serve
//! optimistic writes, which the database checks.
//!
//! A window that another instance writes too is not exclusive: optimistic writes
//! of it would often fail, and cost more than reading.

use std::collections::HashMap;

use crate::window_row::WindowRow;

/// Maximum number of cached windows, some hundred bytes each.
const MAX_CACHED_WINDOWS: usize = 20_000;

/// Windows as this instance last read or wrote them.
#[derive(Debug, Default)]
pub(crate) struct WindowCache {
    windows: HashMap<String, CachedWindow>,
}

#[derive(Debug)]
struct CachedWindow {
    row: WindowRow,
    /// True unless the last read found another row than the cached one: then
    /// another instance writes this window too. A first read counts as exclusive.
    exclusive: bool,
}

impl WindowCache {
    /// Stores windows that were read under a lock.
    pub(crate) fn record_read(&mut self, rows: &[WindowRow]) {
        // Windows still in use are cached again at their next read.
        if self.windows.len() + rows.len() > MAX_CACHED_WINDOWS {
            self.windows.clear();
        }
        for row in rows {
            let exclusive = self.windows.get(&row.key).is_none_or(|it| it.row == *row);
            self.windows.insert(row.key.clone(), CachedWindow { row: row.clone(), exclusive });
        }
    }

    /// Stores the new values of windows that were read before.
    pub(crate) fn record_written(&mut self, rows: Vec<WindowRow>) {
        for row in rows {
            if let Some(cached) = self.windows.get_mut(&row.key) {
                cached.row = row;
            }
        }
    }

    /// Returns the cached rows of these windows, or `None` if any of them is not exclusive.
    /// Windows that are not cached are left out (callers check for missing ones).
    pub(crate) fn exclusive_rows(&self, keys: &[String]) -> Option<Vec<WindowRow>> {
        let cached = keys.iter().filter_map(|key| self.windows.get(key));
        cached.map(|it| it.exclusive.then(|| it.row.clone())).collect()
    }
}

#[cfg(test)]
mod tests {
    use pia_assistant::{WindowKey, WindowKind};
    use pia_kernel::BudgetPeriod;
    use uuid::Uuid;

    use super::*;

    fn window(kind: WindowKind, used: i64) -> WindowRow {
        let key = WindowKey { kind, owner: Uuid::nil() };
        let mut row = WindowRow::new(key, None, None);
        row.used = used;
        row
    }

    fn hour(used: i64) -> WindowRow {
        window(WindowKind::Limit(BudgetPeriod::Hourly), used)
    }

    fn week(used: i64) -> WindowRow {
        window(WindowKind::Limit(BudgetPeriod::GroupWeekly), used)
    }

    #[test]
    fn windows_that_are_not_cached_are_left_out() {
        let mut cache = WindowCache::default();
        assert_eq!(cache.exclusive_rows(&[hour(1).key]), Some(Vec::new()));

        cache.record_read(&[week(1)]);

        assert_eq!(cache.exclusive_rows(&[hour(1).key, week(1).key]), Some(vec![week(1)]));
    }

    #[test]
    fn windows_that_only_this_instance_wrote_are_exclusive() {
        let mut cache = WindowCache::default();
        cache.record_read(&[hour(1), week(1)]);

        cache.record_written(vec![week(2)]);

        let keys = [hour(1).key, week(1).key];
        assert_eq!(cache.exclusive_rows(&keys), Some(vec![hour(1), week(2)]));
    }

    #[test]
    fn a_window_that_another_instance_changed_is_not_exclusive() {
        let mut cache = WindowCache::default();
        cache.record_read(&[hour(1), week(1)]);

        cache.record_read(&[hour(1), week(2)]);

        assert_eq!(cache.exclusive_rows(&[hour(1).key, week(1).key]), None);
        assert_eq!(cache.exclusive_rows(&[hour(1).key]), Some(vec![hour(1)]));
    }

    #[test]
    fn a_window_is_exclusive_again_after_a_read_without_another_change() {
        let mut cache = WindowCache::default();
        cache.record_read(&[week(1)]);
        cache.record_read(&[week(2)]);

        cache.record_written(vec![week(3)]);
        cache.record_read(&[week(3)]);

        assert_eq!(cache.exclusive_rows(&[week(1).key]), Some(vec![week(3)]));
    }

    #[test]
    fn a_full_cache_is_cleared() {
        let mut cache = WindowCache::default();

        for number in 0..=MAX_CACHED_WINDOWS {
            let mut row = hour(1);
            row.key = number.to_string();
            cache.record_read(&[row]);
        }

        assert_eq!(cache.windows.len(), 1);
    }
}
