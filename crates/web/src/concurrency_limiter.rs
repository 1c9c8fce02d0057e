//! A line before use cases that many ask for at once.

use std::num::NonZeroUsize;
use std::sync::Arc;

use tokio::sync::Semaphore;

use crate::{ApiError, Runner};

/// Runs a few use cases at a time and lets the others wait in line, in the
/// order in which they came and having begun nothing. All that begin at once
/// would be no sooner done where each waits for the same few threads, and
/// their first steps would stand before everybody else's.
#[derive(Clone)]
pub struct ConcurrencyLimiter {
    runner: Runner,
    /// For who is served and who waits.
    queue_slots: Arc<Semaphore>,
    run_slots: Arc<Semaphore>,
}

impl ConcurrencyLimiter {
    /// A line before `places`, with room for so many who are served or wait.
    pub fn before(runner: Runner, places: NonZeroUsize, room: NonZeroUsize) -> Self {
        let of = |it: NonZeroUsize| Arc::new(Semaphore::new(it.get().min(Semaphore::MAX_PERMITS)));
        Self { runner, queue_slots: of(room), run_slots: of(places) }
    }

    /// Runs a use case when its turn has come, and then to its end. Who hangs
    /// up before leaves the line; who finds it full must come again.
    pub async fn run<T, E, F>(&self, use_case: F) -> Result<T, ApiError>
    where
        F: Future<Output = Result<T, E>> + Send + 'static,
        T: Send + 'static,
        E: Into<ApiError> + Send + 'static,
    {
        let full = |_| ApiError::overloaded("too many wait in line");
        let room = Arc::clone(&self.queue_slots).try_acquire_owned().map_err(full)?;
        let place =
            Arc::clone(&self.run_slots).acquire_owned().await.map_err(ApiError::internal)?;
        let served = async move {
            let done = use_case.await;
            drop((place, room));
            done
        };
        self.runner.run(served).await
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
    async fn no_more_are_served_at_once_than_there_are_places() {
        let two = NonZeroUsize::new(2).unwrap();
        let line = ConcurrencyLimiter::before(
            Runner::on_current_runtime(),
            two,
            NonZeroUsize::new(100).unwrap(),
        );
        let (now, max) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));

        let served = join_all((0..50).map(|number| {
            let (line, now, max) = (line.clone(), Arc::clone(&now), Arc::clone(&max));
            async move {
                let use_case = async move {
                    max.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                    tokio::task::yield_now().await;
                    now.fetch_sub(1, Ordering::SeqCst);
                    Ok::<_, Unavailable>(number)
                };
                line.run(use_case).await.unwrap()
            }
        }))
        .await;

        assert_eq!(served, (0..50).collect::<Vec<_>>());
        assert_eq!(max.load(Ordering::SeqCst), 2);
    }

    #[tokio::test]
    async fn who_finds_the_line_full_is_reported_and_who_leaves_makes_room() {
        let line = ConcurrencyLimiter::before(
            Runner::on_current_runtime(),
            ONE,
            NonZeroUsize::new(2).unwrap(),
        );
        let (end, ended) = oneshot::channel::<()>();
        let long = async { Ok::<_, Unavailable>(ended.await.is_ok()) };
        let mut served = Box::pin(line.run(long));
        assert!(served.as_mut().now_or_never().is_none());
        let mut waits = Box::pin(line.run(async { Ok::<_, Unavailable>(1) }));
        assert!(waits.as_mut().now_or_never().is_none());

        let refused = line.run(async { Ok::<_, Unavailable>(2) }).await;
        drop(waits);
        let mut next = Box::pin(line.run(async { Ok::<_, Unavailable>(3) }));
        assert!(next.as_mut().now_or_never().is_none());
        drop(end);

        assert!(refused.is_err());
        assert_eq!(next.await.unwrap(), 3);
        assert!(!served.await.unwrap());
    }
}
