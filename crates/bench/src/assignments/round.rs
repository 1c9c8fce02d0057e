//! Round: the queue, the wakening and the lists on one database.
//!
//! All runs are enqueued before the first is claimed, so that the figure of the
//! queue is that of a full one. Then as many plain commits as the runs had steps
//! measure the bound that the database sets. Every later figure is a percentile of
//! requests one after the other.

use std::sync::Arc;
use std::time::Instant;

use futures_util::future::try_join_all;
use pia_assignments::{Advance, AssignmentStore};
use pia_kernel::{AssignmentId, UserId};
use tokio::runtime::Runtime;
use tokio::sync::Notify;

use super::Plan;
use super::figures::Metric;
use super::plane::{Plane, WORKERS};
use crate::failure::Outcome;
use crate::measured::Figures;
use crate::postgres::Session;
use crate::process::own_memory;
use crate::stats::{count, percentile};

const STEPS: usize = 3;
/// Number of the current transaction id.
const CURRENT: &str = "SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint";

pub(super) struct Round<'a> {
    pub(super) plan: &'a Plan,
    pub(super) plane: &'a Plane,
    pub(super) runtime: &'a Runtime,
    pub(super) place: usize,
}

impl Round<'_> {
    pub(super) fn run(self, url: Option<&str>, figures: &mut Figures<Metric>) -> Outcome<()> {
        let mut record = |metric, value| figures.record(self.place, metric, value);
        let user = *self.plane.users.first().ok_or("no user")?;
        let enqueue_times = self.queue(url, &mut record)?;
        let start = Instant::now();
        let commits = self.runtime.block_on(self.commits())?;
        record(Metric::Commits, count(commits) / start.elapsed().as_secs_f64());

        let commit = self.percentile(0.5, || async { Ok(self.plane.commit(user).await?) })?;
        let enqueue = percentile(&enqueue_times, 0.5).ok_or("no requests")?;
        record(Metric::Commit, commit);
        record(Metric::Enqueue, enqueue);
        record(Metric::EnqueueOverCommit, enqueue - commit);
        record(Metric::FirstEvent, self.first_event(user, &self.plane.wake)?);

        if url.is_some() {
            let woken = Arc::new(Notify::new());
            let store = Arc::clone(&self.plane.store);
            let wake = Arc::clone(&woken);
            let listener = self.runtime.spawn(async move { store.wake_when_queued(&wake).await });
            // The first notification says that the listener listens.
            self.runtime.block_on(woken.notified());
            record(Metric::FirstEventElsewhere, self.first_event(user, &woken)?);
            listener.abort();
        }

        record(Metric::List, self.percentile(0.99, || self.full_list(Some(user)))?);
        record(Metric::ListAll, self.percentile(0.99, || self.full_list(None))?);
        let id = self.runtime.block_on(self.plane.enqueue(user))?;
        self.runtime.block_on(self.drain())?;
        record(Metric::Load, self.percentile(0.99, || self.load(user, id))?);
        Ok(())
    }

    /// Hands over all runs, and advances them to their ends. Returns the times of
    /// handing over in milliseconds.
    fn queue(&self, url: Option<&str>, mut record: impl FnMut(Metric, f64)) -> Outcome<Vec<f64>> {
        let memory_before = own_memory("VmRSS:")?;
        let mut enqueue_times = Vec::new();
        for user in self.plane.users.iter().cycle().take(self.plan.runs) {
            enqueue_times.push(self.timed(self.plane.enqueue(*user))?);
        }
        record(Metric::Waiting, own_memory("VmRSS:")? - memory_before);

        let session = url.map(Session::open).transpose()?;
        let first_commit = session.as_ref().map(|it| it.number(CURRENT)).transpose()?;
        let start = Instant::now();
        let runs = self.runtime.block_on(self.drain())?;
        record(Metric::Runs, count(runs) / start.elapsed().as_secs_f64());
        if runs != self.plan.runs {
            return Err(format!("{runs} runs ended, of {}", self.plan.runs).into());
        }
        if let Some((session, first)) = session.as_ref().zip(first_commit) {
            let commits = usize::try_from(session.number(CURRENT)? - first)?;
            record(Metric::CommitsOfStep, count(commits) / count(runs * STEPS));
        }

        Ok(enqueue_times)
    }

    /// Returns the time of a request in milliseconds.
    fn timed<T>(&self, request: impl Future<Output = Outcome<T>>) -> Outcome<f64> {
        let start = Instant::now();
        self.runtime.block_on(request)?;
        Ok(start.elapsed().as_secs_f64() * 1e3)
    }

    /// Returns a percentile of the times of requests, one after the other.
    fn percentile<T, F: Future<Output = Outcome<T>>>(
        &self,
        share: f64,
        request: impl Fn() -> F,
    ) -> Outcome<f64> {
        let times =
            (0..self.plan.requests).map(|_| self.timed(request())).collect::<Outcome<Vec<_>>>()?;
        percentile(&times, share).ok_or_else(|| "no requests".into())
    }

    /// Advances runs until none is due. Returns the number of runs that ended.
    async fn drain(&self) -> Outcome<usize> {
        let work = (0..WORKERS).map(|_| {
            let runs = self.plane.runs.clone();
            let worker = self.plane.worker;
            self.runtime.spawn(async move {
                let mut ended = 0;
                while let Some(mut run) = runs.claim(worker).await? {
                    while let Advance::Continue(next) = runs.advance(run).await? {
                        run = *next;
                    }
                    ended += 1;
                }
                Ok::<usize, pia_kernel::Unavailable>(ended)
            })
        });

        let ended = try_join_all(work).await?;
        Ok(ended.into_iter().sum::<Result<usize, _>>()?)
    }

    /// Commits as many changes as the runs had steps, by each worker to a row of
    /// its own.
    async fn commits(&self) -> Outcome<usize> {
        let each = self.plan.runs * STEPS / WORKERS;
        let work = self.plane.users.iter().take(WORKERS).map(|user| {
            let plane = self.plane.clone();
            let user = *user;
            self.runtime.spawn(async move {
                for _ in 0..each {
                    plane.commit(user).await?;
                }
                Ok::<usize, pia_storage::DbError>(each)
            })
        });

        let commits = try_join_all(work).await?;
        Ok(commits.into_iter().sum::<Result<usize, _>>()?)
    }

    /// Returns the p99 from handing over to the first event by a worker that waits
    /// for `wake`.
    fn first_event(&self, user: UserId, wake: &Arc<Notify>) -> Outcome<f64> {
        let request = || async {
            let plane = self.plane.clone();
            let wake = Arc::clone(wake);
            let claimed = self.runtime.spawn(async move {
                loop {
                    if let Some(run) = plane.runs.claim(plane.worker).await? {
                        return Ok::<_, pia_kernel::Unavailable>((run, Instant::now()));
                    }
                    wake.notified().await;
                }
            });

            // The worker waits by then.
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
            let start = Instant::now();
            self.plane.enqueue(user).await?;
            let (mut run, at) = claimed.await??;
            while let Advance::Continue(next) = self.plane.runs.advance(run).await? {
                run = *next;
            }

            Ok((at - start).as_secs_f64() * 1e3)
        };

        let times = (0..self.plan.requests)
            .map(|_| self.runtime.block_on(request()))
            .collect::<Outcome<Vec<f64>>>()?;
        percentile(&times, 0.99).ok_or_else(|| "no requests".into())
    }

    async fn full_list(&self, user: Option<UserId>) -> Outcome<()> {
        match self.plane.list(user).await? {
            50 => Ok(()),
            count => Err(format!("a list has {count} assignments").into()),
        }
    }

    async fn load(&self, user: UserId, id: AssignmentId) -> Outcome<()> {
        let loaded = AssignmentStore::load(&*self.plane.store, user, id).await?;
        match loaded.ok_or("an assignment is gone")?.artifact_text {
            Some(_) => Ok(()),
            None => Err("an assignment has no artifact".into()),
        }
    }
}
