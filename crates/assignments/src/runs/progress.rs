//! Progress of a step while it is executed. `Runs::advance` passes it to the
//! executor; an event that comes after the claim was lost is dropped by the
//! store.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use pia_kernel::Clock;

use super::run_change;
use crate::event::{EventKind, NewEvent};
use crate::ports::run_store::RunStore;
use crate::run::{Run, RunClaim, RunOutcome};

/// Maximum number of events of progress in a step.
const MAX_EVENTS: u32 = 100;

/// Progress of a step, which its executor appends to the events of the run.
#[derive(Clone)]
pub struct StepProgress {
    store: Arc<dyn RunStore>,
    clock: Arc<dyn Clock>,
    claim: RunClaim,
    step: i32,
    appended: Arc<AtomicU32>,
}

impl StepProgress {
    pub(crate) fn new(store: Arc<dyn RunStore>, clock: Arc<dyn Clock>, run: &Run) -> Self {
        Self { store, clock, claim: run.claim, step: run.step_count, appended: Arc::default() }
    }

    /// Returns whether the outcome of the step will be accepted. It will not once the
    /// run has ended or another worker has claimed it. A store that is not available
    /// counts as yes.
    pub async fn is_claimed(&self) -> bool {
        self.store.holds(self.claim).await.unwrap_or(true)
    }

    /// Appends an event with a sentence for a person, up to a hundred in a step. A
    /// failure is logged: the step goes on without the event.
    pub async fn append(&self, message: &str) {
        let number = self.appended.fetch_add(1, Ordering::Relaxed);
        if number >= MAX_EVENTS {
            tracing::warn!(assignment.id = %self.claim.id, "progress is not stored any more");
            return;
        }

        // A step that another worker repeats reports again.
        let key = format!("progress:{}:{}:{number}", self.step, self.claim.fence);
        let event = NewEvent { key, ..NewEvent::once(EventKind::Progress, message).by_other() };
        let change = run_change(self.clock.now(), 0, vec![event], RunOutcome::Progressed);
        if let Err(err) = self.store.change(self.claim, change).await {
            tracing::warn!(error = %err, "the progress of an assignment was not stored");
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use pia_kernel::Unavailable;

    use super::*;
    use crate::MockRunStore;
    use crate::fakes::{clock, new_run};

    #[tokio::test]
    async fn a_step_appends_a_hundred_reports_at_most() {
        let mut store = MockRunStore::new();
        let keys = Arc::new(Mutex::new(Vec::new()));
        let recorded = Arc::clone(&keys);
        store.expect_change().returning(move |_, change| {
            assert_eq!(change.outcome, RunOutcome::Progressed);
            recorded.lock().unwrap().extend(change.events.into_iter().map(|it| it.key));
            Ok(true)
        });
        let progress = StepProgress::new(Arc::new(store), clock(), &new_run());

        for _ in 0..=MAX_EVENTS {
            progress.append("Reading.").await;
        }

        let mut distinct_keys = keys.lock().unwrap().clone();
        distinct_keys.dedup();
        assert_eq!(distinct_keys.len(), 100);
    }

    #[tokio::test]
    async fn a_step_goes_on_while_the_store_is_not_available() {
        for (answer, expected) in [(Some(true), true), (Some(false), false), (None, true)] {
            let mut store = MockRunStore::new();
            store.expect_holds().returning(move |_| {
                answer.ok_or_else(|| Unavailable::new("database", std::fmt::Error))
            });
            let progress = StepProgress::new(Arc::new(store), clock(), &new_run());

            assert_eq!(progress.is_claimed().await, expected, "{answer:?}");
        }
    }
}
