//! Documents of the bases that a caller manages.
//!
//! `submit` and `replace` check a draft (`draft.rs`), store it and queue it, and
//! return before it is ingested: `ingestion.rs` works on the queue. Each method takes
//! the access of its caller, and treats what the access excludes as missing, except
//! `read`, which is for members who search.

use std::sync::Arc;

use pia_kernel::{Clock, DocumentId, GroupId, Page, PageRequest, SideEffects, SortCursor, UserId};
use ring::digest::{SHA256, digest};

use crate::base::{BaseAccess, BaseRef, BaseStats, KnowledgeBaseEntry, parse_prompt};
use crate::document::{
    CitedDocument, Document, DocumentContent, DocumentFilter, DocumentRef, DocumentStatus,
    Submission,
};
use crate::draft::{
    ContentDraft, ContentType, DocumentDraft, DraftError, parse_content, parse_source, parse_title,
    parse_type,
};
use crate::error::KnowledgeError;
use crate::ports::base_store::{BaseStore, GroupQuotas};
use crate::ports::document_store::{
    ContentChange, DocumentStore, DocumentStoreOutcome, NewContent,
};

/// Lists, stores and deletes documents.
///
/// `by` is the user; `None` stands for the ingest key and the command line.
#[derive(Clone)]
pub struct Documents {
    bases: Arc<dyn BaseStore>,
    store: Arc<dyn DocumentStore>,
    defaults: GroupQuotas,
    clock: Arc<dyn Clock>,
}

impl Documents {
    /// Creates the use case; `defaults` are the quotas of groups without
    /// settings of their own.
    pub fn new(
        bases: Arc<dyn BaseStore>,
        store: Arc<dyn DocumentStore>,
        defaults: GroupQuotas,
        clock: Arc<dyn Clock>,
    ) -> Self {
        Self { bases, store, defaults, clock }
    }

    /// Returns the bases that the caller manages, by name.
    pub async fn bases(
        &self,
        access: BaseAccess,
    ) -> Result<Vec<KnowledgeBaseEntry>, KnowledgeError> {
        Ok(self.bases.list(access).await?)
    }

    /// Returns a base that the caller may manage.
    pub async fn base(&self, base: BaseRef) -> Result<KnowledgeBaseEntry, KnowledgeError> {
        self.bases.find(base).await?.ok_or(KnowledgeError::NotFound)
    }

    /// Returns the numbers of a base's documents, chunks and searches.
    pub async fn stats(&self, base: BaseRef) -> Result<BaseStats, KnowledgeError> {
        let stats = self.bases.stats(base, self.clock.now(), self.defaults).await?;
        stats.ok_or(KnowledgeError::NotFound)
    }

    /// Replaces the prompt of a base; an empty one clears it.
    pub async fn set_prompt(
        &self,
        by: Option<UserId>,
        base: BaseRef,
        prompt: Option<String>,
    ) -> Result<(), KnowledgeError> {
        let prompt = parse_prompt(prompt)?;
        let object = format!("knowledge-base:{}", base.id);
        let now = self.clock.now();
        let effects = SideEffects::of_object(now, by, object, "KnowledgeBase.PromptUpdated");
        let is_known = self.bases.set_prompt(base, prompt, effects).await?;
        if is_known { Ok(()) } else { Err(KnowledgeError::NotFound) }
    }

    /// Returns the documents of a base, by title.
    pub async fn list(&self, base: BaseRef) -> Result<Vec<Document>, KnowledgeError> {
        self.store.list(base).await?.ok_or(KnowledgeError::NotFound)
    }

    /// Returns a page of the selected documents of a base.
    pub async fn page(
        &self,
        base: BaseRef,
        filter: DocumentFilter,
        page: PageRequest<SortCursor>,
    ) -> Result<Page<Document, SortCursor>, KnowledgeError> {
        let column = filter.sort;
        let documents = self.store.page(base, filter, page.clone().and_one_more()).await?;
        Ok(page.into_page(documents, |it| column.cursor(it)))
    }

    /// Returns a document of a base that the caller may manage.
    pub async fn find(&self, document: DocumentRef) -> Result<Document, KnowledgeError> {
        self.store.find(document).await?.ok_or(KnowledgeError::NotFound)
    }

    /// Returns the file of a document.
    pub async fn content(&self, document: DocumentRef) -> Result<DocumentContent, KnowledgeError> {
        self.store.content(document).await?.ok_or(KnowledgeError::NotFound)
    }

    /// Returns a document that was cited to a member of this group.
    pub async fn read(
        &self,
        group: GroupId,
        document: DocumentId,
    ) -> Result<CitedDocument, KnowledgeError> {
        self.store.read(group, document).await?.ok_or(KnowledgeError::NotFound)
    }

    /// Stores a document, or replaces that of the same source, and queues it
    /// for ingestion.
    pub async fn submit(
        &self,
        by: Option<UserId>,
        base: BaseRef,
        draft: DocumentDraft,
    ) -> Result<Submission, KnowledgeError> {
        // Checked first, so that only managers of the base learn what is wrong.
        self.base(base).await?;
        let title = parse_title(draft.title)?.ok_or(DraftError::TitleRequired)?;
        let source_uri = parse_source(draft.source_uri)?;
        let content_type = parse_type(draft.content_type.as_deref())?.unwrap_or(ContentType::Text);
        let bytes = parse_content(draft.content, Some(content_type))?;

        let content = NewContent {
            title: Some(title),
            source_uri,
            content_type: Some(content_type),
            ..new_content(DocumentId::generate(), bytes)
        };
        let outcome = self.store.put(base, content, self.defaults, self.change(by)).await?;
        to_submission(outcome)
    }

    /// Replaces the content of a document and queues it for ingestion, unless
    /// it is the same.
    pub async fn replace(
        &self,
        by: Option<UserId>,
        document: DocumentRef,
        draft: ContentDraft,
    ) -> Result<Submission, KnowledgeError> {
        let existing_document = self.find(document).await?;
        let title = parse_title(draft.title)?;
        let content_type = parse_type(draft.content_type.as_deref())?;
        let bytes =
            parse_content(draft.content, content_type.or(Some(existing_document.content_type)))?;

        let content = NewContent { title, content_type, ..new_content(document.document, bytes) };
        let outcome = self.store.replace(document, content, self.defaults, self.change(by)).await?;
        to_submission(outcome)
    }

    /// Deletes a document; searches do not find it once this returns.
    pub async fn delete(
        &self,
        by: Option<UserId>,
        document: DocumentRef,
    ) -> Result<(), KnowledgeError> {
        let effects = self.effects(by, document.document, "KnowledgeDocument.Deleted");
        let deleted = self.store.delete(document, effects).await?;
        if deleted { Ok(()) } else { Err(KnowledgeError::NotFound) }
    }

    /// Queues a failed document again.
    pub async fn retry(
        &self,
        by: Option<UserId>,
        document: DocumentRef,
    ) -> Result<(), KnowledgeError> {
        self.find(document).await?;
        let effects = self.effects(by, document.document, "KnowledgeDocument.Retried");
        let queued = self.store.retry(document, self.clock.now(), effects).await?;
        if queued { Ok(()) } else { Err(KnowledgeError::NotFailed) }
    }

    /// Queues all documents of a base again, for this model or other sizes of
    /// chunks. Searches find their previous content until all of them are ready.
    /// Returns the number of documents.
    pub async fn reindex(
        &self,
        by: Option<UserId>,
        base: BaseRef,
        model: &str,
    ) -> Result<u64, KnowledgeError> {
        let now = self.clock.now();
        let object = format!("knowledge-base:{}", base.id);
        let effects = SideEffects::of_object(now, by, object, "KnowledgeBase.Reindexed");
        self.store.reindex(base, model, now, effects).await?.ok_or(KnowledgeError::NotFound)
    }

    fn change(&self, by: Option<UserId>) -> ContentChange {
        ContentChange { at: self.clock.now(), by }
    }

    fn effects(
        &self,
        by: Option<UserId>,
        document: DocumentId,
        action: &'static str,
    ) -> SideEffects {
        let object = format!("knowledge-document:{document}");
        SideEffects::of_object(self.clock.now(), by, object, action)
    }
}

fn new_content(id: DocumentId, content: Vec<u8>) -> NewContent {
    let mut hash = [0; 32];
    hash.copy_from_slice(digest(&SHA256, &content).as_ref());
    NewContent { id, title: None, source_uri: None, content_type: None, content, hash }
}

fn to_submission(outcome: DocumentStoreOutcome) -> Result<Submission, KnowledgeError> {
    match outcome {
        DocumentStoreOutcome::Created(document) | DocumentStoreOutcome::Replaced(document) => {
            Ok(Submission { document, status: DocumentStatus::Pending, changed: true })
        }
        DocumentStoreOutcome::Unchanged(document, status) => {
            Ok(Submission { document, status, changed: false })
        }
        DocumentStoreOutcome::Duplicate(document) => Err(KnowledgeError::Duplicate(document)),
        DocumentStoreOutcome::Unknown => Err(KnowledgeError::NotFound),
        DocumentStoreOutcome::QuotaExceeded(quota) => Err(KnowledgeError::QuotaExceeded(quota)),
    }
}

#[cfg(test)]
mod tests;
