//! Opening of one connection to PostgreSQL.
//!
//! A `Connector` holds two configurations, with TLS and without. Mode `prefer` tries the
//! first, and the second only if TLS itself failed.

use std::error::Error;
use std::io;
use std::iter::successors;
use std::time::Duration;

use diesel::{ConnectionError, ConnectionResult};
use diesel_async::AsyncPgConnection;
use tokio_postgres::config::{Host, SslMode};
use tokio_postgres::error::SqlState;
use tokio_postgres::{Config, NoTls};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::error::OpenDatabaseError;
use crate::postgres_target::PostgresTarget;
use crate::tls::TlsMode;

/// Opener of connections to one server.
#[derive(Clone)]
pub(crate) struct Connector {
    plain: Config,
    encrypted: Option<Encrypted>,
    limit: Duration,
}

#[derive(Clone)]
struct Encrypted {
    config: Config,
    tls: MakeRustlsConnect,
    or_plain: bool,
}

impl Connector {
    /// Creates a connector, and reads the root certificates that the target names.
    pub(crate) fn new(target: &PostgresTarget) -> Result<Self, OpenDatabaseError> {
        let is_local = target.config.get_hosts().iter().all(|it| matches!(it, Host::Unix(_)));
        // A socket on this machine is never encrypted, whatever the mode.
        let client = if is_local { None } else { target.tls.client()? };
        let encrypted = client.map(|client| {
            let or_plain = target.tls.mode == TlsMode::Prefer;
            let mode = if or_plain { SslMode::Prefer } else { SslMode::Require };
            let mut config = target.config.clone();
            config.ssl_mode(mode);
            Encrypted { config, tls: MakeRustlsConnect::new(client), or_plain }
        });
        Ok(Self { plain: target.config.clone(), encrypted, limit: target.connect_timeout })
    }

    /// Opens a connection. Its driver is spawned on the current runtime.
    pub(crate) async fn connect(&self) -> ConnectionResult<AsyncPgConnection> {
        tokio::time::timeout(self.limit, self.establish()).await.unwrap_or_else(|_| {
            let secs = self.limit.as_secs();
            Err(ConnectionError::BadConnection(format!("no answer within {secs} s")))
        })
    }

    async fn establish(&self) -> ConnectionResult<AsyncPgConnection> {
        let Some(Encrypted { config, tls, or_plain }) = &self.encrypted else {
            return self.without_tls().await;
        };
        match config.connect(tls.clone()).await {
            Ok((client, conn)) => {
                AsyncPgConnection::try_from_client_and_connection(client, conn).await
            }
            Err(err) if *or_plain && concerns_tls(&err) => self.without_tls().await,
            Err(err) => Err(refused(&err)),
        }
    }

    async fn without_tls(&self) -> ConnectionResult<AsyncPgConnection> {
        let (client, conn) = self.plain.connect(NoTls).await.map_err(|err| refused(&err))?;
        AsyncPgConnection::try_from_client_and_connection(client, conn).await
    }
}

/// Returns whether a connection without TLS might succeed: the handshake failed,
/// or the server accepts none from us.
fn concerns_tls(err: &tokio_postgres::Error) -> bool {
    let by_server = err.code() == Some(&SqlState::INVALID_AUTHORIZATION_SPECIFICATION);
    by_server || causes(err).any(is_tls)
}

fn is_tls(err: &(dyn Error + 'static)) -> bool {
    let wrapped = err.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
    err.is::<rustls::Error>() || wrapped.and_then(|it| it.downcast_ref::<rustls::Error>()).is_some()
}

fn refused(err: &tokio_postgres::Error) -> ConnectionError {
    let messages: Vec<_> = causes(err).map(ToString::to_string).collect();
    ConnectionError::BadConnection(messages.join(": "))
}

fn causes<'a>(err: &'a tokio_postgres::Error) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    successors(Some(err as &(dyn Error + 'static)), |err: &&'a (dyn Error + 'static)| {
        let err: &'a (dyn Error + 'static) = *err;
        err.source()
    })
}
