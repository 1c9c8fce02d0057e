//! Tests of bases that were embedded by different models.

use std::sync::atomic::Ordering;

use super::*;
use crate::fakes::{ModelEmbedder, NEW, OLD};

/// Returns a world with a base of the old model, and the embedder of both.
async fn new_world() -> (World, Arc<ModelEmbedder>) {
    let mut world = World::new();
    world.retrieval.embedder = Arc::new(ModelEmbedder::new(OLD));
    world.add(world.base, "Travel", "# Rail\n\nSecond class tickets only.\n").await;
    world.add(world.base, "Canteen", "Lunch is served at noon in the hall.").await;
    let embedder = Arc::new(ModelEmbedder::new(NEW));
    world.retrieval.embedder = Arc::clone(&embedder) as _;
    (world, embedder)
}

fn titles(passages: &[Passage]) -> Vec<&str> {
    passages.iter().map(|it| it.title.as_str()).collect()
}

#[tokio::test]
async fn a_question_is_embedded_by_the_model_of_the_base() {
    let (world, _) = new_world().await;

    let passages = world.search("Which class of railway tickets is paid?").await;

    assert_eq!(titles(&passages), ["Travel"]);
    assert!(passages[0].similarity > HashedEmbedder.min_similarity());
}

#[tokio::test]
async fn bases_of_different_models_are_searched_together() {
    let (world, _) = new_world().await;
    let other = world.store.add_base(GroupId::generate(), "Other");
    world.add(other, "Flights", "Tickets for flights are economy class.").await;

    let bases = vec![world.base, other];
    let question = Question { bases, text: "class of tickets".to_owned() };
    let passages = world.retrieval.search(question).await.unwrap();

    let mut titles = titles(&passages);
    titles.sort_unstable();
    assert_eq!(titles, ["Flights", "Travel"]);
    assert!(passages.iter().all(|it| it.similarity > HashedEmbedder.min_similarity()));
}

#[tokio::test]
async fn without_its_model_a_base_is_searched_by_words() {
    let (world, embedder) = new_world().await;
    embedder.has_old.store(false, Ordering::SeqCst);

    assert_eq!(titles(&world.search("second class tickets").await), ["Travel"]);
    assert!(world.search("What do trains cost?").await.is_empty());
}

#[tokio::test]
async fn searches_find_previous_content_until_all_documents_have_new_content() {
    let (world, embedder) = new_world().await;
    let questions = ["second class tickets", "When is lunch served in the hall?"];
    let search = async || {
        let mut passages = Vec::new();
        for question in questions {
            passages.extend(world.search(question).await);
        }
        passages
    };
    let before = search().await;
    assert_eq!(titles(&before), ["Travel", "Canteen"]);

    world.store.reindex(world.base, NEW);
    for at in 0..2 {
        assert_eq!(search().await, before, "after {at} documents");
        world.ingest(Arc::clone(&embedder) as _).await;
    }

    // The vectors of the old model are gone.
    embedder.has_old.store(false, Ordering::SeqCst);
    let after = search().await;
    assert_eq!(titles(&after), ["Travel", "Canteen"]);
    assert!(after.iter().all(|it| it.similarity > HashedEmbedder.min_similarity()));
}
