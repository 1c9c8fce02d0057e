//! Qdrant server of tests, backed by the engine within this process. It has just
//! the calls that the adapter makes, and rejects what it should not send.

mod collections;
mod points;
mod unused;
mod wire;

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use pia_kernel::Secret;
use pia_vectors::{EmbeddedVectors, ServerVectors, VectorSetupError};
use qdrant_client::qdrant::CreateCollection;
use qdrant_client::qdrant::collections_server::CollectionsServer;
use qdrant_client::qdrant::points_server::PointsServer;
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tonic::metadata::MetadataValue;
use tonic::transport::Server;
use tonic::transport::server::TcpIncoming;
use tonic::{Request, Status};

/// Key that a server with a key requires.
pub(crate) const KEY: &str = "s3cret";

/// Collections of a server.
#[derive(Default)]
pub(crate) struct Catalogue {
    /// Collections that clients have created, by name.
    pub(crate) collections: HashMap<String, CreateCollection>,
    /// Names of collections by alias.
    pub(crate) aliases: HashMap<String, String>,
    /// Number of times that the field of the base was indexed.
    pub(crate) indexed: usize,
}

/// State of a server.
struct Qdrant {
    catalogue: Mutex<Catalogue>,
    vectors: EmbeddedVectors,
    _folder: TempDir,
}

impl Qdrant {
    fn catalogue<T>(&self, with: impl FnOnce(&mut Catalogue) -> T) -> T {
        with(&mut self.catalogue.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Qdrant server of a test. Ends when it is dropped.
pub(crate) struct FakeServer {
    address: SocketAddr,
    qdrant: Arc<Qdrant>,
    _task: JoinSet<()>,
}

impl FakeServer {
    /// Starts a server without collections.
    pub(crate) async fn start() -> Self {
        Self::with_key(None).await
    }

    /// Starts a server that requires this key.
    pub(crate) async fn with_key(key: Option<&'static str>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let qdrant = Arc::new(Qdrant {
            catalogue: Mutex::default(),
            vectors: EmbeddedVectors::open(folder.path()).unwrap(),
            _folder: folder,
        });
        let check = move |request: Request<()>| {
            let sent_key = request.metadata().get("api-key").map(MetadataValue::as_bytes);
            if sent_key == key.map(str::as_bytes) {
                return Ok(request);
            }
            Err(Status::unauthenticated("Must provide an API key"))
        };
        let collections = CollectionsServer::from_arc(Arc::clone(&qdrant));
        let points = PointsServer::from_arc(Arc::clone(&qdrant));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let mut task = JoinSet::new();
        task.spawn(async move {
            let checked = tonic::service::InterceptorLayer::new(check);
            Server::builder()
                .layer(checked)
                .add_service(collections)
                .add_service(points)
                .serve_with_incoming(TcpIncoming::from(listener))
                .await
                .unwrap();
        });
        Self { address, qdrant, _task: task }
    }

    /// Connects to the server, without a key.
    pub(crate) async fn connect(&self) -> ServerVectors {
        self.try_connect(None).await.unwrap()
    }

    /// Connects to the server, if it accepts this key.
    pub(crate) async fn try_connect(
        &self,
        key: Option<&str>,
    ) -> Result<ServerVectors, VectorSetupError> {
        let endpoint = format!("http://{}", self.address);
        let key = key.map(|it| Secret::new(it.to_owned()));
        connect(&endpoint, key.as_ref()).await
    }

    /// Reads or changes the collections.
    pub(crate) fn catalogue<T>(&self, with: impl FnOnce(&mut Catalogue) -> T) -> T {
        self.qdrant.catalogue(with)
    }
}

/// Connects to a server and sets it up.
pub(crate) async fn connect(
    endpoint: &str,
    key: Option<&Secret<String>>,
) -> Result<ServerVectors, VectorSetupError> {
    let store = ServerVectors::new(endpoint, key)?;
    store.set_up().await?;
    Ok(store)
}
