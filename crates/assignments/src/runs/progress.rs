//! Progress of a step while it is executed.

use std::time::Duration;

use tokio::join;
use tokio::sync::{Notify, watch};
use tokio::time::sleep;

use super::Runs;
use crate::event::{EventKind, NewEvent};
use crate::ports::step_executor::{StepError, StepRequest, StepResponse};
use crate::run::{Run, RunOutcome};

/// Minimum time between two events of progress. What is reported meanwhile is replaced
/// by the last report.
const EVERY: Duration = Duration::from_secs(10);
/// Maximum number of events of progress in a step.
const MAX_EVENTS: u32 = 100;

impl Runs {
    /// Executes a step of a run, and appends its progress to the run's events meanwhile.
    pub(super) async fn execute(
        &self,
        run: &Run,
        request: StepRequest,
    ) -> Result<StepResponse, StepError> {
        let (sender, progress) = watch::channel(String::new());
        let ended = Notify::new();
        let execute = async {
            let response = self.steps.execute(request, sender).await;
            ended.notify_one();
            response
        };
        join!(execute, self.append_progress(run, progress, &ended)).0
    }

    async fn append_progress(
        &self,
        run: &Run,
        mut progress: watch::Receiver<String>,
        ended: &Notify,
    ) {
        for number in 0..MAX_EVENTS {
            tokio::select! {
                biased;
                () = ended.notified() => return,
                Ok(()) = progress.changed() => {}
            }
            let message = progress.borrow_and_update().clone();
            // A step that another worker repeats reports again.
            let key = format!("progress:{}:{}:{number}", run.step_count, run.claim.fence);
            let event = NewEvent::once(EventKind::Progress, &message).by_other();
            let change = self.change(0, vec![NewEvent { key, ..event }], RunOutcome::Progressed);
            if let Err(err) = self.store.change(run.claim, change).await {
                tracing::warn!(error = %err, "the progress of an assignment was not stored");
            }
            tokio::select! {
                () = sleep(EVERY) => {}
                () = ended.notified() => return,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use async_trait::async_trait;
    use pia_kernel::{Unavailable, UserId};

    use super::*;
    use crate::fakes::{clock, run, settings};
    use crate::{MockRunStore, SkillMode, StepExecutor};

    /// Pod that reports its progress.
    struct Reporter;

    #[async_trait]
    impl StepExecutor for Reporter {
        async fn tools(&self, _: UserId, _: SkillMode) -> Result<Option<Vec<String>>, Unavailable> {
            Ok(Some(Vec::new()))
        }

        async fn execute(
            &self,
            _: StepRequest,
            progress: watch::Sender<String>,
        ) -> Result<StepResponse, StepError> {
            for report in ["Reading.", "Sorting.", "Writing."] {
                progress.send_replace(report.to_owned());
                sleep(Duration::from_secs(6)).await;
            }
            Err(StepError::Busy { retry_after: None })
        }
    }

    #[tokio::test(start_paused = true)]
    async fn the_last_report_of_ten_seconds_is_appended() {
        let (mut store, messages) = (MockRunStore::new(), Arc::new(Mutex::new(Vec::new())));
        let recorded = Arc::clone(&messages);
        store.expect_change().returning(move |_, change| {
            recorded.lock().unwrap().extend(change.events.into_iter().map(|it| it.message));
            Ok(true)
        });
        let (store, steps) = (Arc::new(store), Arc::new(Reporter));
        let runs = Runs { store, steps, settings: settings(), clock: clock() };

        runs.advance(run()).await.unwrap();

        assert_eq!(*messages.lock().unwrap(), ["Reading.", "Sorting."]);
    }
}
