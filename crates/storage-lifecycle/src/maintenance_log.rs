//! Last runs of maintenance tasks, in SQL.

use async_trait::async_trait;
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use pia_kernel::{MaintenanceKind, MaintenanceLog, MaintenanceRun, Timestamp, Unavailable};
use pia_storage::schema::maintenance_runs::{
    self, instance as column_instance, last_error, last_finished_at, last_started_at, name,
};
use pia_storage::{Database, DbError, DbInstant, on_conn};

/// Log of maintenance in SQL.
#[derive(Debug, Clone)]
pub struct SqlMaintenanceLog {
    db: Database,
}

impl SqlMaintenanceLog {
    /// Creates the log in `db`.
    pub fn new(db: Database) -> Self {
        Self { db }
    }
}

type RunRow = (String, DbInstant, Option<DbInstant>, Option<String>, String);

#[async_trait]
impl MaintenanceLog for SqlMaintenanceLog {
    async fn start(
        &self,
        task: MaintenanceKind,
        instance: &str,
        at: Timestamp,
    ) -> Result<(), Unavailable> {
        let run = (last_started_at.eq(DbInstant(at)), column_instance.eq(instance));
        let upsert = diesel::insert_into(maintenance_runs::table)
            .values((name.eq(task.name()), run))
            .on_conflict(name)
            .do_update()
            .set(run);
        on_conn!(self.db.writer(), |conn| upsert.execute(conn).await?)?;
        Ok(())
    }

    async fn finish(
        &self,
        task: MaintenanceKind,
        at: Timestamp,
        error: Option<&str>,
    ) -> Result<(), Unavailable> {
        let is_earlier = last_finished_at.is_null().or(last_finished_at.le(DbInstant(at)));
        let update = diesel::update(maintenance_runs::table.find(task.name()).filter(is_earlier))
            .set((last_finished_at.eq(DbInstant(at)), last_error.eq(error)));
        on_conn!(self.db.writer(), |conn| update.execute(conn).await?)?;
        Ok(())
    }

    async fn last_runs(&self) -> Result<Vec<(MaintenanceKind, MaintenanceRun)>, Unavailable> {
        let rows: Result<Vec<RunRow>, DbError> =
            on_conn!(self.db.reader(), |conn| maintenance_runs::table.load(conn).await?);
        let run = |(task, started, finished, error, instance): RunRow| {
            // Names of a newer version, while it is being deployed, are left out.
            let task = MaintenanceKind::ALL.into_iter().find(|it| it.name() == task)?;
            let finished_at = finished.map(|it| it.0);
            Some((task, MaintenanceRun { started_at: started.0, finished_at, error, instance }))
        };
        Ok(rows?.into_iter().filter_map(run).collect())
    }
}
