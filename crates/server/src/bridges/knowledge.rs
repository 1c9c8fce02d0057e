//! Knowledge bases, as the assistant searches them.

use async_trait::async_trait;
use pia_assistant::{Knowledge, KnowledgePassage, KnowledgeScope, KnowledgeSummary, TurnSearches};
use pia_kernel::{KnowledgeBaseId, PersonaId, Unavailable};
use pia_knowledge::{
    MAX_SEARCH_TIME, Passage, Question, Retrieval, SearchedBase, UnansweredQuestions,
};
use tokio::runtime::Handle;

use super::FeatureLicence;

/// Knowledge bases, as the assistant searches them.
pub(crate) struct RetrievedKnowledge {
    pub(crate) retrieval: Retrieval,
    pub(crate) questions: UnansweredQuestions,
    /// Without a licence there are no bases.
    pub(crate) licence: FeatureLicence,
    /// Base of links to documents.
    pub(crate) public_url: String,
    /// Runtime of the database.
    pub(crate) runtime: Handle,
}

impl RetrievedKnowledge {
    /// Runs work to completion on the database's runtime: an AI call is dropped
    /// when its client disconnects, and a query must not be. The caller waits for
    /// a few seconds only.
    async fn run<T: Send + 'static>(
        &self,
        work: impl Future<Output = Result<T, Unavailable>> + Send + 'static,
    ) -> Result<T, Unavailable> {
        tokio::time::timeout(MAX_SEARCH_TIME, self.runtime.spawn(work))
            .await
            .map_err(|err| Unavailable::new("knowledge", err))?
            .map_err(|err| Unavailable::new("knowledge", err))?
    }

    fn to_knowledge_passage(&self, passage: Passage) -> KnowledgePassage {
        let url = passage.url(&self.public_url);
        KnowledgePassage {
            document: passage.document,
            title: passage.title,
            url,
            path: passage.path,
            text: passage.text,
        }
    }
}

#[async_trait]
impl Knowledge for RetrievedKnowledge {
    async fn bases(&self, scope: KnowledgeScope) -> Result<Vec<KnowledgeSummary>, Unavailable> {
        if !self.licence.is_valid() {
            return Ok(Vec::new());
        }
        let retrieval = self.retrieval.clone();
        let persona = scope.persona.map(PersonaId);
        let bases = self.run(async move { retrieval.bases(scope.group, persona).await }).await?;
        let summary =
            |it: SearchedBase| KnowledgeSummary { id: it.id, name: it.name, prompt: it.prompt };
        Ok(bases.into_iter().map(summary).collect())
    }

    async fn search(
        &self,
        _scope: KnowledgeScope,
        bases: &[KnowledgeSummary],
        question: &str,
    ) -> Result<Vec<KnowledgePassage>, Unavailable> {
        let retrieval = self.retrieval.clone();
        let bases = bases.iter().map(|it| it.id).collect();
        let request = Question { bases, text: question.to_owned() };
        let passages = self
            .run(async move {
                retrieval.search(request).await.map_err(|err| Unavailable::new("knowledge", err))
            })
            .await?;
        Ok(passages.into_iter().map(|it| self.to_knowledge_passage(it)).collect())
    }

    fn record(&self, scope: KnowledgeScope, bases: &[KnowledgeSummary], searches: TurnSearches) {
        let retrieval = self.retrieval.clone();
        let questions = self.questions.clone();
        let bases: Vec<KnowledgeBaseId> = bases.iter().map(|it| it.id).collect();
        drop(self.runtime.spawn(async move {
            match searches {
                TurnSearches::Found(documents) => retrieval.count(&documents).await,
                TurnSearches::Missed(missed) => {
                    retrieval.count_miss(&bases).await;
                    for question in missed {
                        questions.record(scope.group, &question).await;
                    }
                }
            }
        }));
    }
}
