//! Tests of retrieval.

use std::sync::Mutex;

use pia_kernel::Timestamp;
use pia_testkit::ManualClock;

use super::*;
use crate::chunking::ChunkingSettings;
use crate::fakes::{Fault, InMemory, MarkdownFiles, Step};
use crate::hashed_embedder::HashedEmbedder;
use crate::ingestion::{Ingestion, IngestionOutcome, IngestionSettings};
use crate::ports::chunk_store::MockChunkStore;
use crate::ports::embedder::{Embedding, MockEmbedder, VECTOR_SIZE};
use crate::ports::vector_store::MockVectorStore;

mod models;

const SETTINGS: RetrievalSettings =
    RetrievalSettings { max_passages: 5, min_similarity: None, min_rank_score: None };

struct World {
    store: Arc<InMemory>,
    base: KnowledgeBaseId,
    retrieval: Retrieval,
}

impl World {
    fn new() -> Self {
        let store = Arc::<InMemory>::default();
        let group = GroupId::generate();
        let base = store.add_base(group, "Handbook");
        let retrieval = Retrieval {
            chunks: Arc::clone(&store) as _,
            embedder: Arc::new(HashedEmbedder),
            missing_models: MissingModels::default(),
            reranker: None,
            vectors: Arc::clone(&store) as _,
            settings: LiveSetting::new(SETTINGS),
            clock: Arc::new(ManualClock::new(Timestamp::UNIX_EPOCH)),
        };
        Self { store, base, retrieval }
    }

    /// Ingests a document of chunks of at most 60 characters.
    async fn add(&self, base: KnowledgeBaseId, title: &str, text: &str) -> DocumentId {
        let document = self.store.add(base, title, text);
        self.ingest(Arc::clone(&self.retrieval.embedder)).await;
        document
    }

    /// Ingests the document that is due next.
    async fn ingest(&self, embedder: Arc<dyn Embedder>) {
        let ingestion = Ingestion {
            queue: Arc::clone(&self.store) as _,
            extractor: Arc::<MarkdownFiles>::default(),
            embedder,
            vectors: Arc::clone(&self.store) as _,
            context_writer: None,
            settings: LiveSetting::new(IngestionSettings {
                chunking: ChunkingSettings { max_chars: 60, overlap_chars: 0 },
                max_attempts: 1,
                lease: Duration::from_mins(5),
                default_monthly_tokens: i64::MAX,
            }),
            clock: Arc::clone(&self.retrieval.clock),
        };
        assert_eq!(ingestion.ingest_next().await.unwrap(), IngestionOutcome::Attempted);
    }

    async fn search(&self, text: &str) -> Vec<Passage> {
        self.retrieval.search(self.question(text)).await.unwrap()
    }

    fn question(&self, text: &str) -> Question {
        Question { bases: vec![self.base], text: text.to_owned() }
    }

    fn set(&self, max_passages: usize, min_similarity: Option<f32>) {
        let settings = RetrievalSettings { max_passages, min_similarity, ..SETTINGS };
        self.retrieval.settings.set(settings);
    }
}

#[tokio::test]
async fn a_question_finds_the_passage_with_its_document_and_headings() {
    let world = World::new();
    let travel = world.add(world.base, "Travel", "# Rail\n\nSecond class tickets only.\n").await;
    world.add(world.base, "Passwords", "Reset it on the page of your account.").await;

    let passages = world.search("Which class of railway tickets is paid?").await;

    assert_eq!(passages[0].document, travel);
    assert_eq!(passages[0].base, world.base);
    assert_eq!(passages[0].title, "Travel");
    assert_eq!(passages[0].path, "Rail");
    assert!(passages[0].text.contains("Second class") && passages[0].similarity > 0.12);
}

#[tokio::test]
async fn nothing_outside_of_the_bases_is_found() {
    let world = World::new();
    let others = world.store.add_base(GroupId::generate(), "Others");
    world.add(others, "Salaries", "The salary of the director is secret.").await;
    world.add(world.base, "Canteen", "Lunch is at noon.").await;

    let passages = world.search("What is the salary of the director?").await;
    assert!(passages.iter().all(|it| it.base == world.base), "{passages:?}");
    let without = Question { bases: Vec::new(), ..world.question("lunch") };
    assert!(world.retrieval.search(without).await.unwrap().is_empty());
}

#[tokio::test]
async fn what_a_vector_store_finds_outside_of_the_bases_is_left_out() {
    let world = World::new();
    let others = world.store.add_base(GroupId::generate(), "Others");
    world.add(others, "Salaries", "The salary of the director is secret.").await;
    // The point claims to be of a base that it is not of.
    for point in world.store.state().points.values_mut() {
        point.base = world.base;
    }

    assert!(world.search("What is the salary of the director?").await.is_empty());
}

#[tokio::test]
async fn a_point_without_a_published_chunk_is_left_out() {
    let world = World::new();
    world.add(world.base, "Canteen", "Lunch is at noon.").await;
    world.store.state().rows.chunks.clear();

    assert!(world.search("When is lunch?").await.is_empty());
}

#[tokio::test]
async fn passages_below_the_floor_are_irrelevant() {
    let world = World::new();
    world.add(world.base, "Canteen", "Lunch is served at noon in the hall.").await;
    let question = "lunch vouchers for visiting contractors abroad";

    world.set(5, Some(0.0));
    assert_eq!(world.search(question).await.len(), 1);
    world.set(5, Some(0.99));
    assert!(world.search(question).await.is_empty());
    world.set(5, None);
    assert!(world.search("qwerty zxcvb").await.is_empty());
}

#[tokio::test]
async fn an_identifier_is_found_however_dissimilar_the_vectors_are() {
    let world = World::new();
    world.set(5, Some(0.99));
    for number in 2225..2240 {
        world.add(world.base, "Ledger", &format!("Paid INV-{number} to a supplier.")).await;
    }

    let passages = world.search("INV-2231").await;

    assert_eq!(passages.len(), 1);
    assert!(passages[0].text.contains("INV-2231") && passages[0].similarity < 0.99);
}

#[tokio::test]
async fn a_passage_includes_its_neighbours_which_are_not_repeated() {
    let world = World::new();
    let text = "Alpha tickets are blue and large.\n\nBeta tickets are green and small.\n\n\
        Gamma tickets are red and round.\n\nDelta tickets are grey and thin.\n\n\
        Omega tickets are white and thick.";
    world.add(world.base, "Tickets", text).await;
    assert_eq!(world.store.state().rows.chunks.len(), 5);

    let passages = world.search("Beta tickets are green").await;

    assert!(passages[0].text.starts_with("Alpha") && passages[0].text.contains("Gamma"));
    let all: String = passages.iter().map(|it| it.text.as_str()).collect();
    for word in ["Alpha", "Beta", "Gamma", "Delta", "Omega"] {
        assert_eq!(all.matches(word).count(), 1, "{word} in {all}");
    }
}

#[tokio::test]
async fn long_neighbours_do_not_displace_a_passage() {
    let world = World::new();
    let text = "Alpha tickets are blue and large.\n\nBeta tickets are green and small.\n\n\
        Gamma tickets are red and round.";
    world.add(world.base, "Tickets", text).await;
    for chunk in &mut world.store.state().rows.chunks {
        chunk.new.text.push_str(&"x".repeat(4_000));
    }

    let passages = world.search("Beta tickets are green").await;

    let hit = "Beta tickets are green and small.";
    let text = &passages[0].text;
    assert!(text.contains(&format!("{hit}{}", "x".repeat(4_000))), "{text}");
    assert!(text.contains("Gamma") && text.chars().count() <= MAX_PASSAGE_CHARS);
}

#[tokio::test]
async fn the_text_of_a_document_is_that_of_its_chunks() {
    let world = World::new();
    let text = "# Rail\n\nTickets for trains are second class, for members and guests.\n\n\
        Others pay.\n\n# Air\n\nTickets for planes are economy class.";
    let document = world.add(world.base, "Travel", text).await;

    let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(words(&world.retrieval.text(document, 999).await.unwrap()), words(text));
    let beginning = world.retrieval.text(document, 0).await.unwrap();
    assert!(beginning.contains("Rail") && !beginning.contains("Air"), "{beginning}");
    assert_eq!(world.retrieval.text(DocumentId::generate(), 999).await.unwrap(), "");
}

#[tokio::test]
async fn a_passage_under_the_next_heading_is_one_of_its_own() {
    let world = World::new();
    let text = "# Rail\n\nTickets for trains are second class.\n\n\
        # Air\n\nTickets for planes are economy class.";
    world.add(world.base, "Travel", text).await;

    let passages = world.search("Tickets for trains and planes").await;

    let mut paths: Vec<&str> = passages.iter().map(|it| it.path.as_str()).collect();
    paths.sort_unstable();
    assert_eq!(paths, ["Air", "Rail"]);
}

#[tokio::test]
async fn passages_are_limited_and_each_document_is_counted_once() {
    let world = World::new();
    let mut documents = Vec::new();
    for number in 0..8 {
        let text = format!("# One\n\nTickets of kind {number}.\n\n# Two\n\nTickets again.");
        documents.push(world.add(world.base, &format!("Tickets {number}"), &text).await);
    }
    world.set(3, None);

    let passages = world.search("tickets").await;

    assert_eq!(passages.len(), 3);
    let documents: Vec<DocumentId> = passages.iter().map(|it| it.document).collect();
    world.retrieval.count(&documents.repeat(2)).await;
    let counted_documents = world.store.state().rows.retrieved.clone();
    let unique: HashSet<DocumentId> = passages.iter().map(|it| it.document).collect();
    assert_eq!(counted_documents.len(), unique.len());
    assert_eq!(HashSet::<DocumentId>::from_iter(counted_documents), unique);
}

#[tokio::test]
async fn a_miss_counts_for_each_base_that_was_searched() {
    let world = World::new();

    world.retrieval.count_miss(&[world.base]).await;
    world.store.set_fault(Step::Other, 0, Fault::Refuses);
    world.retrieval.count_miss(&[world.base]).await;

    assert_eq!(world.store.state().rows.missed, [world.base]);
}

#[tokio::test]
async fn an_empty_question_no_base_or_no_passages_need_no_embedding() {
    let world = World::new();
    world.add(world.base, "Canteen", "Lunch is at noon.").await;
    let mut embedder = MockEmbedder::new();
    embedder.expect_embed().never();
    let retrieval = Retrieval { embedder: Arc::new(embedder), ..world.retrieval.clone() };

    for text in ["", " \n\u{a0}"] {
        assert!(retrieval.search(world.question(text)).await.unwrap().is_empty());
    }
    let without = Question { bases: Vec::new(), ..world.question("lunch") };
    assert!(retrieval.search(without).await.unwrap().is_empty());
    world.set(0, None);
    assert!(retrieval.search(world.question("lunch")).await.unwrap().is_empty());
    assert!(world.store.state().rows.retrieved.is_empty());
}

#[tokio::test]
async fn a_long_question_is_shortened_between_two_characters() {
    let world = World::new();
    world.add(world.base, "Canteen", "Lunch is at noon.").await;
    let lengths = Arc::<Mutex<Vec<usize>>>::default();
    let mut embedder = MockEmbedder::new();
    let seen_lengths = Arc::clone(&lengths);
    embedder.expect_model().return_const(HashedEmbedder::MODEL.to_owned());
    embedder.expect_embed().returning(move |_, texts| {
        seen_lengths.lock().unwrap().extend(texts.iter().map(String::len));
        Ok(Embedding { vectors: vec![vec![1.0; VECTOR_SIZE]], tokens: 1 })
    });
    embedder.expect_min_similarity().return_const(0.5_f32);
    let retrieval = Retrieval { embedder: Arc::new(embedder), ..world.retrieval.clone() };

    retrieval.search(world.question(&"ä€".repeat(10_000))).await.unwrap();

    let lengths = lengths.lock().unwrap().clone();
    assert!((MAX_QUESTION_BYTES - 4..=MAX_QUESTION_BYTES).contains(&lengths[0]));
}

#[tokio::test]
async fn a_question_without_a_usable_vector_is_an_error() {
    let world = World::new();
    world.add(world.base, "Canteen", "Lunch is at noon.").await;
    for vectors in
        [vec![], vec![vec![]], vec![vec![0.0; VECTOR_SIZE]], vec![vec![f32::NAN; VECTOR_SIZE]]]
    {
        let mut embedder = MockEmbedder::new();
        embedder.expect_model().return_const(HashedEmbedder::MODEL.to_owned());
        embedder.expect_embed().return_once(|_, _| Ok(Embedding { vectors, tokens: 1 }));
        let retrieval = Retrieval { embedder: Arc::new(embedder), ..world.retrieval.clone() };

        let outcome = retrieval.search(world.question("lunch")).await;

        assert!(matches!(outcome, Err(RetrievalError::Embedding(_))));
    }
}

#[tokio::test]
async fn a_store_that_is_unavailable_is_an_error() {
    let world = World::new();
    world.add(world.base, "Canteen", "Lunch is at noon.").await;
    let mut vectors = MockVectorStore::new();
    vectors.expect_search().once().returning(|_| Err(crate::fakes::unavailable()));
    let without_vectors = Retrieval { vectors: Arc::new(vectors), ..world.retrieval.clone() };
    let mut chunks = MockChunkStore::new();
    let models = vec![(world.base, HashedEmbedder::MODEL.to_owned())];
    chunks.expect_models().return_once(|_| Ok(models));
    chunks.expect_passages().once().returning(|_| Err(crate::fakes::unavailable()));
    let without_chunks = Retrieval { chunks: Arc::new(chunks), ..world.retrieval.clone() };

    for retrieval in [without_vectors, without_chunks] {
        let outcome = retrieval.search(world.question("lunch")).await;
        assert!(matches!(outcome, Err(RetrievalError::Unavailable(_))));
    }
    // The models of the bases, the search, and the passages.
    for call in 0..3 {
        world.store.set_fault(Step::Other, call, Fault::Refuses);
        let outcome = world.retrieval.search(world.question("lunch")).await;
        assert!(matches!(outcome, Err(RetrievalError::Unavailable(_))), "call {call}");
    }
}
