//! Cache of windows. Another instance may have changed them since: they serve
//! optimistic writes, which the database checks.

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
    /// Set when, at its last read, no other instance had changed it since the
    /// access before.
    exclusive: bool,
}

impl WindowCache {
    /// Stores windows that were read under a lock.
    pub(crate) fn record_read(&mut self, rows: &[WindowRow]) {
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

    /// Returns the cached rows of these windows, if no other instance seems to change any of
    /// them. Otherwise optimistic writes would cost more than reading.
    pub(crate) fn unchanged_rows(&self, keys: &[String]) -> Option<Vec<WindowRow>> {
        let known = keys.iter().filter_map(|key| self.windows.get(key));
        known.map(|it| it.exclusive.then(|| it.row.clone())).collect()
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

    #[test]
    fn a_window_is_exclusive_unless_another_instance_changed_it_before_the_last_read() {
        let mut cache = WindowCache::default();
        let hour = window(WindowKind::Limit(BudgetPeriod::Hourly), 1);
        let week = window(WindowKind::Limit(BudgetPeriod::GroupWeekly), 1);
        let keys = [hour.key.clone(), week.key.clone()];
        assert_eq!(cache.unchanged_rows(&keys), Some(Vec::new()));

        cache.record_read(&[hour.clone(), week.clone()]);
        cache.record_written(vec![window(WindowKind::Limit(BudgetPeriod::GroupWeekly), 2)]);
        assert_eq!(
            cache.unchanged_rows(&keys),
            Some(vec![hour.clone(), window(WindowKind::Limit(BudgetPeriod::GroupWeekly), 2)])
        );

        cache.record_read(&[hour.clone(), window(WindowKind::Limit(BudgetPeriod::GroupWeekly), 3)]);
        assert_eq!(cache.unchanged_rows(&keys), None);
        assert_eq!(cache.unchanged_rows(&keys[..1]), Some(vec![hour]));

        cache.record_written(vec![window(WindowKind::Limit(BudgetPeriod::GroupWeekly), 4)]);
        cache.record_read(&[window(WindowKind::Limit(BudgetPeriod::GroupWeekly), 4)]);
        assert_eq!(
            cache.unchanged_rows(&keys[1..]),
            Some(vec![window(WindowKind::Limit(BudgetPeriod::GroupWeekly), 4)])
        );
    }

    #[test]
    fn a_full_cache_is_cleared() {
        let mut cache = WindowCache::default();

        for number in 0..=MAX_CACHED_WINDOWS {
            let mut row = window(WindowKind::Limit(BudgetPeriod::Hourly), 1);
            row.key = number.to_string();
            cache.record_read(&[row]);
        }

        assert_eq!(cache.windows.len(), 1);
    }
}
