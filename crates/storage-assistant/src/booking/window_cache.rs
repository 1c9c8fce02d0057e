//! Windows as an instance knows them. Another may have changed them since: it
//! is for guesses that the database checks.

use std::collections::HashMap;

use crate::window_row::WindowRow;

/// Maximum number of cached windows, some hundred bytes each.
const MAX_CACHED_WINDOWS: usize = 20_000;

/// Windows as this instance has read or written them last.
#[derive(Debug, Default)]
pub(crate) struct WindowCache {
    windows: HashMap<String, CachedWindow>,
}

#[derive(Debug)]
struct CachedWindow {
    row: WindowRow,
    /// Set when, at its last read, no other instance had changed it since it
    /// was seen before.
    ours: bool,
}

impl WindowCache {
    /// Windows as they were read, and are held.
    pub(crate) fn record_read(&mut self, rows: &[WindowRow]) {
        if self.windows.len() + rows.len() > MAX_CACHED_WINDOWS {
            self.windows.clear();
        }
        for row in rows {
            let ours = self.windows.get(&row.key).is_none_or(|it| it.row == *row);
            self.windows.insert(row.key.clone(), CachedWindow { row: row.clone(), ours });
        }
    }

    /// Stores the new values of windows that were read before.
    pub(crate) fn record_written(&mut self, rows: Vec<WindowRow>) {
        for row in rows {
            if let Some(seen) = self.windows.get_mut(&row.key) {
                seen.row = row;
            }
        }
    }

    /// Cached rows of these windows, if no other instance seems to change any of them. Where
    /// others do, guessing would cost more than reading.
    pub(crate) fn ours(&self, keys: &[String]) -> Option<Vec<WindowRow>> {
        let known = keys.iter().filter_map(|key| self.windows.get(key));
        known.map(|it| it.ours.then(|| it.row.clone())).collect()
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
    fn a_window_is_ours_until_another_was_seen_to_change_it_and_again_when_they_stopped() {
        let mut seen = WindowCache::default();
        let (hour, week) = (
            window(WindowKind::Limit(BudgetPeriod::Hourly), 1),
            window(WindowKind::Limit(BudgetPeriod::GroupWeekly), 1),
        );
        let keys = [hour.key.clone(), week.key.clone()];
        assert_eq!(seen.ours(&keys), Some(Vec::new()));

        seen.record_read(&[hour.clone(), week.clone()]);
        seen.record_written(vec![window(WindowKind::Limit(BudgetPeriod::GroupWeekly), 2)]);
        assert_eq!(
            seen.ours(&keys),
            Some(vec![hour.clone(), window(WindowKind::Limit(BudgetPeriod::GroupWeekly), 2)])
        );

        seen.record_read(&[hour.clone(), window(WindowKind::Limit(BudgetPeriod::GroupWeekly), 3)]);
        assert_eq!(seen.ours(&keys), None);
        assert_eq!(seen.ours(&keys[..1]), Some(vec![hour]));

        seen.record_written(vec![window(WindowKind::Limit(BudgetPeriod::GroupWeekly), 4)]);
        seen.record_read(&[window(WindowKind::Limit(BudgetPeriod::GroupWeekly), 4)]);
        assert_eq!(
            seen.ours(&keys[1..]),
            Some(vec![window(WindowKind::Limit(BudgetPeriod::GroupWeekly), 4)])
        );
    }

    #[test]
    fn it_forgets_rather_than_grow() {
        let mut seen = WindowCache::default();

        for number in 0..=MAX_CACHED_WINDOWS {
            let mut row = window(WindowKind::Limit(BudgetPeriod::Hourly), 1);
            row.key = number.to_string();
            seen.record_read(&[row]);
        }

        assert_eq!(seen.windows.len(), 1);
    }
}
