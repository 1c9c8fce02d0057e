//! Server with one knowledge base, and calls of it.

use std::sync::Arc;

use actix_web::App;
use actix_web::middleware::from_fn;
use actix_web::test::{self, TestRequest};
use actix_web::web::Data;
use async_trait::async_trait;
use pia_kernel::{DocumentId, GroupId, KnowledgeBaseId, LiveSetting, Timestamp, Unavailable};
use pia_knowledge::{
    ChunkId, CitedDocument, ContentType, DocumentContent, Documents, EmbedError, Embedder,
    Embedding, FoundChunk, GroupQuotas, HashedEmbedder, MissingModels, MockBaseStore,
    MockChunkStore, MockDocumentStore, MockVectorStore, Retrieval, RetrievalSettings, SearchedBase,
    StoredPassage, VECTOR_SIZE,
};
use pia_mcp::Mcp;
use pia_testkit::FixedClock;
use pia_web::{RouteTable, Runner, TrustedProxies, admit, surface};
use serde_json::{Value, json};

use crate::gates::{gates, session_token};

pub(crate) const NOW: Timestamp = Timestamp::UNIX_EPOCH;
pub(crate) const PUBLIC_URL: &str = "https://pia.example/assistant";
/// Media types that a client accepts.
pub(crate) const BOTH_TYPES: (&str, &str) = ("accept", "application/json, text/event-stream");

/// Knowledge base with one document.
#[derive(Clone)]
pub(crate) struct Fixture {
    pub(crate) group: GroupId,
    pub(crate) base: SearchedBase,
    pub(crate) document: DocumentId,
    pub(crate) content_type: ContentType,
    pub(crate) source_uri: Option<&'static str>,
    pub(crate) text: String,
    /// Texts of the document's published chunks.
    pub(crate) chunk_texts: [&'static str; 2],
    pub(crate) is_off: bool,
    /// Set if the embedder does not answer.
    pub(crate) is_slow: bool,
    pub(crate) is_unavailable: bool,
    pub(crate) licence_end: Option<Timestamp>,
}

/// Response to a request.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) allow: Option<String>,
    pub(crate) content_type: String,
    pub(crate) text: String,
}

impl Reply {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap()
    }
}

impl Fixture {
    pub(crate) fn new() -> Self {
        let prompt = Some("Search it for expenses.".to_owned());
        Self {
            group: GroupId::generate(),
            base: SearchedBase { id: KnowledgeBaseId::generate(), name: "Travel".into(), prompt },
            document: DocumentId::generate(),
            content_type: ContentType::Markdown,
            source_uri: None,
            text: "Second class railway tickets are paid for.".to_owned(),
            chunk_texts: ["Second class railway tickets", "railway tickets are paid for."],
            is_off: false,
            is_slow: false,
            is_unavailable: false,
            licence_end: None,
        }
    }

    /// Sends a request of JSON-RPC, and returns the response.
    pub(crate) async fn call(&self, method: &str, params: Value) -> Value {
        let message = json!({ "jsonrpc": "2.0", "id": 7, "method": method, "params": params });
        let reply = self.post(&message, &[BOTH_TYPES]).await;
        assert_eq!(reply.status, 200, "{reply:?}");
        assert_eq!(reply.content_type, "application/json", "{reply:?}");
        reply.json()
    }

    /// Calls a tool, and returns its result.
    pub(crate) async fn call_tool(&self, name: &str, arguments: Value) -> Value {
        let params = json!({ "name": name, "arguments": arguments });
        self.call("tools/call", params).await["result"].take()
    }

    /// Sends a body with these headers and the token of a session.
    pub(crate) async fn post(&self, body: &Value, headers: &[(&str, &str)]) -> Reply {
        self.post_text(&body.to_string(), headers).await
    }

    pub(crate) async fn post_text(&self, body: &str, headers: &[(&str, &str)]) -> Reply {
        let request = TestRequest::post()
            .uri("/mcp")
            .insert_header(("content-type", "application/json"))
            .set_payload(body.to_owned());
        self.send(request, headers).await
    }

    /// Sends a request. An empty `Authorization` sends none.
    pub(crate) async fn send(&self, request: TestRequest, headers: &[(&str, &str)]) -> Reply {
        let gates = gates(self.group, self.licence_end);
        let token = session_token(&gates);
        let mut request =
            request.insert_header(("host", "pia.example")).insert_header(("authorization", token));
        for header in headers {
            request = request.insert_header(*header);
        }
        let app = App::new()
            .app_data(gates)
            .app_data(Data::new(self.mcp()))
            .app_data(Data::new(TrustedProxies::default()))
            .wrap(from_fn(admit))
            .wrap(from_fn(surface))
            .configure(|config| RouteTable::new(pia_mcp::routes()).register(config));
        let service = test::init_service(app).await;
        let response = match test::try_call_service(&service, request.to_request()).await {
            Ok(response) => response.map_into_boxed_body().into_parts().1,
            Err(err) => err.error_response(),
        };
        let header = |name| response.headers().get(name).map(|it| it.to_str().unwrap().to_owned());
        let allow = header("allow");
        let content_type = header("content-type").unwrap_or_default();
        let status = response.status().as_u16();
        let body = actix_web::body::to_bytes(response.into_body()).await.unwrap();
        Reply { status, allow, content_type, text: String::from_utf8(body.to_vec()).unwrap() }
    }

    fn mcp(&self) -> Mcp {
        let clock = Arc::new(FixedClock(NOW));
        let defaults = quotas();
        let bases = Arc::new(MockBaseStore::new());
        let store = Arc::new(self.documents());
        Mcp {
            retrieval: (!self.is_off).then(|| self.retrieval()),
            documents: Documents::new(bases, store, defaults, clock),
            public_url: PUBLIC_URL.into(),
            runner: Runner::on_current_runtime(),
        }
    }

    fn retrieval(&self) -> Retrieval {
        let settings =
            RetrievalSettings { max_passages: 5, min_similarity: Some(-1.0), min_rank_score: None };
        Retrieval {
            chunks: Arc::new(self.chunks()),
            embedder: if self.is_slow { Arc::new(Silent) } else { Arc::new(HashedEmbedder) },
            missing_models: MissingModels::default(),
            vectors: Arc::new(vectors()),
            reranker: None,
            settings: LiveSetting::new(settings),
            clock: Arc::new(FixedClock(NOW)),
        }
    }

    fn chunks(&self) -> MockChunkStore {
        let mut chunks = MockChunkStore::new();
        chunks.expect_models().returning(|bases| {
            Ok(bases.iter().map(|it| (*it, HashedEmbedder::MODEL.to_owned())).collect())
        });
        let fixture = self.clone();
        chunks.expect_searched_bases().returning(move |group, persona| {
            assert!(persona.is_none());
            if fixture.is_unavailable {
                return Err(Unavailable::new("database", "a secret cause"));
            }
            Ok(if group == fixture.group { vec![fixture.base.clone()] } else { Vec::new() })
        });
        let fixture = self.clone();
        chunks.expect_passages().returning(move |ids| Ok(vec![fixture.passage(ids[0])]));
        let texts: Vec<String> =
            self.chunk_texts.map(str::to_owned).into_iter().filter(|it| !it.is_empty()).collect();
        chunks.expect_texts().returning(move |_| Ok(texts.clone()));
        chunks.expect_count_retrievals().returning(|_, _| Ok(()));
        chunks
    }

    fn documents(&self) -> MockDocumentStore {
        let mut documents = MockDocumentStore::new();
        let fixture = self.clone();
        documents.expect_read().returning(move |group, document| {
            let is_found = group == fixture.group && document == fixture.document;
            Ok(is_found.then(|| fixture.cited_document()))
        });
        documents
    }

    fn cited_document(&self) -> CitedDocument {
        CitedDocument {
            title: "Policy".to_owned(),
            source_uri: self.source_uri.map(str::to_owned),
            file: DocumentContent {
                content_type: self.content_type,
                bytes: self.text.clone().into_bytes(),
            },
        }
    }

    fn passage(&self, chunk: ChunkId) -> StoredPassage {
        StoredPassage {
            chunk,
            base: self.base.id,
            document: self.document,
            title: "Policy".to_owned(),
            source_uri: self.source_uri.map(str::to_owned),
            ordinal: 0,
            path: String::new(),
            text: self.text.clone(),
            before: None,
            after: None,
            dense: vec![0.0; VECTOR_SIZE],
        }
    }
}

/// Embedder that does not answer.
struct Silent;

#[async_trait]
impl Embedder for Silent {
    fn model(&self) -> String {
        String::new()
    }

    fn batch_size(&self) -> usize {
        1
    }

    fn min_similarity(&self) -> f32 {
        0.0
    }

    async fn embed(&self, _model: &str, _texts: Vec<String>) -> Result<Embedding, EmbedError> {
        std::future::pending().await
    }
}

fn vectors() -> MockVectorStore {
    let mut vectors = MockVectorStore::new();
    let chunk = FoundChunk { chunk: ChunkId::generate(), score: 1.0 };
    vectors.expect_search().returning(move |_| Ok(vec![chunk]));
    vectors
}

fn quotas() -> GroupQuotas {
    GroupQuotas { bases: 1, documents: 1, bytes: 1, monthly_tokens: 1 }
}
