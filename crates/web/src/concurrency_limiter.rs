//! Limit of concurrent use cases, with a queue.

use std::num::NonZeroUsize;
use std::sync::Arc;

use tokio::sync::Semaphore;

use crate::{ApiError, Runner};

/// Runs a few use cases at a time; the others wait in a queue, in the order of
/// their arrival and without having started. If all started at once, they would
/// be no faster, as each waits for the same few threads, and their first steps
/// would delay all other requests.
#[derive(Clone)]
pub struct ConcurrencyLimiter {
    runner: Runner,
    /// Slots of running and waiting use cases.
    queue_slots: Arc<Semaphore>,
    run_slots: Arc<Semaphore>,
}

impl ConcurrencyLimiter {
    /// Creates a limiter that runs at most `max_running` use cases at a time, and
    /// refuses more than `max_admitted` that run or wait.
    pub fn new(runner: Runner, max_running: NonZeroUsize, max_admitted: NonZeroUsize) -> Self {
        let semaphore =
            |it: NonZeroUsize| Arc::new(Semaphore::new(it.get().min(Semaphore::MAX_PERMITS)));
        Self { runner, queue_slots: semaphore(max_admitted), run_slots: semaphore(max_running) }
    }

    /// Runs a use case to its end when its turn comes. A caller that
    /// disconnects earlier leaves the queue; if the queue is full, the error is
    /// temporary.
    pub async fn run<T, E, F>(&self, use_case: F) -> Result<T, ApiError>
    where
        F: Future<Output = Result<T, E>> + Send + 'static,
        T: Send + 'static,
        E: Into<ApiError> + Send + 'static,
    {
        let queue_full = |_| ApiError::overloaded("too many wait in line");
        let queue_slot = Arc::clone(&self.queue_slots).try_acquire_owned().map_err(queue_full)?;
        let run_slot =
            Arc::clone(&self.run_slots).acquire_owned().await.map_err(ApiError::internal)?;
        let running = async move {
            let result = use_case.await;
            drop((run_slot, queue_slot));
            result
        };
        self.runner.run(running).await
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use futures_util::FutureExt;
    use futures_util::future::join_all;
    use pia_kernel::Unavailable;
    use tokio::sync::oneshot;

    use super::*;

    const ONE: NonZeroUsize = NonZeroUsize::MIN;

    #[tokio::test]
    async fn no_more_use_cases_run_at_once_than_allowed() {
        let limiter = ConcurrencyLimiter::new(
            Runner::on_current_runtime(),
            NonZeroUsize::new(2).unwrap(),
            NonZeroUsize::new(100).unwrap(),
        );
        let running_count = Arc::new(AtomicUsize::new(0));
        let max_count = Arc::new(AtomicUsize::new(0));

        let results = join_all((0..50).map(|number| {
            let limiter = limiter.clone();
            let running_count = Arc::clone(&running_count);
            let max_count = Arc::clone(&max_count);
            async move {
                let use_case = async move {
                    let count = running_count.fetch_add(1, Ordering::SeqCst) + 1;
                    max_count.fetch_max(count, Ordering::SeqCst);
                    tokio::task::yield_now().await;
                    running_count.fetch_sub(1, Ordering::SeqCst);
                    Ok::<_, Unavailable>(number)
                };
                limiter.run(use_case).await.unwrap()
            }
        }))
        .await;

        assert_eq!(results, (0..50).collect::<Vec<_>>());
        assert_eq!(max_count.load(Ordering::SeqCst), 2);
    }

    #[tokio::test]
    async fn a_full_queue_is_reported_and_a_cancelled_caller_leaves_it() {
        let limiter = ConcurrencyLimiter::new(
            Runner::on_current_runtime(),
            ONE,
            NonZeroUsize::new(2).unwrap(),
        );
        let (end_sender, end_receiver) = oneshot::channel::<()>();
        let slow_case = async { Ok::<_, Unavailable>(end_receiver.await.is_ok()) };
        let mut running = Box::pin(limiter.run(slow_case));
        assert!(running.as_mut().now_or_never().is_none());
        let mut cancelled = Box::pin(limiter.run(async { Ok::<_, Unavailable>(1) }));
        assert!(cancelled.as_mut().now_or_never().is_none());

        let refusal = limiter.run(async { Ok::<_, Unavailable>(2) }).await;
        drop(cancelled);
        let mut waiting = Box::pin(limiter.run(async { Ok::<_, Unavailable>(3) }));
        assert!(waiting.as_mut().now_or_never().is_none());
        drop(end_sender);

        assert!(refusal.is_err());
        assert_eq!(waiting.await.unwrap(), 3);
        assert!(!running.await.unwrap());
    }
}
