//! Searches of many chunks, beside the engine alone and beside brute force.
//!
//! The store is filled once and opened anew in each round, so that loading is
//! measured too. Each round searches every scope twice and records the second
//! time, when the files are in memory. Memory and recall are recorded in the first
//! round only.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Instant;

use pia_knowledge::{ChunkId, VectorQuery, VectorStore};
use pia_vectors::EmbeddedVectors;
use tokio::runtime::Runtime;

use super::Plan;
use super::engine::Engine;
use super::figures::SearchMetric as Metric;
use super::points::{BASES, DenseQuestion, NEAREST, Points};
use crate::failure::Outcome;
use crate::measured::Figures;
use crate::process::own_memory;
use crate::servers::log_progress;
use crate::stats::{count, percentile};

/// Number of bases that are searched at once, and the names of the columns.
pub(super) const SCOPES: [(usize, &str); 3] =
    [(1, "one base"), (20, "20 bases"), (BASES, "1,000 bases")];
/// Column of figures of the whole store.
const ALL: usize = 2;
/// Number of chunks that a question asks for: four for each of six passages.
const RESULTS: usize = 24;
/// Number of points that are written at once, as ingestion does.
const POINTS: usize = 256;

/// Fills a store in this folder, and searches it.
pub(super) fn measure(
    runtime: &Runtime,
    plan: &Plan,
    folder: &Path,
    figures: &mut Figures<Metric>,
) -> Outcome<()> {
    let points = Points::new(plan.chunks);
    let questions = points.questions(plan.questions);
    let before = memory()?;
    let start = Instant::now();
    write(runtime, &points, folder)?;
    figures.record(ALL, Metric::Written, count(plan.chunks) / start.elapsed().as_secs_f64());
    figures.record(ALL, Metric::Disk, kibibytes(folder)? / count(plan.chunks));

    for round in 1..=plan.rounds {
        log_progress(&format!("retrieval, round {round} of {}", plan.rounds));
        let start = Instant::now();
        let store = EmbeddedVectors::open(folder)?;
        figures.record(ALL, Metric::Loaded, start.elapsed().as_secs_f64());
        let search = |query: VectorQuery| -> Outcome<usize> {
            Ok(runtime.block_on(store.search(query))?.len())
        };
        figures.record(ALL, Metric::First, first(&points, &questions, search)?);
        // Files are in memory before the first scope is measured.
        scopes(&points, &questions, search)?;
        let own = scopes(&points, &questions, search)?;

        if round == 1 {
            let [resident, anonymous] = memory()?;
            figures.record(ALL, Metric::Resident, resident - before[0]);
            figures.record(ALL, Metric::Anonymous, anonymous - before[1]);
            let recall = measure_recall(runtime, &store, &points, &questions)?;
            figures.record(ALL, Metric::Recall, recall);
        }

        drop(store);
        let direct = engine_scopes(&points, &questions, folder)?;
        for (place, (own, direct)) in own.into_iter().zip(direct).enumerate() {
            figures.record(place, Metric::P50, own[0]);
            figures.record(place, Metric::P99, own[1]);
            figures.record(place, Metric::EngineP50, direct[0]);
            figures.record(place, Metric::EngineP99, direct[1]);
            figures.record(place, Metric::Ratio, own[1] / direct[1]);
        }
    }

    Ok(())
}

/// Returns p50 and p99 in milliseconds of the engine alone, as [`scopes`] does.
fn engine_scopes(
    points: &Points,
    questions: &[DenseQuestion],
    folder: &Path,
) -> Outcome<Vec<[f64; 2]>> {
    let engine = Engine::load(folder)?;
    let fused = |it: VectorQuery| Ok(engine.fused(&it.bases, it.dense, &it.terms, it.limit)?.len());
    // Files are in memory before the first scope is measured.
    scopes(points, questions, fused)?;
    scopes(points, questions, fused)
}

/// Stores all points in an embedded store in a folder.
fn write(runtime: &Runtime, points: &Points, folder: &Path) -> Outcome<()> {
    let store = EmbeddedVectors::open(folder)?;
    for first in (0..points.chunks.len()).step_by(POINTS) {
        let last = points.chunks.len().min(first + POINTS);
        runtime.block_on(store.put(points.range(first..last)?))?;
    }
    Ok(())
}

/// Returns the milliseconds of a single question within all bases.
fn first(
    points: &Points,
    questions: &[DenseQuestion],
    search: impl Fn(VectorQuery) -> Outcome<usize>,
) -> Outcome<f64> {
    let question = questions.first().ok_or("no question")?;
    let query = VectorQuery {
        bases: points.bases.clone(),
        dense: question.dense.clone(),
        terms: question.terms.clone(),
        limit: RESULTS,
    };
    let start = Instant::now();
    search(query)?;
    Ok(start.elapsed().as_secs_f64() * 1e3)
}

/// Returns p50 and p99 in milliseconds of all questions, within each number of
/// bases.
fn scopes(
    points: &Points,
    questions: &[DenseQuestion],
    search: impl Fn(VectorQuery) -> Outcome<usize>,
) -> Outcome<Vec<[f64; 2]>> {
    let timed = |bases: usize, at: usize, question: &DenseQuestion| -> Outcome<f64> {
        let first = at % (BASES - bases + 1);
        let query = VectorQuery {
            bases: points.bases.get(first..first + bases).unwrap_or_default().to_vec(),
            dense: question.dense.clone(),
            terms: question.terms.clone(),
            limit: RESULTS,
        };

        let start = Instant::now();

        match search(query)? {
            0 => Err("a search found nothing".into()),
            _ => Ok(start.elapsed().as_secs_f64() * 1e3),
        }
    };

    let scope = |(bases, _): (usize, &str)| -> Outcome<[f64; 2]> {
        let times = questions.iter().enumerate().map(|(at, it)| timed(bases, at, it));
        let times = times.collect::<Outcome<Vec<_>>>()?;
        let share = |share| percentile(&times, share).ok_or("no question");
        Ok([share(0.5)?, share(0.99)?])
    };

    SCOPES.into_iter().map(scope).collect()
}

/// Returns the share of the nearest chunks that the store finds by dense vectors.
fn measure_recall(
    runtime: &Runtime,
    store: &EmbeddedVectors,
    points: &Points,
    questions: &[DenseQuestion],
) -> Outcome<f64> {
    let mut found_count = 0;
    let mut expected_count = 0;
    for (question, nearest) in questions.iter().zip(points.nearest(questions)?) {
        let bases = points.bases.clone();
        let dense = question.dense.clone();
        let query = VectorQuery { bases, dense, terms: Vec::new(), limit: NEAREST };
        let results: Vec<ChunkId> =
            runtime.block_on(store.search(query))?.into_iter().map(|it| it.chunk).collect();
        found_count += nearest.iter().filter(|it| results.contains(it)).count();
        expected_count += nearest.len();
    }

    Ok(count(found_count) / count(expected_count))
}

/// Returns the resident memory of this process in MB, and the part that is not
/// mapped from files.
fn memory() -> Outcome<[f64; 2]> {
    Ok([own_memory("VmRSS:")?, own_memory("RssAnon:")?])
}

/// Returns the size of all files in a folder.
fn kibibytes(folder: &Path) -> Outcome<f64> {
    let mut total = 0.0;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        total += if entry.file_type()?.is_dir() {
            kibibytes(&entry.path())?
        } else {
            // Blocks, since files of the engine have holes.
            blocks(&entry.metadata()?)
        };
    }
    Ok(total)
}

/// Returns the space of a file on the disk in KiB.
fn blocks(file: &fs::Metadata) -> f64 {
    count(usize::try_from(file.blocks()).unwrap_or(usize::MAX)) / 2.0
}
