//! Temporary databases in the configured PostgreSQL cluster.
//!
//! `OwnDatabase` creates one and drops it with itself; `Session` is a blocking
//! connection for statements of the benchmark.

use std::io::Cursor;
use std::pin::pin;
use std::str::FromStr;

use futures_util::SinkExt;
use tokio::runtime::Runtime;
use tokio_postgres::{Client, Config, NoTls};

use crate::failure::Outcome;

/// New database, dropped with this value.
pub(crate) struct OwnDatabase {
    /// Connection URL.
    pub(crate) url: String,
    name: String,
    cluster: Session,
}

/// Connection, and the runtime that drives it.
pub(crate) struct Session {
    runtime: Runtime,
    client: Client,
}

impl OwnDatabase {
    pub(crate) fn create(cluster: &str) -> Outcome<Self> {
        Self::from_name(cluster, &format!("pia_bench_{}", std::process::id()))
    }

    /// Creates a second database, for servers that share nothing with those of
    /// the first.
    pub(crate) fn second(cluster: &str) -> Outcome<Self> {
        Self::from_name(cluster, &format!("pia_bench_{}_second", std::process::id()))
    }

    fn from_name(cluster: &str, name: &str) -> Outcome<Self> {
        let url = with_database(cluster, name)?;
        let cluster = Session::open(&with_database(cluster, "postgres")?)?;
        cluster.run(&format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)"))?;
        cluster.run(&format!("CREATE DATABASE {name}"))?;
        Ok(Self { url, name: name.to_owned(), cluster })
    }

    /// Describes the version and the settings that determine the speed of
    /// commits.
    pub(crate) fn describe(&self) -> Outcome<String> {
        let version = self.cluster.setting("server_version")?;
        let fsync = self.cluster.setting("fsync")?;
        let commit = self.cluster.setting("synchronous_commit")?;
        Ok(format!("{version}, fsync {fsync}, synchronous_commit {commit}"))
    }
}

impl Drop for OwnDatabase {
    fn drop(&mut self) {
        // The cluster may have ended already, and the database with it.
        drop(self.cluster.run(&format!("DROP DATABASE IF EXISTS {} WITH (FORCE)", self.name)));
    }
}

impl Session {
    pub(crate) fn open(url: &str) -> Outcome<Self> {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        let config = Config::from_str(url)?;
        let (client, connection) =
            runtime.block_on(config.connect(NoTls)).map_err(|err| describe_error(&err))?;
        // The connection ends with the client, and the next statement reports
        // its errors.
        drop(runtime.spawn(connection));
        Ok(Self { runtime, client })
    }

    /// Runs statements and ignores their rows.
    pub(crate) fn run(&self, sql: &str) -> Outcome<()> {
        let run = self.client.batch_execute(sql);
        Ok(self.runtime.block_on(run).map_err(|err| describe_error(&err))?)
    }

    /// Returns the single number of a query.
    pub(crate) fn number(&self, sql: &str) -> Outcome<i64> {
        let row = self.runtime.block_on(self.client.query_one(sql, &[]))?;
        Ok(row.try_get(0)?)
    }

    /// Returns the first column of each row, which must be text.
    pub(crate) fn texts(&self, sql: &str) -> Outcome<Vec<String>> {
        let rows = self.runtime.block_on(self.client.query(sql, &[]));
        let rows = rows.map_err(|err| describe_error(&err))?;
        Ok(rows.iter().map(|it| it.try_get(0)).collect::<Result<_, _>>()?)
    }

    /// Returns the first column of the last row, which must be text.
    pub(crate) fn text(&self, sql: &str) -> Outcome<String> {
        Ok(self.texts(sql)?.pop().ok_or_else(|| format!("no row: {sql}"))?)
    }

    /// Sends rows to a `COPY … FROM STDIN`.
    pub(crate) fn copy(&self, sql: &str, rows: Vec<u8>) -> Outcome<()> {
        let outcome = self.runtime.block_on(async {
            let mut sink = pin!(self.client.copy_in(sql).await?);
            sink.send(Cursor::new(rows)).await?;
            sink.finish().await
        });
        outcome.map(drop).map_err(|err| describe_error(&err).into())
    }

    fn setting(&self, name: &str) -> Outcome<String> {
        let row = self.runtime.block_on(self.client.query_one(&format!("SHOW {name}"), &[]))?;
        Ok(row.try_get(0)?)
    }
}

/// Formats an error with its cause; the error alone is only "db error".
fn describe_error(err: &tokio_postgres::Error) -> String {
    let cause = std::error::Error::source(err).map(|it| format!(": {it}")).unwrap_or_default();
    format!("PostgreSQL: {err}{cause}")
}

/// Returns the URL of another database in the same cluster.
fn with_database(url: &str, name: &str) -> Outcome<String> {
    let (base, query) = url.split_once('?').map_or((url, None), |(base, it)| (base, Some(it)));
    let (scheme, rest) = base
        .split_once("://")
        .filter(|(scheme, _)| ["postgres", "postgresql"].contains(scheme))
        .ok_or("--postgres-url must begin with postgres://")?;
    let authority = rest.split('/').next().unwrap_or_default();
    let query = query.map(|it| format!("?{it}")).unwrap_or_default();
    Ok(format!("{scheme}://{authority}/{name}{query}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_database_changes_in_a_url() {
        for (url, expected) in [
            ("postgres://u:p@h:5/old", "postgres://u:p@h:5/new"),
            ("postgresql://u@h", "postgresql://u@h/new"),
            ("postgres://h/old?sslmode=disable", "postgres://h/new?sslmode=disable"),
        ] {
            assert_eq!(with_database(url, "new").unwrap(), expected);
        }
    }

    #[test]
    fn a_url_of_another_database_is_rejected() {
        assert!(with_database("mysql://h/x", "new").is_err());
        assert!(with_database("host=h dbname=x", "new").is_err());
    }
}
