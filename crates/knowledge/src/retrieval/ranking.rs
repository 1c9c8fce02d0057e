//! Ranking of candidates by a model, the optional last step of a search.
//!
//! A ranking may improve an answer, but never prevents one: if the model fails or
//! returns unusable scores, `rank` returns the candidates as the search found them.

use crate::ports::chunk_store::StoredPassage;
use crate::ports::reranker::Reranker;

/// Maximum number of candidates that a model ranks, however many passages are
/// returned.
const MAX_RANKED: usize = 100;

/// Passage that may answer a question.
pub(super) struct Candidate {
    pub(super) passage: StoredPassage,
    /// Cosine similarity with the question.
    pub(super) similarity: f32,
}

/// Limits of a ranking.
#[derive(Debug, Clone, Copy)]
pub(super) struct RankingLimits {
    /// Number of candidates that are ranked; the others are dropped.
    pub(super) candidates: usize,
    /// Score below which a candidate is irrelevant.
    pub(super) min_score: Option<f32>,
}

/// Orders the best candidates by the scores of a model. If it fails, the
/// candidates are returned unchanged.
pub(super) async fn rank(
    reranker: &dyn Reranker,
    question: &str,
    mut candidates: Vec<Candidate>,
    limits: RankingLimits,
) -> Vec<Candidate> {
    let count = candidates.len().min(limits.candidates).min(MAX_RANKED);
    let can_change_something = count > 1 || (count == 1 && limits.min_score.is_some());
    if !can_change_something {
        return candidates;
    }

    let texts = candidates.iter().take(count).map(|it| text(&it.passage)).collect();
    let scores = match reranker.rank(question, texts).await {
        Ok(scores) => scores,
        Err(err) => {
            tracing::warn!(error = %err, "passages could not be ranked");
            return candidates;
        }
    };

    if scores.len() != count || !scores.iter().all(|it| it.is_finite()) {
        tracing::warn!("the reranker did not return a score for each passage");
        return candidates;
    }

    candidates.truncate(count);
    let mut scored_candidates: Vec<(Candidate, f32)> = candidates.into_iter().zip(scores).collect();
    scored_candidates.retain(|(_, score)| limits.min_score.is_none_or(|min| *score >= min));
    // Stable, so that equal scores keep the order of the search.
    scored_candidates.sort_by(|(_, left), (_, right)| right.total_cmp(left));

    scored_candidates.into_iter().map(|(candidate, _)| candidate).collect()
}

/// Returns the text that is ranked: a passage says little without its headings.
fn text(passage: &StoredPassage) -> String {
    [&passage.title, &passage.path, &passage.text]
        .into_iter()
        .map(String::as_str)
        .filter(|it| !it.is_empty())
        .collect::<Vec<_>>()
        .join("\n")
}

#[cfg(test)]
mod tests {
    use pia_kernel::{DocumentId, KnowledgeBaseId};

    use super::*;
    use crate::ports::chunk_store::ChunkId;
    use crate::ports::embedder::EmbedError;
    use crate::ports::reranker::MockReranker;

    const LIMITS: RankingLimits = RankingLimits { candidates: 3, min_score: None };
    const WITH_MIN_SCORE: RankingLimits = RankingLimits { candidates: 3, min_score: Some(0.2) };

    fn candidate(text: &str) -> Candidate {
        let passage = StoredPassage {
            chunk: ChunkId::generate(),
            base: KnowledgeBaseId::generate(),
            document: DocumentId::generate(),
            title: "Travel".to_owned(),
            source_uri: None,
            ordinal: 0,
            path: String::new(),
            text: text.to_owned(),
            before: None,
            after: None,
            dense: Vec::new(),
        };
        Candidate { passage, similarity: 0.5 }
    }

    /// Ranks four candidates with this answer of the model; returns their texts.
    async fn rank_texts(answer: Result<Vec<f32>, EmbedError>, limits: RankingLimits) -> String {
        let mut reranker = MockReranker::new();
        reranker.expect_rank().once().return_once(|question, texts| {
            assert_eq!(question, "Why?");
            assert_eq!(texts[0], "Travel\na");
            assert_eq!(texts.len(), 3);
            answer
        });
        let candidates = ["a", "b", "c", "d"].map(candidate).into();
        let ranked_candidates = rank(&reranker, "Why?", candidates, limits).await;
        ranked_candidates.into_iter().map(|it| it.passage.text).collect::<Vec<_>>().join(" ")
    }

    #[tokio::test]
    async fn the_best_candidates_are_ordered_by_their_scores() {
        assert_eq!(rank_texts(Ok(vec![0.1, 0.9, 0.1]), LIMITS).await, "b a c");
    }

    #[tokio::test]
    async fn candidates_below_the_minimum_score_are_dropped() {
        assert_eq!(rank_texts(Ok(vec![0.2, 0.9, 0.1]), WITH_MIN_SCORE).await, "b a");
        assert_eq!(rank_texts(Ok(vec![0.0, 0.1, 0.1]), WITH_MIN_SCORE).await, "");
    }

    #[tokio::test]
    async fn a_failure_leaves_the_order_as_it_was() {
        let failure =
            EmbedError::Unavailable { reason: "it is down".to_owned(), retry_after: None };

        assert_eq!(rank_texts(Err(failure), WITH_MIN_SCORE).await, "a b c d");
    }

    #[tokio::test]
    async fn unusable_scores_leave_the_order_as_it_was() {
        for scores in [vec![], vec![0.1, 0.9], vec![0.1; 4], vec![0.1, f32::NAN, 0.9]] {
            assert_eq!(rank_texts(Ok(scores), WITH_MIN_SCORE).await, "a b c d");
        }
    }

    #[tokio::test]
    async fn a_model_is_called_only_if_it_can_change_something() {
        let mut reranker = MockReranker::new();
        reranker.expect_rank().never();

        let no_candidates = rank(&reranker, "Why?", Vec::new(), WITH_MIN_SCORE).await;
        let single_candidate = rank(&reranker, "Why?", vec![candidate("a")], LIMITS).await;

        assert!(no_candidates.is_empty());
        assert_eq!(single_candidate.len(), 1);
    }
}
