//! `pia-server admin kb …`: administers knowledge bases beside a running server,
//! which ingests the documents.
//!
//! The commands only change the database and queue documents; none of them embeds a
//! text or writes to the vector store.

mod files;
mod progress;
mod verification;

use std::path::Path;
use std::sync::Arc;

use pia_kernel::{Clock, GroupSelection, KnowledgeBaseId, LiveSetting};
use pia_knowledge::{
    BaseAccess, BaseDraft, BaseRef, ChunkStore, Document, DocumentDraft, DocumentRef,
    DocumentStatus, Documents, DraftError, KnowledgeBaseEntry, KnowledgeBases, KnowledgeError,
    MAX_CONTENT_BYTES,
};
use pia_policy::{Feature, LicenceState, Licensed};
use pia_settings::{AdminConfig, KbCommand, VectorTarget};
use pia_storage::Database;
use pia_storage_knowledge::SqlChunks;

use super::groups::GroupServices;
use super::{AdminError, line};
use crate::compose::knowledge_bases;
use files::{FileSource, FolderFiles, create_folder, export_name, list_files};
use progress::ProgressLine;

/// Services that administer knowledge bases, without a server around them.
pub(super) struct KbServices {
    bases: KnowledgeBases,
    documents: Documents,
    /// Chunks, for a comparison with the vector store.
    chunks: Arc<dyn ChunkStore>,
    /// Vector store; `None` if knowledge is off.
    vectors: Option<VectorTarget>,
    /// Model with which bases are indexed again.
    model: String,
    licence: LiveSetting<LicenceState>,
    clock: Arc<dyn Clock>,
}

impl KbServices {
    pub(super) fn open(
        db: &Database,
        config: &AdminConfig,
        licence: LiveSetting<LicenceState>,
        clock: &Arc<dyn Clock>,
    ) -> Self {
        let (bases, documents) = knowledge_bases(db, Arc::clone(clock));
        let chunks = Arc::new(SqlChunks::new(db.clone()));
        let vectors = config.vectors.clone();
        let model = config.embedding_model.clone();
        Self { bases, documents, chunks, vectors, model, licence, clock: Arc::clone(clock) }
    }

    /// Checks that the licence includes knowledge bases.
    fn check_licence(&self) -> Result<(), AdminError> {
        match self.licence.get().at(self.clock.now()) {
            Licensed::Valid(it) if it.features.contains(&Feature::Knowledge) => Ok(()),
            _ => Err(AdminError::NoKnowledge),
        }
    }

    /// Runs a command, and returns what to print.
    pub(super) async fn run(
        &self,
        groups: &GroupServices,
        command: KbCommand,
    ) -> Result<String, AdminError> {
        self.check_licence()?;

        match command {
            KbCommand::List => self.list().await,
            KbCommand::Show { base } => self.show(&base).await,
            KbCommand::Create { name, group } => {
                let group = groups.resolve(&group).await?.group;
                let draft = BaseDraft { name: Some(name), owner: Some(group.id) };
                let base = self.bases.create(None, draft).await?;
                Ok(format!("Knowledge base {} created: {}\n", base.name, base.id))
            }
            KbCommand::Rename { base, name } => {
                let base = self.resolve(&base).await?.base;
                self.bases.rename(None, base.id, Some(name.clone())).await?;
                Ok(format!("Knowledge base {} renamed to {name}\n", base.name))
            }
            KbCommand::Delete { base } => {
                let base = self.resolve(&base).await?.base;
                self.bases.delete(None, base.id).await?;
                Ok(format!("Knowledge base {} deleted\n", base.name))
            }
            KbCommand::Share { base, groups: names } => {
                let base = self.resolve(&base).await?.base;
                let mut ids = Vec::new();
                for name in &names {
                    let id = groups.resolve(name).await?.group.id;
                    if id != base.owner && !ids.contains(&id) {
                        ids.push(id);
                    }
                }

                let with_count = format_groups(ids.len());
                self.bases.share(None, base.id, GroupSelection::Exactly(ids)).await?;

                Ok(format!("Knowledge base {} shared with {with_count}\n", base.name))
            }
            KbCommand::Import { base, folder } => self.import(&base, &folder).await,
            KbCommand::Export { base, folder } => self.export(&base, &folder).await,
            KbCommand::Retry { base } => self.retry(&base).await,
            KbCommand::Reindex { base } => {
                let base = self.resolve(&base).await?.base;
                let count = self.documents.reindex(None, base_ref(base.id), &self.model).await?;
                Ok(format!(
                    "{count} documents of {} queued, to be embedded by {}\n",
                    base.name, self.model
                ))
            }
            KbCommand::Verify { base } => self.verify(&base).await,
        }
    }

    /// Returns the base with this id or name.
    async fn resolve(&self, base: &str) -> Result<KnowledgeBaseEntry, AdminError> {
        let is_named = |it: &KnowledgeBaseEntry| {
            it.base.id.to_string().eq_ignore_ascii_case(base)
                || it.base.name.to_lowercase() == base.trim().to_lowercase()
        };
        let mut entries = self.bases.list().await?.into_iter();
        entries.find(is_named).ok_or_else(|| AdminError::NoKnowledgeBase(base.to_owned()))
    }

    async fn list(&self) -> Result<String, AdminError> {
        let bases = self.bases.list().await?;
        if bases.is_empty() {
            let text = "No knowledge bases; create one with `admin kb create NAME GROUP`\n";
            return Ok(text.to_owned());
        }

        let mut output = String::new();
        for KnowledgeBaseEntry { base, document_count, shared_with, .. } in bases {
            let shared = match shared_with.len() {
                0 => String::new(),
                count => format!(", shared with {}", format_groups(count)),
            };

            let id = base.id;
            let name = base.name;
            let owner = base.owner;
            line(
                &mut output,
                format_args!("{id} {name}: {document_count} documents, of group {owner}{shared}"),
            );
        }

        Ok(output)
    }

    async fn show(&self, base: &str) -> Result<String, AdminError> {
        let KnowledgeBaseEntry { base, model, reindex_model, .. } = self.resolve(base).await?;
        let model = model.map(|it| format!(", embedded by {it}")).unwrap_or_default();
        let reindex =
            reindex_model.map(|it| format!(", being indexed again by {it}")).unwrap_or_default();
        let mut output = format!("{} {}{model}{reindex}\n", base.id, base.name);
        for document in self.documents.list(base_ref(base.id)).await? {
            let Document { id, title, status, chunk_count, error, .. } = document;
            let error = error.map(|it| format!(": {it}")).unwrap_or_default();
            let status = status.name();
            line(&mut output, format_args!("{id} {title}: {status}, {chunk_count} chunks{error}"));
        }

        Ok(output)
    }

    /// Stores the files of a folder. Each is one document by its path, so that a
    /// repetition stores only what has changed.
    async fn import(&self, base: &str, folder: &Path) -> Result<String, AdminError> {
        let base = self.resolve(base).await?.base;
        let FolderFiles { files, unknown_count } = list_files(folder)?;
        let progress = ProgressLine::new(files.len());
        let mut stored_count = 0;
        let mut unchanged_count = 0;
        let mut failures = String::new();
        for (number, file) in files.iter().enumerate() {
            progress.show(number + 1, &file.name);
            match self.import_file(base.id, file).await {
                Ok(FileImportOutcome::Stored) => stored_count += 1,
                Ok(FileImportOutcome::Unchanged) => unchanged_count += 1,
                Err(AdminError::Knowledge(err @ KnowledgeError::Unavailable(_))) => {
                    return Err(err.into());
                }
                Err(err) => line(&mut failures, format_args!("{}: {err}", file.name)),
            }
        }

        let left_out = match unknown_count {
            0 => String::new(),
            count => format!(", {count} of other types left out"),
        };
        let summary =
            format!("{stored_count} files stored, {unchanged_count} unchanged{left_out}\n");
        if failures.is_empty() {
            return Ok(summary);
        }

        Err(AdminError::Unsound(format!("{summary}not stored:\n{failures}")))
    }

    /// Stores a file as the document of its path.
    async fn import_file(
        &self,
        base: KnowledgeBaseId,
        file: &FileSource,
    ) -> Result<FileImportOutcome, AdminError> {
        if file.size > MAX_CONTENT_BYTES as u64 {
            return Err(KnowledgeError::from(DraftError::TooLarge).into());
        }

        let draft = DocumentDraft {
            title: Some(file.title.clone()),
            source_uri: Some(format!("file:{}", file.name)),
            content_type: Some(file.content_type.name().to_owned()),
            content: Some(file.read()?),
        };

        match self.documents.submit(None, base_ref(base), draft).await {
            Ok(submission) if submission.changed => Ok(FileImportOutcome::Stored),
            Ok(_unchanged) => Ok(FileImportOutcome::Unchanged),
            // Another file has the same content.
            Err(KnowledgeError::Duplicate(_)) => Ok(FileImportOutcome::Unchanged),
            Err(err) => Err(err.into()),
        }
    }

    async fn export(&self, base: &str, folder: &Path) -> Result<String, AdminError> {
        let base = base_ref(self.resolve(base).await?.base.id);
        create_folder(folder)?;
        let documents = self.documents.list(base).await?;
        let count = documents.len();
        for document in documents {
            let content = self.documents.content(DocumentRef { base, document: document.id });
            let path = folder.join(export_name(&document));
            std::fs::write(&path, content.await?.bytes)
                .map_err(|err| AdminError::File(path, err))?;
        }
        Ok(format!("{count} documents exported\n"))
    }

    async fn retry(&self, base: &str) -> Result<String, AdminError> {
        let base = base_ref(self.resolve(base).await?.base.id);
        let mut count = 0;
        for document in self.documents.list(base).await? {
            if document.status == DocumentStatus::Failed {
                self.documents.retry(None, DocumentRef { base, document: document.id }).await?;
                count += 1;
            }
        }
        Ok(format!("{count} documents queued again\n"))
    }
}

/// Outcome of the import of a file.
enum FileImportOutcome {
    Stored,
    /// A document has this content already.
    Unchanged,
}

fn format_groups(count: usize) -> String {
    if count == 1 { "1 group".to_owned() } else { format!("{count} groups") }
}

/// Returns a reference to a base by which the server itself reads and changes it.
fn base_ref(id: KnowledgeBaseId) -> BaseRef {
    BaseRef { access: BaseAccess::Server, id }
}
