//! Search of knowledge bases in a turn.
//!
//! `begin` reads the bases and, depending on `KnowledgeMode`, puts passages into the prompt,
//! offers the search as a tool, or does both. `run` serves the tool. The drop at the end of
//! the turn records what was found or missed.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use pia_kernel::{DocumentId, Unavailable};

use crate::ai_caller::AiCaller;
use crate::gateway::Gateway;
use crate::knowledge::prompt::format_passages;
use crate::knowledge::question::UserQuestion;
use crate::knowledge::{
    Knowledge, KnowledgeMode, KnowledgePassage, KnowledgeScope, KnowledgeSummary, TurnSearches,
};
use crate::request::prompt_body::UpstreamPrompt;
use crate::tools::calls::ToolFailure;
use crate::tools::server::ServerTools;

/// Result of a search that failed, for the model.
pub(super) const SEARCH_FAILED: &str = "The search failed. Answer without it, and say so.";

/// Search of the knowledge bases of a caller. A failure leaves a turn without
/// them: it is logged, and the model answers without.
///
/// Its results are recorded once the turn has ended: a question is answered if
/// any search of the turn finds something.
pub(super) struct KnowledgeSearch {
    knowledge: Arc<dyn Knowledge>,
    scope: KnowledgeScope,
    bases: Vec<KnowledgeSummary>,
    results: Mutex<SearchResults>,
}

/// Results of the searches of a turn so far.
#[derive(Default)]
struct SearchResults {
    found: BTreeSet<DocumentId>,
    missed: Vec<String>,
}

impl Drop for KnowledgeSearch {
    fn drop(&mut self) {
        let results = self.results.get_mut().unwrap_or_else(PoisonError::into_inner);
        let SearchResults { found, missed } = std::mem::take(results);
        if found.is_empty() && missed.is_empty() {
            return;
        }
        let searches = if found.is_empty() {
            TurnSearches::Missed(missed)
        } else {
            TurnSearches::Found(found.into_iter().collect())
        };
        self.knowledge.record(self.scope, &self.bases, searches);
    }
}

impl KnowledgeSearch {
    /// Reads the bases of a caller, for the whole turn, and prepares the prompt;
    /// `None` if there are no bases.
    pub(super) async fn begin(
        gateway: &Gateway,
        caller: &AiCaller,
        prompt: &mut UpstreamPrompt,
        tools: Option<&mut ServerTools>,
    ) -> Option<Self> {
        let scope = KnowledgeScope { group: caller.group, persona: caller.persona };
        let knowledge = Arc::clone(&gateway.knowledge);
        let bases = match knowledge.bases(scope).await {
            Ok(bases) => bases,
            Err(err) => {
                tracing::warn!(error = %err, "the knowledge bases of a caller could not be read");
                return None;
            }
        };

        if bases.is_empty() {
            return None;
        }

        let search = Self { knowledge, scope, bases, results: Mutex::default() };
        search.prepare(gateway, prompt, tools).await;
        Some(search)
    }

    /// Adds the passages that may answer the question to the prompt, and the
    /// search to the tools, depending on the mode. Without tools, the bases are
    /// always searched.
    async fn prepare(
        &self,
        gateway: &Gateway,
        prompt: &mut UpstreamPrompt,
        tools: Option<&mut ServerTools>,
    ) {
        let mode = gateway.settings.get().knowledge;
        let mut is_tool = false;
        if mode != KnowledgeMode::UpFront
            && let Some(tools) = tools
        {
            tools.add_knowledge(&self.bases, prompt);
            is_tool = tools.knowledge.is_some();
        }

        if is_tool && mode == KnowledgeMode::Tool {
            return;
        }
        let Some(question) = UserQuestion::parse(&prompt.messages) else { return };
        let search_text = gateway.standalone_question(&question).await;
        match self.search(&search_text).await {
            Ok(passages) if passages.is_empty() => {}
            Ok(passages) => prompt.add_passages(&passages),
            Err(err) => tracing::warn!(error = %err, "the knowledge bases could not be searched"),
        }
    }

    /// Searches the bases and records whether anything was found.
    async fn search(&self, question: &str) -> Result<Vec<KnowledgePassage>, Unavailable> {
        let passages = self.knowledge.search(self.scope, &self.bases, question).await?;
        let mut results = self.results.lock().unwrap_or_else(PoisonError::into_inner);
        if passages.is_empty() {
            results.missed.push(question.to_owned());
        } else {
            results.found.extend(passages.iter().map(|it| it.document));
        }
        Ok(passages)
    }

    /// Runs a search that a model requested.
    pub(super) async fn run(&self, question: &str) -> Result<String, ToolFailure> {
        match self.search(question).await {
            Ok(passages) => Ok(format_passages(&passages)),
            Err(err) => {
                tracing::warn!(error = %err, "the knowledge bases could not be searched");
                Err(ToolFailure(SEARCH_FAILED.to_owned()))
            }
        }
    }
}

#[cfg(test)]
mod tests;
