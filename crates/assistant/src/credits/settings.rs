//! Operator's credit settings.

use pia_kernel::GroupId;

use super::week::Weeks;
use crate::rules::GroupRules;

/// Default of reserved output tokens: more than a typical response has, and no
/// more than most models accept as a limit.
const DEFAULT_OUTPUT_TOKENS: i64 = 8_192;

/// Operator's credit settings; all of them reload.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CreditSettings {
    /// Maximum length of responses in tokens; `None` sets none.
    pub max_output: Option<i64>,
    /// Rules for users without a paid plan.
    pub free_tier: FreeTier,
    /// Start of calendar weeks, in the operator's time zone.
    pub weeks: Weeks,
}

/// Rules for users without a paid plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FreeTier {
    /// Set while they are not served, and no user can join them.
    pub suspended: bool,
    /// Group of these users; the default one if `None`.
    pub group: Option<GroupId>,
}

impl CreditSettings {
    /// Returns whether the members of this group are currently not served.
    pub fn suspends(&self, group: GroupId, rules: &GroupRules) -> bool {
        let FreeTier { suspended, group: free } = self.free_tier;
        suspended && free.map_or(rules.free, |it| it == group)
    }

    /// Returns the maximum length of a response whose budget suffices.
    pub(crate) fn output(&self, requested: Option<i64>) -> i64 {
        let bound = self.max_output.or(requested).unwrap_or(DEFAULT_OUTPUT_TOKENS);
        requested.unwrap_or(bound).min(bound)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_free_group_is_suspended() {
        let free_group = GroupId::generate();
        let other_group = GroupId::generate();
        let free = GroupRules { free: true, ..GroupRules::default() };
        let paying = GroupRules::default();
        let settings = |suspended, group| CreditSettings {
            free_tier: FreeTier { suspended, group },
            ..CreditSettings::default()
        };

        assert!(settings(true, None).suspends(other_group, &free));
        assert!(!settings(true, None).suspends(other_group, &paying));
        assert!(settings(true, Some(free_group)).suspends(free_group, &paying));
        assert!(!settings(true, Some(free_group)).suspends(other_group, &free));
        assert!(!settings(false, Some(free_group)).suspends(free_group, &free));
    }

    #[test]
    fn a_response_is_limited_by_caller_and_operator() {
        let output = |max_output, requested| {
            CreditSettings { max_output, ..CreditSettings::default() }.output(requested)
        };

        assert_eq!(output(Some(500), Some(900)), 500);
        assert_eq!(output(Some(500), Some(90)), 90);
        assert_eq!(output(Some(500), None), 500);
        assert_eq!(output(None, Some(90_000)), 90_000);
        assert_eq!(output(None, None), 8_192);
    }
}
