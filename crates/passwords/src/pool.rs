//! A few threads that do long computations, and the short queue before them.

use std::collections::VecDeque;
use std::num::NonZeroUsize;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use std::{io, thread};

use pia_kernel::Unavailable;
use tokio::sync::oneshot;

use crate::memory::HashMemory;

/// Nice value of hashing threads, of 19 at most.
#[cfg(target_os = "linux")]
const NICE: i32 = 10;

/// Time for which an idle thread keeps its memory: consecutive sign-ins find
/// its pages warm.
const LINGER: Duration = Duration::from_secs(1);

type Work = Box<dyn FnOnce(&mut HashMemory) + Send>;

/// Threads of our own rather than the runtime's: those are hundreds, each
/// would need its memory, and file access waits for them too.
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
    in_hand: usize,
    closed: bool,
}

/// Lets everybody else have the processor first: who waits for a hash waits
/// long anyway, and must not make all others wait as long.
#[cfg(target_os = "linux")]
fn step_back() {
    // Linux has it for the calling thread, not for its process.
    // Where it is not allowed, hashing goes on as before.
    let _allowed = rustix::process::setpriority_process(None, NICE);
}

#[cfg(not(target_os = "linux"))]
fn step_back() {}

impl Pool {
    /// Starts the threads. They end with the pool, each after its work in hand.
    pub(crate) fn start(threads: NonZeroUsize, most_waiting: usize) -> io::Result<Self> {
        // A thread may yet have to wake for what it will take in hand.
        let max = most_waiting.saturating_add(threads.get());
        let pool = Self { queue: Arc::default(), max };
        for number in 1..=threads.get() {
            let queue = Arc::clone(&pool.queue);
            let name = format!("passwords-{number}");
            thread::Builder::new().name(name).spawn(move || {
                step_back();
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
        let (reply, answer) = oneshot::channel();
        let work = Box::new(move |memory: &mut HashMemory| {
            if !reply.is_closed() {
                // A caller who leaves now is not there to be answered.
                drop(reply.send(work(memory)));
            }
        });
        self.queue.put(work, self.max)?;
        answer.await.map_err(|err| Unavailable::new("password hashing", err))
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
        if state.waiting.len() + state.in_hand >= max {
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
            // One that panics must not cost the pool a thread.
            if catch_unwind(AssertUnwindSafe(|| work(&mut memory))).is_err() {
                memory = HashMemory::default();
            }
            self.lock().in_hand -= 1;
        }
    }

    /// The next work; after some waiting, the thread gives its memory back.
    fn next(&self, memory: &mut HashMemory) -> Option<Work> {
        let mut state = self.lock();
        loop {
            if state.closed {
                return None;
            }
            if let Some(work) = state.waiting.pop_front() {
                state.in_hand += 1;
                return Some(work);
            }
            if !memory.is_held() {
                state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
                continue;
            }
            let waited = self.changed.wait_timeout(state, LINGER);
            let (waited, outcome) = waited.unwrap_or_else(PoisonError::into_inner);
            state = waited;
            if outcome.timed_out() && state.waiting.is_empty() {
                drop(state);
                memory.give_back();
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
    async fn a_thread_that_has_yet_to_wake_takes_nobodys_place() {
        for _ in 0..200 {
            let pool = Pool::start(NonZeroUsize::MIN, 1).unwrap();

            let both = tokio::join!(pool.run(|_| 1), pool.run(|_| 2));

            assert_eq!((both.0.unwrap(), both.1.unwrap()), (1, 2));
        }
    }

    /// A pool of one thread, which is busy until the answered end is dropped.
    async fn busy(most_waiting: usize) -> (Arc<Pool>, mpsc::Sender<()>) {
        let pool = Arc::new(Pool::start(NonZeroUsize::MIN, most_waiting.max(1)).unwrap());
        let (hold, held) = mpsc::channel::<()>();
        let (begun, begins) = oneshot::channel();
        let occupied = Arc::clone(&pool);
        #[expect(clippy::disallowed_methods, reason = "a test waits for it by what it does")]
        tokio::spawn(async move {
            let work = move |_: &mut HashMemory| {
                begun.send(()).unwrap();
                held.recv().is_err()
            };
            occupied.run(work).await
        });
        begins.await.unwrap();
        (pool, hold)
    }

    #[tokio::test]
    async fn what_finds_the_queue_full_is_refused_at_once() {
        let (pool, hold) = busy(2).await;
        let mut first = Box::pin(pool.run(|_| 1));
        let mut second = Box::pin(pool.run(|_| 2));
        assert!(waits(&mut first).await && waits(&mut second).await);

        let third = pool.run(|_| 3).await;

        assert!(third.is_err());
        drop(hold);
        assert_eq!((first.await.unwrap(), second.await.unwrap()), (1, 2));
    }

    #[tokio::test]
    async fn work_whose_caller_has_gone_is_not_begun() {
        let (pool, hold) = busy(8).await;
        let begun = Arc::new(AtomicUsize::new(0));
        let counted = || {
            let begun = Arc::clone(&begun);
            move |_: &mut HashMemory| begun.fetch_add(1, Ordering::SeqCst)
        };
        let mut left = Box::pin(pool.run(counted()));
        assert!(waits(&mut left).await);

        drop(left);
        let stayed = pool.run(counted());
        drop(hold);

        assert_eq!(stayed.await.unwrap(), 0);
    }

    #[tokio::test]
    async fn work_that_panics_costs_its_own_answer_only() {
        let pool = Pool::start(NonZeroUsize::MIN, 8).unwrap();

        let panicked = pool.run(|_| panic!("on purpose")).await;

        assert!(panicked.is_err());
        assert_eq!(pool.run(|_| 1).await.unwrap(), 1);
    }

    /// Begins a future. Answers whether it waits.
    async fn waits<F: Future + Unpin>(future: &mut F) -> bool {
        std::future::poll_fn(|context| {
            std::task::Poll::Ready(std::pin::Pin::new(&mut *future).poll(context).is_pending())
        })
        .await
    }
}
