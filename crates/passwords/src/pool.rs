//! Thread pool for CPU-bound work, with a bounded queue.
//!
//! `Pool::run` puts work into the queue and waits for its result; each thread
//! runs `Queue::serve`. One mutex guards the queue, and is never locked while
//! work runs.

use std::collections::VecDeque;
use std::num::NonZeroUsize;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use std::{io, thread};

use pia_kernel::Unavailable;
use tokio::sync::oneshot;

use crate::memory::HashMemory;

/// Nice value of hashing threads; the maximum is 19.
#[cfg(target_os = "linux")]
const NICE: i32 = 10;

/// Time for which an idle thread retains its memory: consecutive sign-ins reuse warm pages.
const LINGER: Duration = Duration::from_secs(1);

type Work = Box<dyn FnOnce(&mut HashMemory) + Send>;

/// Dedicated threads rather than the runtime's: those are hundreds, each would need its memory, and
/// file access uses them too.
pub(crate) struct Pool {
    queue: Arc<Queue>,
    /// Maximum number of hashes, running and waiting.
    max: usize,
}

#[derive(Default)]
struct Queue {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<Work>,
    running: usize,
    closed: bool,
}

/// Lowers the priority of the thread: hashing is slow anyway and must not delay other work.
#[cfg(target_os = "linux")]
fn lower_priority() {
    // Linux applies it to the calling thread, not to its process. If it is not permitted, hashing
    // runs at normal priority.
    let _allowed = rustix::process::setpriority_process(None, NICE);
}

#[cfg(not(target_os = "linux"))]
fn lower_priority() {}

impl Pool {
    /// Starts the threads. They end with the pool, each after its current work.
    pub(crate) fn start(threads: NonZeroUsize, max_waiting: usize) -> io::Result<Self> {
        // Work may still be queued although a thread is about to take it.
        let max = max_waiting.saturating_add(threads.get());
        let pool = Self { queue: Arc::default(), max };

        for number in 1..=threads.get() {
            let queue = Arc::clone(&pool.queue);
            let name = format!("passwords-{number}");
            thread::Builder::new().name(name).spawn(move || {
                lower_priority();
                queue.serve();
            })?;
        }

        Ok(pool)
    }

    /// Runs `work` on the pool and returns its result. It is refused at once if
    /// the queue is full, and dropped before it starts if its caller has gone.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut HashMemory) -> T + Send + 'static,
    ) -> Result<T, Unavailable> {
        let (reply, result) = oneshot::channel();
        let task = Box::new(move |memory: &mut HashMemory| {
            if !reply.is_closed() {
                // The caller may have gone meanwhile.
                drop(reply.send(work(memory)));
            }
        });
        self.queue.put(task, self.max)?;
        result.await.map_err(|err| Unavailable::new("password hashing", err))
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.queue.lock().closed = true;
        self.queue.changed.notify_all();
    }
}

impl Queue {
    fn put(&self, work: Work, max: usize) -> Result<(), Unavailable> {
        let mut state = self.lock();
        if state.waiting.len() + state.running >= max {
            return Err(Unavailable::new("password hashing", "too many passwords are waiting"));
        }
        state.waiting.push_back(work);
        drop(state);
        self.changed.notify_one();
        Ok(())
    }

    fn serve(&self) {
        let mut memory = HashMemory::default();
        while let Some(work) = self.next(&mut memory) {
            // A panic must not cost the pool a thread.
            if catch_unwind(AssertUnwindSafe(|| work(&mut memory))).is_err() {
                memory = HashMemory::default();
            }
            self.lock().running -= 1;
        }
    }

    /// Returns the next work; releases the memory after `LINGER` without any.
    fn next(&self, memory: &mut HashMemory) -> Option<Work> {
        let mut state = self.lock();
        loop {
            // Work that still waits is dropped, and its callers get an error.
            if state.closed {
                return None;
            }
            if let Some(work) = state.waiting.pop_front() {
                state.running += 1;
                return Some(work);
            }
            if !memory.is_allocated() {
                state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
                continue;
            }

            let (next_state, outcome) =
                self.changed.wait_timeout(state, LINGER).unwrap_or_else(PoisonError::into_inner);
            state = next_state;

            if outcome.timed_out() && state.waiting.is_empty() {
                drop(state);
                memory.release();
                state = self.lock();
            }
        }
    }

    /// Locks the state. Nothing panics while it is held, so a poisoned one is still valid.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::mpsc;

    use super::*;

    #[tokio::test]
    async fn an_idle_thread_adds_to_the_capacity() {
        for _ in 0..200 {
            let pool = Pool::start(NonZeroUsize::MIN, 1).unwrap();

            let (run_result, queued_result) = tokio::join!(pool.run(|_| 1), pool.run(|_| 2));

            assert_eq!(run_result.unwrap(), 1);
            assert_eq!(queued_result.unwrap(), 2);
        }
    }

    /// Returns a pool of one thread, which is busy until the returned sender is dropped.
    async fn busy(max_waiting: usize) -> (Arc<Pool>, mpsc::Sender<()>) {
        let pool = Arc::new(Pool::start(NonZeroUsize::MIN, max_waiting.max(1)).unwrap());
        let (hold, released) = mpsc::channel::<()>();
        let (started, has_started) = oneshot::channel();
        let occupied = Arc::clone(&pool);
        #[expect(clippy::disallowed_methods, reason = "a test waits for it by what it does")]
        tokio::spawn(async move {
            occupied
                .run(move |_| {
                    started.send(()).unwrap();
                    released.recv().is_err()
                })
                .await
        });
        has_started.await.unwrap();
        (pool, hold)
    }

    #[tokio::test]
    async fn work_beyond_the_queues_capacity_is_refused_at_once() {
        let (pool, hold) = busy(2).await;
        let mut queued_run = Box::pin(pool.run(|_| 1));
        let mut last_queued_run = Box::pin(pool.run(|_| 2));
        assert!(is_pending(&mut queued_run).await);
        assert!(is_pending(&mut last_queued_run).await);

        let refusal = pool.run(|_| 3).await;

        assert!(refusal.is_err());
        drop(hold);
        assert_eq!(queued_run.await.unwrap(), 1);
        assert_eq!(last_queued_run.await.unwrap(), 2);
    }

    #[tokio::test]
    async fn work_whose_caller_has_gone_is_not_started() {
        let (pool, hold) = busy(8).await;
        let counter = Arc::new(AtomicUsize::new(0));
        let mut abandoned = Box::pin(pool.run(increment(Arc::clone(&counter))));
        assert!(is_pending(&mut abandoned).await);

        drop(abandoned);
        let awaited = pool.run(increment(Arc::clone(&counter)));
        drop(hold);

        assert_eq!(awaited.await.unwrap(), 0);
    }

    /// Returns work that increments a counter and returns its value before.
    fn increment(counter: Arc<AtomicUsize>) -> impl FnOnce(&mut HashMemory) -> usize {
        move |_| counter.fetch_add(1, Ordering::SeqCst)
    }

    #[tokio::test]
    async fn a_panic_fails_only_its_own_work() {
        let pool = Pool::start(NonZeroUsize::MIN, 8).unwrap();

        let outcome = pool.run(|_| panic!("on purpose")).await;

        assert!(outcome.is_err());
        assert_eq!(pool.run(|_| 1).await.unwrap(), 1);
    }

    /// Polls a future once. Returns whether it is pending.
    async fn is_pending<F: Future + Unpin>(future: &mut F) -> bool {
        std::future::poll_fn(|context| {
            std::task::Poll::Ready(std::pin::Pin::new(&mut *future).poll(context).is_pending())
        })
        .await
    }
}
