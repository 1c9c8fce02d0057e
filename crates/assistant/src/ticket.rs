//! What one call costs, from before it is made until it is written down.

use std::sync::Arc;

use pia_kernel::{Clock, UserId};
use uuid::Uuid;

use crate::ports::UsageLog;
use crate::target::{Mode, Target};
use crate::turnstile::Slot;
use crate::usage::{Outcome, Usage, UsageRecord};

/// Who calls which model, and what it has cost so far. Dropping it writes that
/// down, so no path can forget to; a reservation of credits belongs in here.
///
/// A caller who leaves before the answer leaves a record, too: the upstream has
/// the prompt by then and may bill it. So does an upstream that falls silent or
/// breaks off. Only a call that was refused, or never arrived, cost nothing.
pub(crate) struct Ticket {
    pub(crate) user: UserId,
    pub(crate) mode: Mode,
    pub(crate) target: Arc<Target>,
    pub(crate) meter: Meter,
    pub(crate) end: End,
    /// The room that it takes at its upstream.
    pub(crate) slot: Option<Slot>,
    pub(crate) log: Arc<dyn UsageLog>,
    pub(crate) clock: Arc<dyn Clock>,
}

/// How a call has ended, as far as is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// It has not: dropped now, its caller has left.
    Open,
    /// The whole answer is there.
    Completed,
    /// The upstream, or this server's stop, has ended it.
    Failed,
    /// It cost nothing.
    Void,
}

/// What is known, or estimated, of a call's tokens.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Meter {
    /// Our estimate of the prompt.
    pub(crate) prompt: i64,
    /// Our estimate of what came so far.
    pub(crate) answer: i64,
    /// What the upstream told last; it tells sums.
    pub(crate) told: Option<Usage>,
}

impl Meter {
    /// The tokens, as told or as estimated.
    pub(crate) fn tokens(&self) -> Usage {
        let estimate =
            Usage { input: self.prompt, cached_input: 0, output: self.answer, connector: 0 };
        self.told.unwrap_or(estimate)
    }
}

impl Meter {
    /// All tokens together.
    fn total(&self) -> i64 {
        let Usage { input, output, .. } = self.tokens();
        input.saturating_add(output)
    }
}

impl Ticket {
    /// Ends a call that its upstream failed. Nothing is owed to one that has
    /// said nothing but that it would not answer.
    pub(crate) fn fail(&mut self, cost: Cost) {
        self.end = match cost {
            Cost::Nothing => End::Void,
            Cost::Something => End::Failed,
        };
    }
}

/// Whether a failed call may have cost something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cost {
    Nothing,
    Something,
}

impl Drop for Ticket {
    fn drop(&mut self) {
        if let Some(slot) = &mut self.slot {
            slot.took = self.meter.total();
        }
        let outcome = match self.end {
            End::Void => return,
            End::Open => Outcome::Abandoned,
            End::Completed => Outcome::Completed,
            End::Failed => Outcome::Failed,
        };
        self.log.note(UsageRecord {
            id: Uuid::now_v7(),
            at: self.clock.now(),
            user: self.user,
            mode: self.mode,
            provider: self.target.provider.name(),
            model: self.target.model.clone(),
            tokens: self.meter.tokens(),
            estimated: self.meter.told.is_none(),
            outcome,
        });
    }
}
