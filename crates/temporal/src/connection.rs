//! Connection to a Temporal server. The engine shares one client, opened lazily,
//! so that the process starts without the server; each worker connects anew.

use std::time::Duration;

use pia_kernel::{Secret, Unavailable};
use pia_sealing::ServerSeal;
use temporalio_client::{Client, ClientOptions, Connection, ConnectionOptions, TlsOptions, Url};
use temporalio_common::data_converters::{
    DataConverter, DefaultFailureConverter, PayloadConverter,
};
use tokio::sync::OnceCell;
use tokio::time::timeout;

use crate::codec::SealingCodec;

/// Duration after which a call has failed.
const CALL_TIMEOUT: Duration = Duration::from_secs(2);
/// Name under which the server sees this client.
const IDENTITY: &str = "pia-server";

/// Address of a Temporal server, with the namespace and the task queue on it.
#[derive(Debug, Clone)]
pub struct TemporalConfig {
    /// Host and port, without a scheme: `workflow:7233`.
    pub address: String,
    /// Namespace, which must exist: it is never created.
    pub namespace: String,
    /// Task queue that workers poll.
    pub task_queue: String,
    /// True if the connection is encrypted. The certificate is verified with the
    /// roots of this machine.
    pub is_tls: bool,
    /// Key that is sent with each call.
    pub api_key: Option<Secret<String>>,
}

/// Address that is not a host and a port.
#[derive(Debug, thiserror::Error)]
#[error("the address of the workflow server must be HOST:PORT")]
pub struct TemporalConfigError;

/// Connection to a Temporal server, opened by the first call. One that is lost is
/// opened again by its transport.
pub(crate) struct LazyConnection {
    pub(crate) task_queue: String,
    connection: ConnectionOptions,
    client: ClientOptions,
    opened: OnceCell<Client>,
}

impl LazyConnection {
    pub(crate) fn new(
        config: TemporalConfig,
        seal: ServerSeal,
    ) -> Result<Self, TemporalConfigError> {
        let TemporalConfig { address, namespace, task_queue, is_tls, api_key } = config;
        let connection = ConnectionOptions::new(parse(&address, is_tls)?)
            .identity(IDENTITY)
            .connect_timeout(CALL_TIMEOUT)
            .maybe_tls_options(is_tls.then(TlsOptions::default))
            .maybe_api_key(api_key.map(Secret::reveal))
            .build();

        let converter = DataConverter::new(
            PayloadConverter::default(),
            // Seals the texts of failures too.
            DefaultFailureConverter::new(true),
            SealingCodec { seal },
        );
        let client = ClientOptions::new(namespace).data_converter(converter).build();

        Ok(Self { task_queue, connection, client, opened: OnceCell::new() })
    }

    /// Returns the client, connected.
    pub(crate) async fn client(&self) -> Result<&Client, Unavailable> {
        self.opened.get_or_try_init(|| self.connect()).await
    }

    /// Returns another client over a connection of its own.
    pub(crate) async fn connect(&self) -> Result<Client, Unavailable> {
        with_timeout(async {
            let connection =
                Connection::connect(self.connection.clone()).await.map_err(unavailable)?;
            Client::new(connection, self.client.clone()).map_err(unavailable)
        })
        .await
    }
}

/// Waits for an answer of the server, for at most [`CALL_TIMEOUT`].
pub(crate) async fn with_timeout<T>(
    call: impl Future<Output = Result<T, Unavailable>>,
) -> Result<T, Unavailable> {
    // On the heap, since the client's futures take tens of kilobytes.
    let answer = timeout(CALL_TIMEOUT, Box::pin(call)).await;
    answer.map_err(|_elapsed| unavailable("no answer in time"))?
}

pub(crate) fn unavailable(err: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Unavailable {
    Unavailable::new("the workflow server", err)
}

fn parse(address: &str, is_tls: bool) -> Result<Url, TemporalConfigError> {
    let scheme = if is_tls { "https" } else { "http" };
    let has_port = address.rsplit_once(':').is_some_and(|it| it.1.parse::<u16>().is_ok());
    if !has_port {
        return Err(TemporalConfigError);
    }

    let url =
        Url::parse(&format!("{scheme}://{address}")).map_err(|_malformed| TemporalConfigError)?;
    let is_plain = url.username().is_empty()
        && url.path() == "/"
        && url.query().is_none()
        && url.fragment().is_none();
    if is_plain { Ok(url) } else { Err(TemporalConfigError) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_a_host_and_a_port() {
        let parsed = |address, is_tls| parse(address, is_tls).map(|it| it.to_string()).ok();

        assert_eq!(parsed("workflow:7233", false).unwrap(), "http://workflow:7233/");
        assert_eq!(parsed("[::1]:7233", true).unwrap(), "https://[::1]:7233/");
        for address in [
            "",
            "workflow",
            "http://workflow:7233",
            "workflow:7233/x",
            "workflow:7233#x",
            "workflow:7233?x",
            "user@workflow:7233",
            "a b",
        ] {
            assert_eq!(parsed(address, false), None, "{address}");
        }
    }
}
