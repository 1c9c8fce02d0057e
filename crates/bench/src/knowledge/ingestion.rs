//! Ingestion of generated documents on each database.

use std::sync::Arc;

use pia_knowledge::{Embedder, HashedEmbedder};
use tokio::runtime::Runtime;

use super::Plan;
use super::embedders::{Provider, Timed};
use super::figures::IngestMetric as Metric;
use super::pipeline::{IngestionResult, Pipeline, WORKERS};
use super::sample::Sample;
use crate::failure::Outcome;
use crate::measured::Figures;
use crate::postgres::OwnDatabase;
use crate::stats::percentile;

/// Number of calls that the provider serves at once.
const PROVIDER_SLOTS: u32 = 2;
const VOCABULARY: u32 = 20_000;
/// Words of a document, some sixty chunks.
const WORDS: usize = 9_600;
const WORDS_OF_SENTENCE: usize = 12;
const WORDS_OF_QUESTION: usize = 8;
const WORDS_OF_PARAGRAPH: usize = 60;
const CONSONANTS: [&str; 16] =
    ["b", "d", "f", "g", "h", "k", "l", "m", "n", "p", "r", "s", "t", "v", "w", "st"];
const VOWELS: [&str; 8] = ["a", "e", "i", "o", "u", "ei", "au", "er"];

/// Ingests documents on SQLite and, if there is a cluster, on PostgreSQL, with
/// each embedder.
pub(super) fn measure(
    runtime: &Runtime,
    plan: &Plan,
    cluster: Option<&str>,
    figures: &mut Figures<Metric>,
) -> Outcome<()> {
    const LOCAL: [Metric; 3] = [Metric::Local, Metric::LocalShare, Metric::LocalIdle];
    const PROVIDER: [Metric; 3] = [Metric::Provider, Metric::ProviderShare, Metric::ProviderIdle];

    let mut clusters = vec![None];
    clusters.extend(cluster.map(Some));

    for (place, cluster) in clusters.into_iter().enumerate() {
        let run = Run { runtime, plan, cluster };
        let local = run.measure(&Timed::new(HashedEmbedder, WORKERS))?;
        let provider = run.measure(&Timed::new(Provider, PROVIDER_SLOTS))?;
        for (metric, value) in LOCAL.into_iter().zip(local.ingestion) {
            figures.record(place, metric, value);
        }
        for (metric, value) in PROVIDER.into_iter().zip(provider.ingestion) {
            figures.record(place, metric, value);
        }
        figures.record(place, Metric::TurnP50, local.turn_p50);
        figures.record(place, Metric::TurnP99, local.turn_p99);
    }

    Ok(())
}

struct Run<'a> {
    runtime: &'a Runtime,
    plan: &'a Plan,
    cluster: Option<&'a str>,
}

/// Figures of a run with one embedder.
struct RunFigures {
    /// Chunks a second, the share of the embedder's capacity that was unused, and
    /// the share of the time without a call of the embedder.
    ingestion: [f64; 3],
    /// Median time of a search of a turn, in milliseconds.
    turn_p50: f64,
    turn_p99: f64,
}

impl Run<'_> {
    /// Ingests the documents, and then searches for the questions.
    fn measure<E: Embedder + 'static>(&self, embedder: &Arc<Timed<E>>) -> Outcome<RunFigures> {
        let dir = tempfile::tempdir()?;
        let database = self.cluster.map(OwnDatabase::create).transpose()?;
        let url = database.as_ref().map(|it| it.url.as_str());
        let pipeline = self.runtime.block_on(Pipeline::create(dir.path(), url))?;

        for number in 0..self.plan.documents {
            self.runtime.block_on(pipeline.put(format!("Document {number}"), document(number)))?;
        }

        let IngestionResult { elapsed, chunk_count } =
            pipeline.ingest(self.runtime, Arc::<Timed<E>>::clone(embedder))?;
        let seconds = elapsed.as_secs_f64();
        let spent = embedder.spent();
        let chunks = i32::try_from(chunk_count).map_or(f64::MAX, f64::from);
        let capacity = seconds * f64::from(embedder.slots);
        let ingestion = [
            chunks / seconds,
            1.0 - spent.calls.as_secs_f64() / capacity,
            1.0 - spent.busy.as_secs_f64() / seconds,
        ];

        let times = (0..self.plan.questions)
            .map(question)
            .map(|it| self.runtime.block_on(pipeline.ask(&it)))
            .collect::<Outcome<Vec<_>>>()?;
        let turn_p50 = percentile(&times, 0.5).ok_or("no question")?;
        let turn_p99 = percentile(&times, 0.99).ok_or("no question")?;

        Ok(RunFigures { ingestion, turn_p50, turn_p99 })
    }
}

/// Returns a text of words that are no language, frequent ones more often.
fn document(number: usize) -> String {
    let mut sample = Sample::new(number + 1);
    let mut text = String::new();
    for at in 1..=WORDS {
        let word = word_of_rank(sample.rank(VOCABULARY));

        let end = if at % WORDS_OF_PARAGRAPH == 0 {
            ".\n\n"
        } else if at % WORDS_OF_SENTENCE == 0 {
            ". "
        } else {
            " "
        };

        text.push_str(&word);
        text.push_str(end);
    }

    text
}

/// Returns a question of words that documents have.
fn question(number: usize) -> String {
    let mut sample = Sample::new(usize::MAX - number);
    (0..WORDS_OF_QUESTION).map(|_| word_of_rank(sample.rank(VOCABULARY)) + " ").collect()
}

/// Returns the word of a rank.
fn word_of_rank(rank: u32) -> String {
    let mut sample = Sample::new(rank as usize + 77);
    let syllables = 1 + sample.below(4);
    let mut syllable = || {
        let consonant = CONSONANTS.get(sample.below(16) as usize).copied().unwrap_or_default();
        let vowel = VOWELS.get(sample.below(8) as usize).copied().unwrap_or_default();
        format!("{consonant}{vowel}")
    };
    (0..syllables).map(|_| syllable()).collect::<String>() + "n"
}
