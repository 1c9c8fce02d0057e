//! Search of knowledge bases in a turn.

use std::sync::Arc;

use crate::ai_caller::AiCaller;
use crate::gateway::Gateway;
use crate::knowledge::prompt::format_passages;
use crate::knowledge::question::question;
use crate::knowledge::{Knowledge, KnowledgeMode, KnowledgeScope};
use crate::request::prompt_body::UpstreamPrompt;
use crate::tools::server::ServerTools;

/// Search of the knowledge bases of a caller. A failure leaves a turn without
/// them: it is logged, and the model answers without.
pub(super) struct KnowledgeSearch {
    knowledge: Arc<dyn Knowledge>,
    mode: KnowledgeMode,
    scope: KnowledgeScope,
}

impl KnowledgeSearch {
    pub(super) fn new(gateway: &Gateway, caller: &AiCaller) -> Self {
        let scope = KnowledgeScope { group: caller.group, persona: caller.persona };
        let (knowledge, mode) = (Arc::clone(&gateway.knowledge), gateway.settings.get().knowledge);
        Self { knowledge, mode, scope }
    }

    /// Adds the passages that may answer the question to the prompt, and the
    /// search to the tools, depending on the mode. Without tools, the bases are
    /// always searched.
    pub(super) async fn prepare(
        &self,
        prompt: &mut UpstreamPrompt,
        tools: Option<&mut ServerTools>,
    ) {
        let bases = match self.knowledge.bases(self.scope).await {
            Ok(bases) => bases,
            Err(err) => {
                tracing::warn!(error = %err, "the knowledge bases of a caller could not be read");
                return;
            }
        };
        if bases.is_empty() {
            return;
        }
        let mut is_tool = false;
        if let Some(tools) = tools.filter(|_| self.mode != KnowledgeMode::UpFront) {
            tools.add_knowledge(&bases, prompt);
            is_tool = tools.knowledge.is_some();
        }
        if is_tool && self.mode == KnowledgeMode::Tool {
            return;
        }
        let Some(question) = question(&prompt.messages) else { return };
        match self.knowledge.search(self.scope, &question).await {
            Ok(passages) if passages.is_empty() => {}
            Ok(passages) => prompt.add_passages(&passages),
            Err(err) => tracing::warn!(error = %err, "the knowledge bases could not be searched"),
        }
    }

    /// Runs a search that a model requested.
    pub(super) async fn run(&self, question: &str) -> String {
        match self.knowledge.search(self.scope, question).await {
            Ok(passages) => format_passages(&passages),
            Err(err) => {
                tracing::warn!(error = %err, "the knowledge bases could not be searched");
                "The search failed. Answer without it, and say so.".to_owned()
            }
        }
    }
}

#[cfg(test)]
mod tests;
