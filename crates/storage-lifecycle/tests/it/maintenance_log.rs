//! Contract tests of the log of maintenance.

use std::time::Duration;

use pia_kernel::{MaintenanceKind, MaintenanceLog, MaintenanceRun};
use pia_storage::Database;
use pia_storage_lifecycle::SqlMaintenanceLog;

use crate::people::AT;

pia_testkit::contract! {
    a_run_is_recorded_from_its_start_to_its_end,
    an_earlier_end_does_not_replace_a_later_one,
    a_success_removes_the_error_before,
}

const TASK: MaintenanceKind = MaintenanceKind::Emails;
const SECOND: Duration = Duration::from_secs(1);

/// Returns the last run of the task.
async fn last(log: &SqlMaintenanceLog) -> Option<MaintenanceRun> {
    let runs = log.last_runs().await.unwrap();
    assert!(runs.iter().all(|it| it.0 == TASK), "{runs:?}");
    runs.into_iter().next().map(|it| it.1)
}

async fn a_run_is_recorded_from_its_start_to_its_end(db: Database) {
    let log = SqlMaintenanceLog::new(db);

    let never = last(&log).await;
    log.start(TASK, "host/1", AT).await.unwrap();
    let running = last(&log).await.unwrap();
    log.finish(TASK, AT + SECOND, Some("the disk is full")).await.unwrap();
    let failed = last(&log).await.unwrap();
    log.start(TASK, "host/2", AT + SECOND * 2).await.unwrap();
    let again = last(&log).await.unwrap();

    assert_eq!(never, None);
    let run = MaintenanceRun {
        started_at: AT,
        finished_at: None,
        error: None,
        instance: "host/1".to_owned(),
    };
    assert_eq!(running, run);
    let error = Some("the disk is full".to_owned());
    let expected = MaintenanceRun { finished_at: Some(AT + SECOND), error, ..run };
    assert_eq!(failed, expected);
    assert!(again.is_unfinished());
    assert_eq!(again.instance.as_str(), "host/2");
    assert_eq!(again.error, expected.error);
}

async fn an_earlier_end_does_not_replace_a_later_one(db: Database) {
    let log = SqlMaintenanceLog::new(db);
    log.start(TASK, "host/1", AT).await.unwrap();

    log.finish(TASK, AT + SECOND * 2, None).await.unwrap();
    log.finish(TASK, AT + SECOND, Some("late")).await.unwrap();

    let last = last(&log).await.unwrap();
    assert_eq!(last.finished_at, Some(AT + SECOND * 2));
    assert_eq!(last.error, None);
}

async fn a_success_removes_the_error_before(db: Database) {
    let log = SqlMaintenanceLog::new(db);
    log.start(TASK, "host/1", AT).await.unwrap();
    log.finish(TASK, AT, Some("busy")).await.unwrap();

    log.finish(TASK, AT + SECOND, None).await.unwrap();

    assert_eq!(last(&log).await.unwrap().error, None);
}
