//! Spending limits of a group and its members.

/// Something that bounds what is spent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CreditLimit {
    /// A member within any hour.
    Hourly,
    /// A member within any 24 hours.
    Daily,
    /// A member within a calendar week.
    Weekly,
    /// All members within any 24 hours.
    GroupDaily,
    /// All members within a calendar week.
    GroupWeekly,
}

impl CreditLimit {
    /// Every limit.
    pub const ALL: [Self; 5] =
        [Self::Hourly, Self::Daily, Self::Weekly, Self::GroupDaily, Self::GroupWeekly];

    /// Its name on the wire and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Hourly => "hourly",
            Self::Daily => "daily",
            Self::Weekly => "weekly",
            Self::GroupDaily => "group-daily",
            Self::GroupWeekly => "group-weekly",
        }
    }

    /// The limit of this name, in any case.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.name().eq_ignore_ascii_case(name))
    }
}

/// Spending limits, in whole credits; 0 is no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SpendingLimits {
    /// See [`CreditLimit::Hourly`].
    pub hourly: i64,
    /// See [`CreditLimit::Daily`].
    pub daily: i64,
    /// See [`CreditLimit::Weekly`].
    pub weekly: i64,
    /// See [`CreditLimit::GroupDaily`].
    pub group_daily: i64,
    /// See [`CreditLimit::GroupWeekly`].
    pub group_weekly: i64,
    /// True if the unused part of the members' allowances of last week is
    /// available to all members this week.
    pub pool: bool,
}

impl SpendingLimits {
    /// Returns the amount of a limit; 0 is no limit.
    pub fn amount(&self, limit: CreditLimit) -> i64 {
        match limit {
            CreditLimit::Hourly => self.hourly,
            CreditLimit::Daily => self.daily,
            CreditLimit::Weekly => self.weekly,
            CreditLimit::GroupDaily => self.group_daily,
            CreditLimit::GroupWeekly => self.group_weekly,
        }
    }

    pub(super) fn set(&mut self, limit: CreditLimit, to: i64) {
        let place = match limit {
            CreditLimit::Hourly => &mut self.hourly,
            CreditLimit::Daily => &mut self.daily,
            CreditLimit::Weekly => &mut self.weekly,
            CreditLimit::GroupDaily => &mut self.group_daily,
            CreditLimit::GroupWeekly => &mut self.group_weekly,
        };
        *place = to;
    }
}
