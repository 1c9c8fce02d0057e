//! Quality of searches: whether the document that answers a question is found.
//!
//! Each embedder ingests the handbook into a folder of its own. Two columns result
//! from it: vectors alone, and vectors with terms. Terms alone need no embedder
//! and are searched in the folder of `local`.

use std::collections::HashMap;
use std::sync::Arc;

use pia_kernel::KnowledgeBaseId;
use pia_knowledge::{
    ChunkId, ChunkStore, Embedder, HashedEmbedder, TermWeight, VectorQuery, VectorStore,
    query_terms,
};
use pia_storage_knowledge::SqlChunks;
use pia_vectors::EmbeddedVectors;
use tokio::runtime::Runtime;

use super::endpoint::Endpoint;
use super::engine::Engine;
use super::figures::QualityMetric as Metric;
use super::handbook::{Handbook, HandbookDocument, Language};
use super::pipeline::Pipeline;
use crate::failure::Outcome;
use crate::measured::Figures;
use crate::stats::count;

/// Kinds of search, in the order of the columns; the last two need a model.
pub(super) const KINDS: [&str; 5] =
    ["terms only", "`local` only", "`local` and terms", "model only", "model and terms"];
const BY_TERMS: usize = 0;
const LOCAL: usize = 1;
const MODEL: usize = 3;
const RESULTS: usize = 10;
const FIRST: usize = 5;

/// Base of the handbook, searched in each way.
struct Quality<'a> {
    runtime: &'a Runtime,
    handbook: &'a Handbook,
    figures: &'a mut Figures<Metric>,
}

/// Records the quality of each kind of search, with a model too if one is given.
/// Returns the number of documents and of questions.
pub(super) fn measure(
    runtime: &Runtime,
    model: Option<Endpoint>,
    figures: &mut Figures<Metric>,
) -> Outcome<(usize, usize)> {
    let handbook = Handbook::read();
    let mut quality = Quality { runtime, handbook: &handbook, figures };
    let local: Arc<dyn Embedder> = Arc::new(HashedEmbedder);
    quality.measure(LOCAL, &local)?;
    if let Some(model) = model {
        let model: Arc<dyn Embedder> = Arc::new(model);
        quality.measure(MODEL, &model)?;
    }
    Ok((handbook.documents.len(), handbook.questions.len()))
}

impl Quality<'_> {
    /// Ingests the handbook, and records searches by vectors alone at `column`,
    /// and by vectors and terms after it.
    fn measure(&mut self, column: usize, embedder: &Arc<dyn Embedder>) -> Outcome<()> {
        let dir = tempfile::tempdir()?;
        let pipeline = self.runtime.block_on(Pipeline::create(dir.path(), None))?;

        for document in &self.handbook.documents {
            let HandbookDocument { title, text } = document.clone();
            self.runtime.block_on(pipeline.put(title, text))?;
        }

        pipeline.ingest(self.runtime, Arc::clone(embedder))?;
        let Pipeline { db, base, vectors } = pipeline;
        let mut dense = Vec::new();
        let mut fused = Vec::new();
        for question in &self.handbook.questions {
            let text = vec![question.text.clone()];
            let embedding = self.runtime.block_on(embedder.embed(&embedder.model(), text))?;
            let vector = embedding.vectors.into_iter().next().ok_or("no vector")?;
            let search = |terms| self.search(&vectors, base, &vector, terms);
            dense.push(search(Vec::new())?);
            fused.push(search(query_terms(&question.text))?);
        }

        let chunks = SqlChunks::new(db);
        self.record(&chunks, column, &dense)?;
        self.record(&chunks, column + 1, &fused)?;
        drop(vectors);

        if column == LOCAL {
            let engine = Engine::load(&dir.path().join("vectors"))?;
            let results = self
                .handbook
                .questions
                .iter()
                .map(|it| engine.sparse(&[base], &query_terms(&it.text), RESULTS))
                .collect::<Outcome<Vec<_>>>()?;
            self.record(&chunks, BY_TERMS, &results)?;
        }

        Ok(())
    }

    fn search(
        &self,
        vectors: &EmbeddedVectors,
        base: KnowledgeBaseId,
        dense: &[f32],
        terms: Vec<TermWeight>,
    ) -> Outcome<Vec<ChunkId>> {
        let query = VectorQuery { bases: vec![base], dense: dense.to_vec(), terms, limit: RESULTS };
        let matches = self.runtime.block_on(vectors.search(query))?;
        Ok(matches.iter().map(|it| it.chunk).collect())
    }

    /// Records the rank of the first document that answers each question.
    fn record(&mut self, store: &SqlChunks, column: usize, found: &[Vec<ChunkId>]) -> Outcome<()> {
        let mut all = Vec::new();
        let mut english = Vec::new();
        let mut german = Vec::new();
        for (chunks, question) in found.iter().zip(&self.handbook.questions) {
            let titles = self.runtime.block_on(titles(store, chunks))?;
            let rank = titles.iter().position(|it| question.answered_by.contains(it));
            all.push(rank);
            match question.language {
                Language::English => english.push(rank),
                Language::German => german.push(rank),
            }
        }

        for (metric, value) in [
            (Metric::Recall, recall(&all)),
            (Metric::Ndcg, ndcg(&all)),
            (Metric::English, ndcg(&english)),
            (Metric::German, ndcg(&german)),
        ] {
            self.figures.record(column, metric, value);
        }

        Ok(())
    }
}

/// Returns the titles of the documents of chunks, each once.
async fn titles(store: &SqlChunks, chunks: &[ChunkId]) -> Outcome<Vec<String>> {
    let passages = store.passages(chunks).await?;
    let mut titles_by_chunk: HashMap<ChunkId, String> =
        passages.into_iter().map(|it| (it.chunk, it.title)).collect();
    let mut titles: Vec<String> = Vec::new();
    for title in chunks.iter().filter_map(|it| titles_by_chunk.remove(it)) {
        if !titles.contains(&title) {
            titles.push(title);
        }
    }
    Ok(titles)
}

/// Returns the share of questions whose document is among the first.
fn recall(ranks: &[Option<usize>]) -> f64 {
    count(ranks.iter().flatten().filter(|it| **it < FIRST).count()) / count(ranks.len())
}

/// Returns the mean gain of the ranks, 1 for the first.
fn ndcg(ranks: &[Option<usize>]) -> f64 {
    let gain = |rank: &usize| 1.0 / count(rank + 2).log2();
    ranks.iter().flatten().map(gain).sum::<f64>() / count(ranks.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gain_falls_with_the_rank() {
        let ranks = [Some(0), Some(6), None];

        assert!((recall(&ranks) - 1.0 / 3.0).abs() < 1e-9);
        assert!((ndcg(&ranks) - (1.0 + 1.0 / 3.0) / 3.0).abs() < 1e-9);
    }
}
