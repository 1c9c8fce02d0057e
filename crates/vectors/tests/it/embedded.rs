//! Tests of the store within this process.

use std::fs;
use std::path::Path;
use std::thread;
use std::time::Duration;

use futures_util::future::join_all;
use pia_kernel::KnowledgeBaseId;
use pia_knowledge::VectorStore;
use pia_vectors::{EmbeddedVectors, VectorSetupError};
use qdrant_edge::{Distance, EdgeConfig, EdgeShard, EdgeVectorParams};
use tempfile::tempdir;

use crate::sample::{axis, chunks, point, points, query, search};

/// Copies a folder with its content.
fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

fn failure(folder: &Path) -> VectorSetupError {
    EmbeddedVectors::open(folder).map(drop).unwrap_err()
}

#[tokio::test]
async fn a_store_is_opened_again_with_its_points() {
    let parent = tempdir().unwrap();
    let folder = parent.path().join("new/vectors");
    let base = KnowledgeBaseId::generate();
    let stored_points = points(base, 5);
    let store = EmbeddedVectors::open(&folder).unwrap();
    store.put(stored_points.clone()).await.unwrap();
    store.delete(&[stored_points[4].chunk]).await.unwrap();
    drop(store);
    let store = EmbeddedVectors::open(&folder).unwrap();
    assert_eq!(store.list(None, 10).await.unwrap(), chunks(&stored_points[..4]));

    // Changes take effect after those of before.
    store.delete(&[stored_points[0].chunk]).await.unwrap();
    store.put(stored_points[4..].to_vec()).await.unwrap();
    assert_eq!(store.list(None, 10).await.unwrap(), chunks(&stored_points[1..]));

    let results = search(&store, query(&[base], axis(4), &[(7, 1.0)])).await;
    assert_eq!(results.len(), 4);
    assert_eq!(results[0], stored_points[4].chunk);
}

#[tokio::test]
async fn a_store_that_ended_abruptly_has_what_was_stored() {
    let folder = tempdir().unwrap();
    let crashed = tempdir().unwrap();
    let base = KnowledgeBaseId::generate();
    let stored_points = points(base, 6);
    let store = EmbeddedVectors::open(folder.path()).unwrap();
    store.put(stored_points[..4].to_vec()).await.unwrap();
    store.put(stored_points[4..].to_vec()).await.unwrap();
    store.delete(&[stored_points[0].chunk]).await.unwrap();
    // A copy is what a process leaves that is killed here.
    copy(folder.path(), crashed.path());
    let store = EmbeddedVectors::open(crashed.path()).unwrap();
    assert_eq!(store.list(None, 10).await.unwrap(), chunks(&stored_points[1..]));

    let results = search(&store, query(&[base], axis(5), &[(7, 1.0)])).await;
    assert_eq!(results.len(), 5);
    assert_eq!(results[0], stored_points[5].chunk);

    store.put(stored_points[..1].to_vec()).await.unwrap();
    assert_eq!(store.list(None, 10).await.unwrap(), chunks(&stored_points));
}

#[tokio::test]
async fn a_store_goes_on_after_a_change_that_failed() {
    // More points than there are.
    const LIMIT: usize = 2_000;
    let folder = tempdir().unwrap();
    let store = EmbeddedVectors::open(folder.path()).unwrap();
    let base = KnowledgeBaseId::generate();
    let stored_points: Vec<_> =
        (0..1_200).map(|it| point(base, axis(it % 1_000), &[(7, 1.0)])).collect();
    store.put(stored_points.clone()).await.unwrap();
    let (deleted_points, remaining_points) = stored_points.split_at(1_000);
    store.delete(&chunks(deleted_points)).await.unwrap();
    // The next change reloads the shard without the deleted points.
    store.put(vec![point(base, vec![1.0], &[])]).await.unwrap_err();
    let new_points = points(base, 2);
    store.put(new_points.clone()).await.unwrap();
    store.delete(&[remaining_points[0].chunk]).await.unwrap();

    let expected_points = [&remaining_points[1..], &new_points[..]].concat();
    assert_eq!(store.list(None, LIMIT).await.unwrap(), chunks(&expected_points));

    drop(store);
    let store = EmbeddedVectors::open(folder.path()).unwrap();
    assert_eq!(store.list(None, LIMIT).await.unwrap(), chunks(&expected_points));

    let mut query_of_all = query(&[base], axis(0), &[(7, 1.0)]);
    query_of_all.limit = LIMIT;
    assert_eq!(search(&store, query_of_all).await.len(), expected_points.len());
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_changes_that_were_confirmed_are_on_the_disk() {
    let folder = tempdir().unwrap();
    let crashed = tempdir().unwrap();
    let store = EmbeddedVectors::open(folder.path()).unwrap();
    let base = KnowledgeBaseId::generate();
    let stored_points = points(base, 80);
    let valid_changes: Vec<_> = stored_points.chunks(2).map(<[_]>::to_vec).collect();
    let first_outcomes = join_all(valid_changes[..20].iter().map(|it| store.put(it.clone()))).await;
    assert!(first_outcomes.iter().all(Result::is_ok));

    // All changes that wait for a flush together with one that fails may fail too.
    let invalid_changes = (0..4).map(|_| vec![point(base, vec![1.0], &[])]);
    let changes = valid_changes[20..].iter().cloned().chain(invalid_changes);
    let second_outcomes = join_all(changes.map(|it| store.put(it))).await;
    assert!(second_outcomes[20..].iter().all(Result::is_err));

    copy(folder.path(), crashed.path());
    let confirmed_points: Vec<_> = first_outcomes
        .iter()
        .chain(&second_outcomes)
        .zip(&valid_changes)
        .filter(|(outcome, _)| outcome.is_ok())
        .flat_map(|(_, points)| points.clone())
        .collect();

    let crashed = EmbeddedVectors::open(crashed.path()).unwrap();
    let results = crashed.existing(&chunks(&confirmed_points)).await.unwrap();
    assert_eq!(results.len(), confirmed_points.len());
    store.put(stored_points.clone()).await.unwrap();
    assert_eq!(store.list(None, 100).await.unwrap().len(), stored_points.len());
}

#[test]
fn one_store_at_a_time_uses_a_folder() {
    let folder = tempdir().unwrap();
    let store = EmbeddedVectors::open(folder.path()).unwrap();
    assert!(matches!(failure(folder.path()), VectorSetupError::InUse));
    drop(store);
    EmbeddedVectors::open(folder.path()).unwrap();
}

#[test]
fn a_store_waits_for_one_that_is_being_closed() {
    let folder = tempdir().unwrap();
    let store = EmbeddedVectors::open(folder.path()).unwrap();
    let closing = thread::spawn(move || {
        thread::sleep(Duration::from_millis(500));
        drop(store);
    });

    EmbeddedVectors::open(folder.path()).unwrap();
    closing.join().unwrap();
}

#[test]
fn vectors_of_other_dimensions_are_named() {
    let folder = tempdir().unwrap();
    let dense = EdgeVectorParams::builder(384, Distance::Cosine).build();
    let config = EdgeConfig::builder().vector("dense", dense).build();
    drop(EdgeShard::new(folder.path(), config).unwrap());
    let err = failure(folder.path());

    assert!(matches!(err, VectorSetupError::Format { .. }));
    assert!(err.to_string().contains("384") && err.to_string().contains("1024"), "{err}");
}

#[test]
fn a_folder_that_cannot_be_used_is_an_error() {
    let folder = tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "").unwrap();
    assert!(matches!(failure(&file), VectorSetupError::Folder(_)));
    fs::write(folder.path().join("edge_config.json"), "{").unwrap();
    assert!(matches!(failure(folder.path()), VectorSetupError::Engine(_)));
}
