//! Contract test of concurrent ends of an assignment.

use futures_util::future::join4;
use pia_assignments::{AssignmentStatus, AssignmentStore, EventKind, RunStore};
use pia_kernel::SideEffects;
use pia_storage::Database;

use crate::fixture::{
    at, completion, create_person, failure, forced_end, kinds, load, open_store, start_run,
};

pia_testkit::contract_with_roles! {
    one_of_concurrent_ends_wins,
}

async fn one_of_concurrent_ends_wins(db: Database) {
    let user = create_person(&db).await;
    let store = open_store(&db);
    for round in 0..1_000 {
        let run = start_run(&db, user, round).await;
        let id = run.claim.id;
        let now = at(round + 1);
        let terminated = forced_end(EventKind::Terminated, now);

        let ends = join4(
            store.cancel(user, id, forced_end(EventKind::Cancelled, now)),
            store.terminate(id, terminated, SideEffects::default()),
            store.change(run.claim, completion(now)),
            store.expire(now, failure(), now),
        );
        let (cancelled, terminated, completed, expired) = ends.await;

        let is_expired = expired.unwrap() == [id];
        let won = [cancelled.unwrap(), terminated.unwrap(), completed.unwrap(), is_expired];
        assert_eq!(won.iter().filter(|it| **it).count(), 1, "{won:?}");
        let details = load(&db, user, id).await;
        let (status, last) = match won.iter().position(|it| *it) {
            Some(0) => (AssignmentStatus::Cancelled, "cancelled"),
            Some(1) => (AssignmentStatus::Failed, "terminated"),
            Some(2) => (AssignmentStatus::Completed, "completed"),
            _ => (AssignmentStatus::Failed, "failed"),
        };
        assert_eq!(details.assignment.status, status);
        let ends: Vec<_> = kinds(&details)
            .into_iter()
            .filter(|it| ["cancelled", "terminated", "completed", "failed"].contains(it))
            .collect();
        assert_eq!(ends, [last]);
        assert_eq!(kinds(&details).last(), Some(&last));
    }
}
