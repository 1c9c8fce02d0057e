//! The benchmark of knowledge bases, from their vectors to its report.
//!
//! Three parts, in this process: `retrieval.rs` searches many generated chunks,
//! `ingestion.rs` ingests generated documents, and `quality.rs` asks questions whose
//! documents are known.

mod embedders;
mod endpoint;
mod engine;
mod figures;
mod handbook;
mod ingestion;
mod pipeline;
mod points;
mod quality;
mod report;
mod retrieval;
mod sample;

use tokio::runtime::Runtime;

use crate::failure::Outcome;
use crate::machine;
use crate::measured::Figures;
use crate::options::Options;
use crate::postgres::OwnDatabase;
use crate::servers::{log_progress, publish};
use endpoint::Endpoint;
use figures::{IngestMetric, QualityMetric, SearchMetric};
use report::Report;

/// Size of the loads, and number of rounds.
#[derive(Debug, Clone, Copy)]
struct Plan {
    rounds: u32,
    /// Chunks in the vector store, in a thousand bases.
    chunks: usize,
    questions: usize,
    /// Documents that are ingested in each run.
    documents: usize,
    quick: bool,
}

impl Plan {
    fn from_options(options: &Options) -> Self {
        let plan = if options.quick {
            Self { rounds: 2, chunks: 10_000, questions: 40, documents: 20, quick: true }
        } else {
            Self { rounds: 3, chunks: 100_000, questions: 200, documents: 100, quick: false }
        };
        let chunks = options.chunks.map_or(plan.chunks, |it| it as usize);
        Self { rounds: options.rounds.unwrap_or(plan.rounds), chunks, ..plan }
    }
}

/// Figures of the three parts.
#[derive(Default)]
struct Measurements {
    search: Figures<SearchMetric>,
    ingest: Figures<IngestMetric>,
    quality: Figures<QualityMetric>,
}

/// Runs the rounds, prints the report and writes it to a file if requested.
///
/// Fails if a document is not ingested or a search fails, never because of a
/// time.
pub fn knowledge(options: &Options) -> Outcome<()> {
    let plan = Plan::from_options(options);
    let dir = tempfile::tempdir()?;
    let cluster = options.postgres_url.as_deref();
    let mut facts = machine::describe(dir.path());
    if let Some(cluster) = cluster {
        facts.push(("PostgreSQL", OwnDatabase::create(cluster)?.describe()?));
    }

    let runtime = Runtime::new()?;
    let mut measured = Measurements::default();
    // Retrieval comes first, so that its memory is that of the vectors.
    log_progress("retrieval");
    retrieval::measure(&runtime, &plan, &dir.path().join("vectors"), &mut measured.search)?;

    for round in 1..=plan.rounds {
        log_progress(&format!("ingestion, round {round} of {}", plan.rounds));
        ingestion::measure(&runtime, &plan, cluster, &mut measured.ingest)?;
    }

    log_progress("quality");
    let endpoint = options.embeddings.as_deref().map(|url| Endpoint::new(url, &options.model));
    let size = quality::measure(&runtime, endpoint, &mut measured.quality)?;
    let model = options.embeddings.is_some().then_some(options.model.as_str());
    let report = Report { plan: &plan, machine: &facts, measured: &measured, size, model };

    publish(options, "knowledge", &report.render(cluster.is_some()))
}
