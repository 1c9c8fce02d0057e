//! Request to admit a call, before it is made.

use pia_kernel::{CreditLimits, GroupId, UserId};
use uuid::Uuid;

use super::window::{WindowKey, WindowKind};
use crate::credits::rates::{Micros, Rates};
use crate::credits::usage::Usage;
use crate::rules::ApiKeyBudget;

/// Tokens that a balance must at least pay for.
const MIN_RESERVATION: i64 = 1000;
/// Shortest answer worth a call, unless its caller requests less.
const MIN_OUTPUT_TOKENS: i64 = 256;

/// Owner of windows, and the limits of these.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CreditHolder {
    /// Calling member.
    pub member: UserId,
    /// Their group.
    pub group: GroupId,
    /// API key that they call with.
    pub key: Option<ApiKeyBudget>,
    /// Limits of their group.
    pub limits: CreditLimits,
}

impl CreditHolder {
    /// Returns whether nothing has to be counted.
    pub fn is_unlimited(&self) -> bool {
        self.limits.is_unlimited() && self.key.is_none_or(|it| it.weekly <= 0)
    }

    /// Returns the limit of a window, where it has one. Pools and top-ups bring
    /// their own.
    pub(crate) fn limit(&self, kind: WindowKind) -> Option<Micros> {
        let whole = match kind {
            WindowKind::Limit(period) => self.limits.of(period),
            WindowKind::Key => self.key.map_or(0, |it| it.weekly),
            WindowKind::Pool | WindowKind::TopUp => 0,
        };
        (whole > 0).then(|| Micros::credits(whole))
    }

    /// Returns whether a window of this kind applies.
    fn counts(&self, kind: WindowKind) -> bool {
        match kind {
            WindowKind::Pool => self.limits.pool && self.limits.weekly > 0,
            WindowKind::TopUp => self.limits.weekly > 0,
            _ => self.limit(kind).is_some(),
        }
    }

    fn owner(&self, kind: WindowKind) -> Uuid {
        match kind {
            WindowKind::Key => self.key.map_or(Uuid::nil(), |it| it.key.0),
            it if it.is_groups() => self.group.0,
            _ => self.member.0,
        }
    }

    /// Windows that apply. Top-ups may not exist.
    pub fn windows(&self) -> impl Iterator<Item = WindowKey> + '_ {
        let kinds = WindowKind::ALL.into_iter().filter(|it| self.counts(*it));
        kinds.map(|kind| WindowKey { kind, owner: self.owner(kind) })
    }
}

/// Request to admit one model call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AdmissionRequest {
    /// Holder of the windows to reserve in.
    pub holder: CreditHolder,
    /// Highest rates of its tokens.
    pub rates: Rates,
    /// Highest fee besides its tokens.
    pub fee: Micros,
    /// Our estimate of its prompt, in tokens.
    pub prompt: i64,
    /// Maximum length of its answer, in tokens, if there is enough left for it.
    pub output: i64,
}

impl AdmissionRequest {
    /// Returns the cost with an answer of this many tokens.
    pub(crate) fn cost(&self, output: i64) -> Micros {
        let tokens = Usage { input: self.prompt, output, ..Usage::default() };
        self.rates.price(&tokens).plus(self.fee)
    }

    /// Returns the minimum balance that admits the call.
    pub(crate) fn min_cost(&self) -> Micros {
        let reservation = self.rates.price(&Usage { output: MIN_RESERVATION, ..Usage::default() });
        reservation.max(self.cost(self.output.clamp(1, MIN_OUTPUT_TOKENS)))
    }

    /// Returns the maximum length of an answer that this balance pays for.
    pub(crate) fn affordable(&self, balance: Micros) -> i64 {
        if self.rates.output == 0 {
            return self.output;
        }
        let prompt = i128::from(self.prompt.max(0)) * i128::from(self.rates.input);
        let rest = i128::from(balance.minus(self.fee).0) * 1000 - prompt;
        let tokens = rest.div_euclid(i128::from(self.rates.output));
        self.output.min(i64::try_from(tokens).unwrap_or(i64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_affordable_never_costs_more_than_is_left() {
        let holder = CreditHolder {
            member: UserId::generate(),
            group: GroupId::generate(),
            key: None,
            limits: CreditLimits::default(),
        };
        for (input, output) in [(1, 1), (1_000_000, 1_000_000), (333, 7), (3, 999_999_999)] {
            let rates = Rates { input, output, ..Rates::default() };
            let fee = Micros(77_777);
            let ask = AdmissionRequest { holder, rates, fee, prompt: 777, output: i64::MAX };
            for left in [ask.cost(0).0, ask.cost(0).0 + 1, 1_000_000, 999_999_937] {
                let left = Micros(left.max(ask.cost(0).0));
                let tokens = ask.affordable(left);

                assert!(ask.cost(tokens) <= left, "{input} {output} {left:?} {tokens}");
                assert!(ask.cost(tokens.saturating_add(1000)) >= left, "{output} {left:?}");
            }
        }
    }
}
