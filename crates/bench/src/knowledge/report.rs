//! Markdown report of the results, readable in a terminal.

use super::quality::KINDS;
use super::retrieval::SCOPES;
use super::{Measurements, Plan};
use crate::measured::machine;

/// Contents of a report.
pub(super) struct Report<'a> {
    pub(super) plan: &'a Plan,
    pub(super) machine: &'a [(&'static str, String)],
    pub(super) measured: &'a Measurements,
    /// Number of documents and of questions of the quality.
    pub(super) size: (usize, usize),
    /// Name of the model, if one was measured.
    pub(super) model: Option<&'a str>,
}

const SEARCHING: &str = "\
A search asks for 24 chunks by a dense vector and six terms, as a question with six passages does. The
engine alone gets the same request on the same files, right after the store has closed them; brute
force compares the dense vectors of all chunks. Vectors are generated in 500 clusters, so that the
recall says whether vectors are lost on the way, not whether texts are understood. All questions are
asked once before they are measured, so that the files are in memory; the first one has its own row.
";

const INGESTING: &str = "\
Four workers ingest generated plain text of some sixty chunks a document through the whole pipeline,
into the database and an embedded vector store, in the process of the benchmark. The local embedder
computes on the same cores. The other one is a provider that serves two batches of up to 64 texts at
once, waits 100 ms for each and returns vectors that mean nothing; reading its answer is not included.
Its capacity is the time of the run for both; a call counts from when it is served to its end.
";

impl Report<'_> {
    pub(super) fn render(&self, has_postgres: bool) -> String {
        let Plan { rounds, chunks, questions, documents, quick } = self.plan;
        let trial_note = if *quick { " **A quick run: a trial, not a result.**" } else { "" };
        let scopes = SCOPES.map(|it| it.1);
        let databases = if has_postgres { &["SQLite", "PostgreSQL"][..] } else { &["SQLite"][..] };
        let (texts, question_count) = self.size;
        let kinds = KINDS.get(..if self.model.is_some() { 5 } else { 3 }).unwrap_or_default();
        let model = self.model.map(|it| format!(" The model is {it}.")).unwrap_or_default();
        let parts = [
            format!(
                "## Knowledge\n\nMedians over {rounds} rounds of {questions} questions among {chunks} \
                chunks of 1024 dimensions in 1,000 bases, and of {documents} documents that are \
                ingested.{trial_note}"
            ),
            self.measured.search.medians(&scopes).render(),
            SEARCHING.to_owned(),
            self.measured.ingest.medians(databases).render(),
            INGESTING.to_owned(),
            "### Aims of knowledge".to_owned(),
            self.measured.search.aims_by("Scope", &scopes).render(),
            self.measured.ingest.aims_by("Database", databases).render(),
            "### What is found".to_owned(),
            self.measured.quality.medians(kinds).render(),
            format!(
                "{question_count} questions about {texts} short documents of a company, in English and German. `local` is no model: its vectors hold words and parts of words.{model} Contexts of chunks and rerankers are not measured: what they find and what they cost depends on the models that an operator chooses."
            ),
            machine(self.machine).render(),
        ];

        parts.map(|it| it.trim_end().to_owned()).join("\n\n") + "\n"
    }
}
