//! Taking one's data along, and leaving.

mod delete;
mod export;

use diesel_async::SimpleAsyncConnection;
use pia_storage::{Database, DbError, on_conn};

use super::*;
use crate::harness::TestApp;

const EXPORT: &str = "/auth/account/export";
const DELETE: &str = "/auth/account/delete";

async fn execute(app: &TestApp, sql: &str) {
    let startup = app.config.latest().database.startup.clone();
    let db = Database::open(&startup.target, startup.options).expect("a database");
    let done: Result<(), DbError> =
        async { on_conn!(db.writer(), |conn| Ok(conn.batch_execute(sql).await?)) }.await;
    done.expect("a statement");
}

async fn leave(client: &Client, password: &str) -> Answer {
    client.post(DELETE, &json!({ "confirm": "DELETE", "password": password })).await
}
