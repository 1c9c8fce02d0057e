//! Bases and documents for tests.

use std::time::Duration;

use pia_kernel::{
    DocumentId, GroupId, GroupSelection, KnowledgeBaseId, PersonaId, SideEffects, Timestamp,
};
use pia_knowledge::{
    BaseAccess, BaseChangeOutcome, BaseRef, BaseStore, ChunkId, ChunkVector, ContentChange,
    ContentType, DocumentRef, DocumentStore, DocumentStoreOutcome, GroupQuotas, IngestClaim,
    IngestJob, IngestQueue, KnowledgeBase, NewChunk, NewChunks, NewContent, VECTOR_SIZE,
};
use pia_policy::{
    Group, GroupName, GroupStore, PersonaDraft, PersonaQuotas, PersonaStore, PublishedPersona,
};
use pia_storage::Database;
use pia_storage_knowledge::{SqlDocuments, SqlIngestQueue, SqlKnowledgeBases};
use pia_storage_policy::{SqlGroups, SqlManagedPersonas};
use uuid::Uuid;

pub(crate) const NOW: Timestamp = Timestamp::UNIX_EPOCH;
/// Model of all bases.
pub(crate) const MODEL: &str = "m1";
pub(crate) const LEASE: Duration = Duration::from_mins(5);
/// Default group, which the migrations create.
pub(crate) const DEFAULT: GroupId =
    GroupId(Uuid::from_u128(0x0000_0000_0000_7000_8000_0000_0000_0001));
pub(crate) const QUOTAS: GroupQuotas =
    GroupQuotas { bases: 5, documents: 3, bytes: 1_000, monthly_tokens: 100 };

/// Stores a group of this name, and returns its id.
pub(crate) async fn create_group(db: &Database, name: &str) -> GroupId {
    let group = Group {
        id: GroupId::generate(),
        name: GroupName::parse(name).unwrap(),
        is_default: false,
        external_id: None,
        created_at: NOW,
    };
    let id = group.id;
    SqlGroups::new(db.clone()).add(group, SideEffects::default()).await.unwrap();
    id
}

/// Returns the selection of these groups.
pub(crate) fn exactly(groups: &[GroupId]) -> GroupSelection {
    GroupSelection::Exactly(groups.to_vec())
}

/// Stores an active persona of these groups.
pub(crate) async fn create_persona(db: &Database, groups: &[GroupId]) -> PersonaId {
    let draft = PersonaDraft {
        name: Some("Ada".to_owned()),
        system_prompt: Some("Be exact.".to_owned()),
        ..PersonaDraft::default()
    };
    let persona = PublishedPersona {
        id: PersonaId::generate(),
        content: draft.validate().unwrap(),
        is_active: true,
        created_at: NOW,
        updated_at: NOW,
    };
    let id = persona.id;
    let personas = SqlManagedPersonas::new(db.clone());
    personas.create(persona, SideEffects::default()).await.unwrap();
    let quotas = PersonaQuotas { personas: 50, knowledge_bases: 50 };
    personas.assign(id, exactly(groups), quotas, SideEffects::default()).await.unwrap();
    id
}

pub(crate) fn base_named(name: &str, owner: GroupId) -> KnowledgeBase {
    let id = KnowledgeBaseId::generate();
    KnowledgeBase { id, owner, name: name.to_owned(), prompt: None, created_at: NOW }
}

/// Stores a base of this name, and returns its id.
pub(crate) async fn create_base(db: &Database, name: &str, owner: GroupId) -> KnowledgeBaseId {
    let base = base_named(name, owner);
    let id = base.id;
    let bases = SqlKnowledgeBases::new(db.clone());
    let creation_outcome = bases.create(base, QUOTAS, SideEffects::default()).await.unwrap();
    assert_eq!(creation_outcome, BaseChangeOutcome::Done);
    id
}

pub(crate) fn server(id: KnowledgeBaseId) -> BaseRef {
    BaseRef { access: BaseAccess::Server, id }
}

pub(crate) fn of(base: KnowledgeBaseId, document: DocumentId) -> DocumentRef {
    DocumentRef { base: server(base), document }
}

pub(crate) fn change() -> ContentChange {
    ContentChange { at: NOW, by: None }
}

/// Content whose hash is determined by its text.
pub(crate) fn content(source: Option<&str>, text: &str) -> NewContent {
    let mut hash = [0; 32];
    for (at, byte) in text.bytes().enumerate() {
        hash[at % 32] ^= byte.rotate_left(u32::try_from(at / 32 % 8).unwrap());
    }
    NewContent {
        id: DocumentId::generate(),
        title: Some("Title".to_owned()),
        source_uri: source.map(str::to_owned),
        content_type: Some(ContentType::Text),
        content: text.as_bytes().to_vec(),
        hash,
    }
}

/// Stores a document of this source.
pub(crate) async fn put(
    db: &Database,
    base: KnowledgeBaseId,
    source: Option<&str>,
    text: &str,
) -> DocumentStoreOutcome {
    let documents = SqlDocuments::new(db.clone());
    documents.put(server(base), content(source, text), QUOTAS, change()).await.unwrap()
}

/// Stores a new document.
pub(crate) async fn create_document(
    db: &Database,
    base: KnowledgeBaseId,
    text: &str,
) -> DocumentId {
    match put(db, base, None, text).await {
        DocumentStoreOutcome::Created(id) => id,
        other => panic!("{other:?}"),
    }
}

pub(crate) async fn claim(db: &Database, at: Timestamp) -> Option<IngestJob> {
    SqlIngestQueue::new(db.clone()).claim(at, LEASE).await.unwrap()
}

pub(crate) fn chunk(ordinal: i32, text: &str) -> NewChunk {
    let hash = content(None, text).hash;
    NewChunk { id: ChunkId::generate(), ordinal, path: String::new(), text: text.to_owned(), hash }
}

/// Returns chunks to be embedded without contexts.
pub(crate) fn new_chunks(model: &str, chunks: Vec<NewChunk>) -> NewChunks {
    NewChunks { model: model.to_owned(), needs_contexts: false, chunks }
}

pub(crate) fn vector(first: f32) -> Vec<f32> {
    let mut vector = vec![0.0; VECTOR_SIZE];
    vector[0] = first;
    vector
}

/// Returns a vector of a chunk for which these tokens were embedded.
pub(crate) fn vector_of(chunk: ChunkId, tokens: i64) -> ChunkVector {
    ChunkVector { chunk, dense: vector(1.0), tokens }
}

/// Ingests the next document with one chunk a word. Returns the chunks.
pub(crate) async fn ingest(db: &Database) -> Vec<ChunkId> {
    let (claim, chunks) = embed(db, MODEL).await;
    assert!(SqlIngestQueue::new(db.clone()).publish(claim).await.unwrap());
    chunks
}

/// Embeds the next document, without publishing it.
pub(crate) async fn embed(db: &Database, model: &str) -> (IngestClaim, Vec<ChunkId>) {
    let queue = SqlIngestQueue::new(db.clone());
    let job = claim(db, NOW).await.unwrap();
    let text = String::from_utf8(job.content).unwrap();
    let chunks: Vec<_> = text.split(' ').zip(0..).map(|(word, at)| chunk(at, word)).collect();
    let ids: Vec<_> = chunks.iter().map(|it| it.id).collect();
    assert!(queue.put_chunks(job.claim, new_chunks(model, chunks)).await.unwrap());

    let pending_chunks = queue.pending(job.claim, 100).await.unwrap();
    let vectors = pending_chunks.iter().map(|it| vector_of(it.id, 2)).collect();
    assert!(queue.put_vectors(job.claim, vectors, NOW).await.unwrap());
    (job.claim, ids)
}
