//! Tests of the store on a server.

use futures_util::future::join;
use pia_kernel::KnowledgeBaseId;
use pia_knowledge::VectorStore;
use pia_vectors::{ServerVectors, VectorSetupError};
use qdrant_client::qdrant::{
    CreateCollection, CreateCollectionBuilder, Distance, VectorParamsBuilder, VectorsConfigBuilder,
};
use tokio::net::TcpListener;

use crate::fake::{FakeServer, KEY, connect};
use crate::sample::{axis, chunks, points, query, search};

/// Connects to the server that `QDRANT_URL` names.
#[expect(clippy::disallowed_methods, reason = "which server the tests use is no setting")]
pub(crate) async fn real() -> Option<ServerVectors> {
    let endpoint = std::env::var("QDRANT_URL").ok()?;
    Some(connect(&endpoint, None).await.unwrap())
}

fn failure(connected: Result<ServerVectors, VectorSetupError>) -> VectorSetupError {
    connected.map(drop).unwrap_err()
}

/// Returns a collection of vectors of this size, without terms.
fn collection(size: u64) -> CreateCollection {
    let mut vectors = VectorsConfigBuilder::default();
    vectors.add_named_vector_params("dense", VectorParamsBuilder::new(size, Distance::Cosine));
    CreateCollectionBuilder::new("pia_chunks_v1").vectors_config(vectors).build()
}

#[tokio::test]
async fn instances_that_start_at_once_share_a_collection() {
    let server = FakeServer::start().await;
    let (first, second) = join(server.connect(), server.connect()).await;
    let base = KnowledgeBaseId::generate();
    let stored_points = points(base, 2);
    first.put(stored_points.clone()).await.unwrap();
    assert_eq!(second.list(None, 10).await.unwrap(), chunks(&stored_points));
    server.catalogue(|it| {
        assert!(it.aliases["pia_chunks"] == "pia_chunks_v1" && it.collections.len() == 1);
    });
}

#[tokio::test]
async fn a_creation_that_was_interrupted_is_completed() {
    let server = FakeServer::start().await;
    drop(server.connect().await);
    server.catalogue(|it| {
        it.aliases.clear();
        it.indexed = 0;
    });
    let store = server.connect().await;
    store.put(points(KnowledgeBaseId::generate(), 1)).await.unwrap();
    assert_eq!(server.catalogue(|it| (it.aliases.len(), it.indexed)), (1, 1));

    drop(server.connect().await);
    assert_eq!(server.catalogue(|it| it.indexed), 1, "an index is not created again");
}

#[tokio::test]
async fn requests_follow_the_alias_to_another_collection() {
    let server = FakeServer::start().await;
    server.catalogue(|it| {
        let mut next = collection(1024);
        next.sparse_vectors_config = None;
        it.collections.insert("pia_chunks_v2".to_owned(), next);
        it.aliases.insert("pia_chunks".to_owned(), "pia_chunks_v2".to_owned());
    });
    let err = failure(server.try_connect(None).await);

    assert!(err.to_string().contains("without weighted terms"), "{err}");
    assert_eq!(server.catalogue(|it| it.collections.len()), 1, "no other is created");
}

#[tokio::test]
async fn vectors_of_other_dimensions_are_named() {
    let server = FakeServer::start().await;
    server.catalogue(|it| it.collections.insert("pia_chunks_v1".to_owned(), collection(384)));
    let err = failure(server.try_connect(None).await);
    assert!(matches!(err, VectorSetupError::Format { .. }));
    assert!(err.to_string().contains("384") && err.to_string().contains("1024"), "{err}");
}

#[tokio::test]
async fn the_key_is_sent_and_not_repeated() {
    let server = FakeServer::with_key(Some(KEY)).await;
    let store = server.try_connect(Some(KEY)).await.unwrap();
    let base = KnowledgeBaseId::generate();
    let stored_points = points(base, 1);
    store.put(stored_points.clone()).await.unwrap();
    assert_eq!(search(&store, query(&[base], axis(0), &[])).await, chunks(&stored_points));
    let err = failure(server.try_connect(Some("wr0ng")).await);
    assert!(!format!("{err} {err:?}").contains("wr0ng"), "{err}");
    assert!(err.to_string().contains("Unauthenticated"), "{err}");
}

#[tokio::test]
async fn requests_that_fail_are_errors() {
    let server = FakeServer::start().await;
    let store = server.connect().await;
    server.catalogue(|it| it.aliases.clear());
    let err = store.put(points(KnowledgeBaseId::generate(), 1)).await.unwrap_err();
    assert_eq!(err.to_string(), "vector store is unavailable");
    let cause = std::error::Error::source(&err).unwrap().to_string();
    assert_eq!(cause, "not found: `pia_chunks` doesn't exist");
    assert!(store.list(None, 1).await.is_err());
}

#[tokio::test]
async fn a_server_that_is_away_is_an_error() {
    assert!(matches!(
        failure(connect("http://127.0.0.1:1", None).await),
        VectorSetupError::Server(_)
    ));
}

#[tokio::test(start_paused = true)]
async fn a_server_that_never_answers_is_unavailable() {
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let setting = format!("http://{}", silent.local_addr().unwrap());
    assert!(matches!(failure(connect(&setting, None).await), VectorSetupError::Server(_)));
}
