//! Contract of every vector store.

use std::iter;

use futures_util::future::{join, join_all};
use pia_kernel::KnowledgeBaseId;
use pia_knowledge::{ChunkId, VectorStore};

use crate::sample::{axis, between, chunks, point, points, query, search};

macro_rules! contract {
    ($($case:ident),* $(,)?) => {
        mod embedded {$(
            #[tokio::test(flavor = "multi_thread")]
            async fn $case() {
                let folder = tempfile::tempdir().unwrap();
                let store = pia_vectors::EmbeddedVectors::open(folder.path()).unwrap();
                super::$case(&store).await;
            }
        )*}
        mod wire {$(
            #[tokio::test(flavor = "multi_thread")]
            async fn $case() {
                let server = crate::fake::FakeServer::start().await;
                super::$case(&server.connect().await).await;
            }
        )*}
        /// Tests of the server that `QDRANT_URL` names, if it does.
        mod server {$(
            #[tokio::test(flavor = "multi_thread")]
            async fn $case() {
                if let Some(store) = crate::server::real().await {
                    super::$case(&store).await;
                }
            }
        )*}
    };
}

contract!(
    a_point_is_found_once_it_is_stored,
    points_of_other_bases_are_not_found,
    one_base_of_a_thousand_is_found,
    nothing_is_found_without_bases_or_places,
    ranks_by_dense_vectors_and_by_terms_are_fused,
    without_terms_the_closest_vectors_are_found,
    without_a_vector_the_best_terms_are_found,
    rare_terms_count_more_than_frequent_ones,
    deleted_points_are_not_found,
    a_point_that_is_stored_again_exists_once,
    existing_points_are_distinguished_from_others,
    ids_are_listed_in_ascending_order,
    points_are_stored_and_found_at_once,
    vectors_of_another_size_are_rejected,
);

async fn a_point_is_found_once_it_is_stored(store: &dyn VectorStore) {
    let base = KnowledgeBaseId::generate();
    let stored_point = point(base, axis(3), &[(1, 1.0)]);
    store.put(vec![stored_point.clone()]).await.unwrap();
    assert_eq!(search(store, query(&[base], axis(3), &[(1, 1.0)])).await, [stored_point.chunk]);
    assert_eq!(search(store, query(&[base], axis(3), &[(2, 1.0)])).await, [stored_point.chunk]);
    store.put(Vec::new()).await.unwrap();
}

async fn points_of_other_bases_are_not_found(store: &dyn VectorStore) {
    let bases = [(); 3].map(|()| KnowledgeBaseId::generate());
    let stored_points = bases.map(|it| point(it, axis(0), &[(1, 1.0)]));
    store.put(stored_points.to_vec()).await.unwrap();
    for terms in [[].as_slice(), &[(1, 1.0)]] {
        let results = search(store, query(&bases[..1], axis(0), terms)).await;
        assert_eq!(results, [stored_points[0].chunk]);
        let mut results = search(store, query(&bases[1..], axis(0), terms)).await;
        results.sort_unstable();
        assert_eq!(results, [stored_points[1].chunk, stored_points[2].chunk]);
    }
}

async fn one_base_of_a_thousand_is_found(store: &dyn VectorStore) {
    let mut bases: Vec<_> = iter::repeat_with(KnowledgeBaseId::generate).take(1_000).collect();
    let inside = bases[500];
    let outside = KnowledgeBaseId::generate();
    let stored_points = [inside, outside].map(|it| point(it, axis(0), &[(1, 1.0)]));
    store.put(stored_points.to_vec()).await.unwrap();
    let results = search(store, query(&bases, axis(0), &[(1, 1.0)])).await;
    assert_eq!(results, [stored_points[0].chunk]);
    bases.remove(500);
    assert_eq!(search(store, query(&bases, axis(0), &[(1, 1.0)])).await, []);
}

async fn nothing_is_found_without_bases_or_places(store: &dyn VectorStore) {
    let base = KnowledgeBaseId::generate();
    store.put(points(base, 2)).await.unwrap();
    assert_eq!(search(store, query(&[], axis(0), &[(7, 1.0)])).await, []);
    let mut empty_query = query(&[base], axis(0), &[(7, 1.0)]);
    empty_query.limit = 0;
    assert_eq!(search(store, empty_query).await, []);
    let mut query_of_one = query(&[base], axis(0), &[(7, 1.0)]);
    query_of_one.limit = 1;
    assert_eq!(search(store, query_of_one).await.len(), 1);
}

async fn ranks_by_dense_vectors_and_by_terms_are_fused(store: &dyn VectorStore) {
    let base = KnowledgeBaseId::generate();
    let closest_point = point(base, axis(0), &[(9, 1.0)]);
    let second_point = point(base, between(0, 1, 0.8), &[(5, 1.0)]);
    let worded_point = point(base, between(0, 1, 0.4), &[(5, 2.0)]);
    let unrelated_point = point(base, axis(8), &[(9, 1.0)]);
    let stored_points =
        [&unrelated_point, &worded_point, &second_point, &closest_point].map(Clone::clone);
    store.put(stored_points.to_vec()).await.unwrap();
    let results = store.search(query(&[base], axis(0), &[(5, 1.0)])).await.unwrap();
    let ranked: Vec<_> = results.iter().map(|it| it.chunk).collect();
    assert_eq!(
        ranked,
        [worded_point.chunk, second_point.chunk, closest_point.chunk, unrelated_point.chunk]
    );

    let scores = [0.25 + 0.5, 2.0 / 3.0, 0.5, 0.2];
    assert!(results.iter().zip(scores).all(|(it, score)| (it.score - score).abs() < 1e-5));
}

async fn without_terms_the_closest_vectors_are_found(store: &dyn VectorStore) {
    let base = KnowledgeBaseId::generate();
    let stored_points = [0.2, 0.9, 0.5].map(|it| point(base, between(0, 1, it), &[]));
    store.put(stored_points.to_vec()).await.unwrap();
    let results = search(store, query(&[base], axis(0), &[])).await;
    assert_eq!(results, [stored_points[1].chunk, stored_points[2].chunk, stored_points[0].chunk]);
}

async fn without_a_vector_the_best_terms_are_found(store: &dyn VectorStore) {
    let base = KnowledgeBaseId::generate();
    let stored_points = [0.5, 2.0].map(|it| point(base, axis(0), &[(1, it)]));
    store.put(stored_points.to_vec()).await.unwrap();
    store.put(vec![point(base, axis(0), &[(2, 1.0)])]).await.unwrap();

    let results = search(store, query(&[base], Vec::new(), &[(1, 1.0)])).await;

    assert_eq!(results, [stored_points[1].chunk, stored_points[0].chunk]);
    assert!(search(store, query(&[base], Vec::new(), &[])).await.is_empty());
}

async fn rare_terms_count_more_than_frequent_ones(store: &dyn VectorStore) {
    let base = KnowledgeBaseId::generate();
    // New to every server, so that no other test has used it.
    let rare_term = ChunkId::generate().0.as_fields().0 ^ 0x5bd1_e995;
    let mut stored_points: Vec<_> = (0..8).map(|_| point(base, axis(9), &[(5, 1.5)])).collect();
    stored_points.push(point(base, axis(0), &[(rare_term, 1.0)]));
    store.put(stored_points.clone()).await.unwrap();
    let results =
        store.search(query(&[base], axis(0), &[(5, 1.0), (rare_term, 1.0)])).await.unwrap();

    assert_eq!(results[0].chunk, stored_points[8].chunk);
    assert!((results[0].score - 1.0).abs() < 1e-5, "first by its vector and by its terms");
}

async fn deleted_points_are_not_found(store: &dyn VectorStore) {
    let base = KnowledgeBaseId::generate();
    let stored_points = points(base, 3);
    store.put(stored_points.clone()).await.unwrap();
    store.delete(&[stored_points[0].chunk, ChunkId::generate()]).await.unwrap();
    store.delete(&[stored_points[0].chunk]).await.unwrap();
    store.delete(&[]).await.unwrap();
    let mut results = search(store, query(&[base], axis(0), &[(7, 1.0)])).await;
    results.sort_unstable();

    assert_eq!(results, chunks(&stored_points[1..]));
}

async fn a_point_that_is_stored_again_exists_once(store: &dyn VectorStore) {
    let bases = [(); 2].map(|()| KnowledgeBaseId::generate());
    let mut stored_point = point(bases[0], axis(0), &[(1, 1.0)]);
    store.put(vec![stored_point.clone()]).await.unwrap();
    store.put(vec![stored_point.clone()]).await.unwrap();
    assert_eq!(search(store, query(&bases, axis(0), &[(1, 1.0)])).await, [stored_point.chunk]);

    stored_point.base = bases[1];
    stored_point.dense = axis(1);
    stored_point.terms = Vec::new();
    store.put(vec![stored_point.clone()]).await.unwrap();
    assert_eq!(search(store, query(&bases[..1], axis(0), &[(1, 1.0)])).await, []);

    let results = store.search(query(&bases, axis(1), &[(1, 1.0)])).await.unwrap();
    assert_eq!(results.len(), 1);
    assert_eq!(results[0].chunk, stored_point.chunk);
    assert!((results[0].score - 0.5).abs() < 1e-5, "its former terms are gone");
    assert_eq!(store.existing(&[stored_point.chunk]).await.unwrap(), [stored_point.chunk]);
}

async fn existing_points_are_distinguished_from_others(store: &dyn VectorStore) {
    let stored_points = points(KnowledgeBaseId::generate(), 3);
    store.put(stored_points.clone()).await.unwrap();
    let mut requested_chunks = chunks(&stored_points);
    requested_chunks.insert(1, ChunkId::generate());
    let mut existing_chunks = store.existing(&requested_chunks).await.unwrap();
    existing_chunks.sort_unstable();

    assert_eq!(existing_chunks, chunks(&stored_points));
    assert_eq!(store.existing(&[]).await.unwrap(), []);
}

async fn ids_are_listed_in_ascending_order(store: &dyn VectorStore) {
    let stored_points = points(KnowledgeBaseId::generate(), 25);
    let mut shuffled_points = stored_points.clone();
    shuffled_points.rotate_left(11);
    store.put(shuffled_points).await.unwrap();
    let mut listed_chunks = vec![stored_points[0].chunk];
    while listed_chunks.last() < stored_points.last().map(|it| &it.chunk) {
        let page = store.list(listed_chunks.last().copied(), 10).await.unwrap();
        assert!(page.len() == 10 || page.last() >= stored_points.last().map(|it| &it.chunk));
        listed_chunks.extend(page);
    }

    assert!(listed_chunks.is_sorted_by(|a, b| a < b));
    assert!(chunks(&stored_points).iter().all(|it| listed_chunks.contains(it)));
    assert!(store.list(None, 1).await.unwrap()[0] <= stored_points[0].chunk);
    assert_eq!(store.list(None, 0).await.unwrap(), []);
    assert_eq!(store.list(Some(ChunkId(uuid::Uuid::max())), 10).await.unwrap(), []);
}

async fn points_are_stored_and_found_at_once(store: &dyn VectorStore) {
    let bases = [(); 8].map(|()| KnowledgeBaseId::generate());
    join_all(bases.map(|base| async move {
        for _ in 0..4 {
            let stored_points = points(base, 2);
            let put = store.put(stored_points.clone());
            let (put, results) = join(put, store.search(query(&bases, axis(0), &[(7, 1.0)]))).await;
            put.unwrap();
            results.unwrap();
            let results_of_base = search(store, query(&[base], axis(1), &[(7, 1.0)])).await;
            assert!(results_of_base.contains(&stored_points[1].chunk));
            store.delete(&[stored_points[0].chunk]).await.unwrap();
        }
        assert_eq!(search(store, query(&[base], axis(1), &[(7, 1.0)])).await.len(), 4);
    }))
    .await;
}

async fn vectors_of_another_size_are_rejected(store: &dyn VectorStore) {
    let base = KnowledgeBaseId::generate();
    let short_point = point(base, vec![1.0; 3], &[]);
    assert!(store.put(vec![short_point.clone()]).await.is_err());
    assert!(store.search(query(&[base], vec![1.0; 3], &[])).await.is_err());
    assert_eq!(store.existing(&[short_point.chunk]).await.unwrap(), []);
    let valid_point = point(base, axis(0), &[]);
    store.put(vec![valid_point.clone()]).await.unwrap();
    assert_eq!(search(store, query(&[base], axis(0), &[])).await, [valid_point.chunk]);
}
