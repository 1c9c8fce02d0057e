//! Contract test of all operations in random order, against a model in memory.

use std::collections::BTreeMap;
use std::time::Duration;

use pia_assignments::{
    AssignmentStatus, AssignmentStore, Attempt, CollectionOutcome, EventKind, NewEvent, Run,
    RunChange, RunClaim, RunOutcome, RunStore, WorkerId,
};
use pia_kernel::{AssignmentId, SideEffects, Timestamp, UserId};
use pia_storage::Database;
use pia_storage_assignments::SqlAssignments;

use crate::fixture::{
    LEASE, assignment, at, claim, completion, create_person, failure, forced_end, kinds,
    live_worker, load, open_store, start_event, step_change,
};

pia_testkit::contract_with_roles! {
    random_operations_take_permitted_transitions_only,
}

/// Assignment in the model.
#[derive(Debug, Clone)]
struct Model {
    status: AssignmentStatus,
    steps: i32,
    due_at: Timestamp,
    worker: Option<WorkerId>,
    fence: i64,
    is_redacted: bool,
    tokens_spent: i64,
    tokens_abandoned: i64,
    kinds: Vec<&'static str>,
}

/// Worker in the model.
struct WalkWorker {
    id: WorkerId,
    is_alive: bool,
}

struct Walk {
    store: SqlAssignments,
    db: Database,
    user: UserId,
    workers: Vec<WalkWorker>,
    models: BTreeMap<AssignmentId, Model>,
    claims: Vec<RunClaim>,
    seed: u64,
    now: Timestamp,
}

impl Model {
    fn new(now: Timestamp) -> Self {
        Self {
            status: AssignmentStatus::Queued,
            steps: 0,
            due_at: now,
            worker: None,
            fence: 0,
            is_redacted: false,
            tokens_spent: 0,
            tokens_abandoned: 0,
            kinds: vec!["queued"],
        }
    }

    /// Takes a transition, if it is permitted.
    fn end(&mut self, to: AssignmentStatus, kind: &'static str) -> bool {
        let permitted = self.status.successors().contains(&to);
        if permitted {
            self.status = to;
            self.worker = None;
            self.kinds.push(kind);
        }
        permitted
    }

    fn claim(&mut self, worker: WorkerId) {
        if self.status == AssignmentStatus::Queued {
            self.status = AssignmentStatus::Running;
            self.kinds.push("started");
        }
        self.worker = Some(worker);
        self.fence += 1;
    }
}

impl Walk {
    /// Returns a number below `below`.
    fn random(&mut self, below: usize) -> usize {
        self.seed ^= self.seed << 13;
        self.seed ^= self.seed >> 7;
        self.seed ^= self.seed << 17;
        usize::try_from(self.seed >> 33).unwrap() % below
    }

    /// Returns an assignment, a recent one more often.
    fn any(&mut self) -> AssignmentId {
        let back = self.random(4).min(self.models.len() - 1);
        *self.models.keys().rev().nth(back).unwrap()
    }

    fn model(&mut self, id: AssignmentId) -> &mut Model {
        self.models.get_mut(&id).unwrap()
    }

    async fn create(&mut self) {
        let new = assignment(self.user, self.now);
        self.models.insert(new.id, Model::new(self.now));
        self.store.create(new, 1_000).await.unwrap();
    }

    fn check_claim(&mut self, run: Option<&Run>, expected: Option<AssignmentId>, worker: WorkerId) {
        assert_eq!(run.map(|it| it.claim.id), expected);
        let Some(run) = run else { return };
        let model = self.model(run.claim.id);
        model.claim(worker);
        let outputs: Vec<_> = (0..model.steps).map(|it| format!("output {it}")).collect();
        assert_eq!(run.claim.fence, model.fence);
        assert_eq!(run.step_count, model.steps);
        assert_eq!(run.outputs, outputs);
        self.claims.push(run.claim);
    }

    async fn claim(&mut self) {
        let index = self.random(3);
        self.workers[index].is_alive = true;
        let worker = self.workers[index].id;
        for alive in self.workers.iter().filter(|it| it.is_alive) {
            self.store.keep_alive(alive.id, "host", self.now, LEASE).await.unwrap();
        }
        let is_free = |model: &Model| {
            let mut alive = self.workers.iter().filter(|it| it.is_alive);
            model.worker.is_none_or(|holder| !alive.any(|it| it.id == holder))
        };
        let due = self
            .models
            .iter()
            .filter(|(_, it)| !it.status.is_final() && it.due_at <= self.now && is_free(it));
        let expected = due.min_by_key(|(id, it)| (it.due_at, **id)).map(|it| *it.0);
        let run = claim(&self.db, worker, self.now).await;
        self.check_claim(run.as_ref(), expected, worker);
    }

    async fn claim_one(&mut self) {
        let id = self.any();
        let worker = self.workers[0].id;
        let expected = if self.models[&id].status.is_final() { None } else { Some(id) };
        let run = self.store.claim_one(id, worker, self.now, start_event()).await.unwrap();
        self.check_claim(run.as_ref(), expected, worker);
    }

    async fn retire(&mut self) {
        let index = self.random(3);
        self.store.retire(self.workers[index].id).await.unwrap();
        self.workers[index].is_alive = false;
    }

    /// Changes a run with the last claim, or with one before it.
    async fn change(&mut self, kind: usize) {
        if self.claims.is_empty() {
            return;
        }
        let back = self.random(3).min(self.claims.len() - 1);
        let claim = self.claims[self.claims.len() - 1 - back];
        let now = self.now;
        let due_at = now + Duration::from_secs(3);
        let Some(model) = self.models.get_mut(&claim.id) else { return };
        let held = model.status == AssignmentStatus::Running
            && model.fence == claim.fence
            && model.worker.is_some();
        let released = RunOutcome::Released { due_at, attempt: Attempt::Failed };
        let change = match kind {
            0 => step_change(model.steps, now),
            1 => completion(now),
            2 => {
                let events = vec![NewEvent::once(EventKind::Failed, "Failed.")];
                let outcome = RunOutcome::Failed(failure());
                RunChange { at: now, tokens: 0, abandoned: 2, events, outcome }
            }
            _ => RunChange { at: now, tokens: 0, abandoned: 0, events: vec![], outcome: released },
        };
        if held {
            model.tokens_spent += change.tokens;
            model.tokens_abandoned += change.abandoned;
            match kind {
                0 => {
                    model.steps += 1;
                    model.kinds.extend(["step", "continued"]);
                }
                1 => {
                    model.steps += 1;
                    model.kinds.push("artifact");
                    model.end(AssignmentStatus::Completed, "completed");
                }
                2 => assert!(model.end(AssignmentStatus::Failed, "failed")),
                _ => {
                    model.worker = None;
                    model.due_at = due_at;
                }
            }
        }
        assert_eq!(self.store.change(claim, change).await.unwrap(), held);
    }

    async fn end(&mut self, kind: usize) {
        let id = self.any();
        let now = self.now;
        let model = self.models.get_mut(&id).unwrap();
        let waits = model.status == AssignmentStatus::Queued;
        let (expected, was_ended) = match kind {
            0 => {
                let end = forced_end(EventKind::Cancelled, now);
                let was_ended = self.store.cancel(self.user, id, end).await.unwrap();
                (model.end(AssignmentStatus::Cancelled, "cancelled"), was_ended)
            }
            1 => {
                let end = forced_end(EventKind::Terminated, now);
                let was_ended =
                    self.store.terminate(id, end, SideEffects::default()).await.unwrap();
                (model.end(AssignmentStatus::Failed, "terminated"), was_ended)
            }
            _ => {
                let was_ended = self.store.give_up(id, failure(), now).await.unwrap();
                (waits && model.end(AssignmentStatus::Failed, "failed"), was_ended)
            }
        };
        assert_eq!(was_ended, expected);
    }

    async fn collect(&mut self) {
        let id = self.any();
        let end = forced_end(EventKind::Redacted, self.now);
        let collected = self.store.collect(self.user, id, end).await.unwrap();
        let model = self.model(id);
        let is_final = model.status.is_final();
        assert_eq!(
            collected,
            if is_final { CollectionOutcome::Done } else { CollectionOutcome::Unfinished }
        );
        if is_final && !model.is_redacted {
            model.is_redacted = true;
            model.kinds.push("redacted");
        }
    }

    async fn abandon_or_discard(&mut self) {
        let id = self.any();
        self.store.abandon(id, 1).await.unwrap();
        self.model(id).tokens_abandoned += 1;
        if self.random(4) == 0 && self.models.len() > 1 {
            self.store.discard(id).await.unwrap();
            if self.models[&id].status == AssignmentStatus::Queued {
                self.models.remove(&id);
            }
        }
    }

    async fn step(&mut self) {
        self.now = self.now + Duration::from_secs(1);
        match self.random(12) {
            0 => self.create().await,
            1 | 2 => self.claim().await,
            3 => self.claim_one().await,
            4 => self.retire().await,
            5 | 6 => self.change(0).await,
            7 => {
                let kind = 1 + self.random(2);
                self.change(kind).await;
            }
            8 => self.change(3).await,
            9 => {
                let kind = self.random(3);
                self.end(kind).await;
            }
            10 => self.collect().await,
            _ => self.abandon_or_discard().await,
        }
    }

    /// Compares all recent assignments with the model.
    async fn compare(&self) {
        for (id, model) in self.models.iter().rev().take(5) {
            let details = load(&self.db, self.user, *id).await;
            let actual = &details.assignment;
            assert_eq!(actual.status, model.status, "{model:?}");
            assert_eq!(actual.step_count, model.steps, "{model:?}");
            assert_eq!(actual.tokens_spent, model.tokens_spent, "{model:?}");
            assert_eq!(actual.tokens_abandoned, model.tokens_abandoned, "{model:?}");
            assert_eq!(actual.completed_at.is_some(), model.status.is_final());
            assert_eq!(details.plaintext_dropped_at.is_some(), model.is_redacted);
            assert_eq!(kinds(&details), model.kinds);
        }
    }
}

async fn random_operations_take_permitted_transitions_only(db: Database) {
    for seed in [1, 0x9E37_79B9_7F4A_7C15] {
        let mut workers = Vec::new();
        for _ in 0..3 {
            workers.push(WalkWorker { id: live_worker(&db, at(0)).await, is_alive: false });
        }
        let user = create_person(&db).await;
        let store = open_store(&db);
        let models = BTreeMap::new();
        let claims = Vec::new();
        let db = db.clone();
        let mut walk = Walk { store, db, user, workers, models, claims, seed, now: at(1_000) };
        walk.create().await;
        for _ in 0..400 {
            walk.step().await;
            walk.compare().await;
        }
        // The next walk must not claim assignments of this one.
        walk.store.expire(at(9_000), failure(), walk.now).await.unwrap();
        crate::fixture::execute(&walk.db, "DELETE FROM accounts").await;
    }
}
