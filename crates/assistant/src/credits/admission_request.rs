//! Request to admit a call, before it is made.
//!
//! `admission.rs` creates it, `CreditWindows::admit` decides on it. `min_cost` is what a
//! balance must pay for at least; `affordable` is the length of the response that the
//! balance pays for, up to the requested one.

use pia_kernel::{CreditLimits, GroupId, UserId};
use uuid::Uuid;

use super::window::{WindowKey, WindowKind};
use crate::credits::rates::{Micros, Rates};
use crate::credits::usage::Usage;
use crate::rules::ApiKeyBudget;

/// Minimum number of tokens that a balance must pay for.
const MIN_RESERVATION: i64 = 1000;
/// Minimum length of a response in tokens, unless the caller requests less.
const MIN_OUTPUT_TOKENS: i64 = 256;

/// Owner of windows, and their limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CreditHolder {
    /// Member whose allowance and rate windows count.
    pub member: UserId,
    /// Group of the member, whose pool and top-ups may pay.
    pub group: GroupId,
    /// API key of the call, if one is used.
    pub key: Option<ApiKeyBudget>,
    /// Limits of the group, as of the call.
    pub limits: CreditLimits,
}

impl CreditHolder {
    /// Returns whether no limit applies.
    pub fn is_unlimited(&self) -> bool {
        self.limits.is_unlimited() && self.key.is_none_or(|it| it.weekly <= 0)
    }

    /// Returns the limit of a window, if it has one. The size of pools and
    /// top-ups is in their windows.
    pub(crate) fn limit(&self, kind: WindowKind) -> Option<Micros> {
        let credits = match kind {
            WindowKind::Limit(period) => self.limits.of(period),
            WindowKind::ApiKey => self.key.map_or(0, |it| it.weekly),
            WindowKind::Pool | WindowKind::TopUp => 0,
        };
        (credits > 0).then(|| Micros::credits(credits))
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
            WindowKind::ApiKey => self.key.map_or(Uuid::nil(), |it| it.key.0),
            it if it.belongs_to_group() => self.group.0,
            _ => self.member.0,
        }
    }

    /// Returns the windows that apply. That of top-ups need not exist.
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
    /// Estimate of its prompt in tokens.
    pub prompt: i64,
    /// Maximum length of its response in tokens; less is granted if the balance
    /// does not suffice for it.
    pub output: i64,
}

impl AdmissionRequest {
    /// Returns the cost with a response of this many tokens.
    pub(crate) fn cost(&self, output: i64) -> Micros {
        let tokens = Usage { input: self.prompt, output, ..Usage::default() };
        self.rates.price(&tokens).plus(self.fee)
    }

    /// Returns the minimum balance that admits the call.
    pub(crate) fn min_cost(&self) -> Micros {
        let reservation = self.rates.price(&Usage { output: MIN_RESERVATION, ..Usage::default() });
        reservation.max(self.cost(self.output.clamp(1, MIN_OUTPUT_TOKENS)))
    }

    /// Returns the maximum length of a response that this balance pays for, in tokens.
    /// The balance covers `min_cost`.
    pub(crate) fn affordable(&self, balance: Micros) -> i64 {
        if self.rates.output == 0 {
            return self.output;
        }
        let prompt = i128::from(self.prompt.max(0)) * i128::from(self.rates.input);
        // Thousandths of a millionth, the unit of a token times its rate.
        let budget = i128::from(balance.minus(self.fee).0) * 1000 - prompt;
        let tokens = budget.div_euclid(i128::from(self.rates.output));
        self.output.min(i64::try_from(tokens).unwrap_or(i64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_affordable_response_never_costs_more_than_the_balance() {
        let holder = CreditHolder {
            member: UserId::generate(),
            group: GroupId::generate(),
            key: None,
            limits: CreditLimits::default(),
        };
        for (input, output) in [(1, 1), (1_000_000, 1_000_000), (333, 7), (3, 999_999_999)] {
            let rates = Rates { input, output, ..Rates::default() };
            let fee = Micros(77_777);
            let request = AdmissionRequest { holder, rates, fee, prompt: 777, output: i64::MAX };
            for balance in [request.cost(0).0, request.cost(0).0 + 1, 1_000_000, 999_999_937] {
                let balance = Micros(balance.max(request.cost(0).0));
                let tokens = request.affordable(balance);

                assert!(request.cost(tokens) <= balance, "{input} {output} {balance:?} {tokens}");
                assert!(
                    request.cost(tokens.saturating_add(1000)) >= balance,
                    "{output} {balance:?}"
                );
            }
        }
    }
}
