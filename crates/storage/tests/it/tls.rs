//! TLS to PostgreSQL, against a server that demands or refuses it by role.

use std::error::Error;

use diesel::sql_types::Bool;
use diesel_async::RunQueryDsl;
use pia_storage::{Conn, Database, DatabaseKind, DatabaseOptions, DatabaseTarget};

use crate::cluster::Cluster;

/// Returns whether such a connection is encrypted, or why there is none.
async fn encrypted(text: &str) -> Result<bool, String> {
    let target =
        DatabaseTarget::parse(DatabaseKind::Postgres, text).map_err(|err| err.to_string())?;
    let db = Database::open(&target, DatabaseOptions::default()).map_err(|err| err.to_string())?;
    let mut conn = match db.reader().await.map_err(|err| chain(&err))? {
        Conn::Postgres(conn) => conn,
        Conn::Sqlite(_) => return Err("SQLite".to_owned()),
    };
    let ssl = "(SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid())";
    let query = diesel::select(diesel::dsl::sql::<Bool>(ssl));
    query.get_result(&mut conn).await.map_err(|err| chain(&err))
}

fn chain(err: &dyn Error) -> String {
    let cause = err.source().map(|cause| format!(": {}", chain(cause))).unwrap_or_default();
    format!("{err}{cause}")
}

/// Cases run one after another, since the server takes seconds to start.
#[tokio::test(flavor = "multi_thread")]
async fn sslmode_and_sslrootcert_mean_what_they_mean_to_libpq() {
    let cluster = tokio::task::spawn_blocking(Cluster::start).await.unwrap();
    let root = cluster.authority();
    let impostor = cluster.impostor();
    let own_certificate = cluster.own_certificate();
    let safe = format!("host=localhost port={} dbname=postgres user=safe", cluster.port);
    let address = safe.replace("localhost", "127.0.0.1");
    let plain = safe.replace("user=safe", "user=plain");

    for (text, tls) in [
        (safe.clone(), true),
        (format!("{safe} sslmode=prefer"), true),
        (format!("{safe} sslmode=require"), true),
        (format!("{safe} sslmode=require sslrootcert={root}"), true),
        (format!("{safe} sslmode=verify-ca sslrootcert={root}"), true),
        (format!("{address} sslmode=verify-ca sslrootcert={root}"), true),
        (format!("{safe} sslmode=verify-full sslrootcert={root}"), true),
        (format!("{safe} sslmode=verify-full sslrootcert={own_certificate}"), true),
        (plain.clone(), false),
        (format!("{plain} sslmode=disable"), false),
    ] {
        assert_eq!(encrypted(&text).await, Ok(tls), "{text}");
    }

    for (text, why) in [
        (format!("{safe} sslmode=disable"), "no pg_hba.conf entry"),
        (format!("{plain} sslmode=require"), "no pg_hba.conf entry"),
        (format!("{safe} sslmode=require sslrootcert={impostor}"), "invalid peer certificate"),
        (format!("{safe} sslmode=verify-ca sslrootcert={impostor}"), "invalid peer certificate"),
        (format!("{safe} sslmode=verify-full sslrootcert={impostor}"), "invalid peer certificate"),
        (format!("{address} sslmode=verify-full sslrootcert={root}"), "not valid for name"),
        (
            format!("{address} sslmode=verify-full sslrootcert={own_certificate}"),
            "not valid for name",
        ),
        (format!("{safe} sslrootcert=system"), "certificate"),
        (format!("{safe} sslmode=verify-full sslrootcert={root}.missing"), "No such file"),
        (format!("{safe} sslmode=verify-ca sslrootcert=/dev/null"), "holds no certificate"),
    ] {
        let refused = encrypted(&text).await.unwrap_err();

        assert!(refused.contains(why), "{text}: {refused}");
    }
}
