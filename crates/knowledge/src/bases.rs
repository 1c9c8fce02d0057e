//! Administration of knowledge bases.

use std::collections::BTreeSet;
use std::sync::Arc;

use pia_kernel::{Clock, GroupId, KnowledgeBaseId, PersonaId, SideEffects, UserId};

use crate::base::{BaseAccess, BaseDraft, BaseRef, KnowledgeBase, KnowledgeBaseEntry, check_name};
use crate::error::KnowledgeError;
use crate::ports::base_store::{BaseChanged, BaseStore, GroupQuotas};

/// Maximum number of ids in one request.
const MAX_IDS: usize = 10_000;

/// Creates, renames, deletes, shares and binds knowledge bases.
///
/// `by` is the administrator; `None` stands for the command line.
#[derive(Clone)]
pub struct KnowledgeBases {
    store: Arc<dyn BaseStore>,
    defaults: GroupQuotas,
    clock: Arc<dyn Clock>,
}

impl KnowledgeBases {
    /// Creates the use case; `defaults` are the quotas of groups without
    /// settings of their own.
    pub fn new(store: Arc<dyn BaseStore>, defaults: GroupQuotas, clock: Arc<dyn Clock>) -> Self {
        Self { store, defaults, clock }
    }

    /// Returns all bases, by name.
    pub async fn list(&self) -> Result<Vec<KnowledgeBaseEntry>, KnowledgeError> {
        Ok(self.store.list(BaseAccess::Server).await?)
    }

    /// Returns a base.
    pub async fn find(&self, base: KnowledgeBaseId) -> Result<KnowledgeBaseEntry, KnowledgeError> {
        self.store
            .find(BaseRef { access: BaseAccess::Server, id: base })
            .await?
            .ok_or(KnowledgeError::NotFound)
    }

    /// Creates a base for a group that owns it.
    pub async fn create(
        &self,
        by: Option<UserId>,
        draft: BaseDraft,
    ) -> Result<KnowledgeBase, KnowledgeError> {
        let name = check_name(draft.name)?;
        let owner = draft.owner.ok_or(KnowledgeError::OwnerRequired)?;
        let (id, created_at) = (KnowledgeBaseId::generate(), self.clock.now());
        let base = KnowledgeBase { id, owner, name, prompt: None, created_at };
        let effects = self.effects(by, id, "KnowledgeBase.Created");
        done(self.store.create(base.clone(), self.defaults, effects).await?)?;
        Ok(base)
    }

    /// Renames a base.
    pub async fn rename(
        &self,
        by: Option<UserId>,
        base: KnowledgeBaseId,
        name: Option<String>,
    ) -> Result<(), KnowledgeError> {
        let name = check_name(name)?;
        let effects = self.effects(by, base, "KnowledgeBase.Renamed");
        done(self.store.rename(base, &name, effects).await?)
    }

    /// Deletes a base with its documents.
    pub async fn delete(
        &self,
        by: Option<UserId>,
        base: KnowledgeBaseId,
    ) -> Result<(), KnowledgeError> {
        let effects = self.effects(by, base, "KnowledgeBase.Deleted");
        let deleted = self.store.delete(base, effects).await?;
        if deleted { Ok(()) } else { Err(KnowledgeError::NotFound) }
    }

    /// Shares a base with exactly these groups beside its owner.
    pub async fn share(
        &self,
        by: Option<UserId>,
        base: KnowledgeBaseId,
        groups: Vec<GroupId>,
    ) -> Result<(), KnowledgeError> {
        let groups = unique(groups)?;
        let effects = self.effects(by, base, "KnowledgeBase.GroupsUpdated");
        done(self.store.share(base, &groups, self.defaults, effects).await?)
    }

    /// Returns the bases that are bound to a persona.
    pub async fn bound(&self, persona: PersonaId) -> Result<Vec<KnowledgeBaseId>, KnowledgeError> {
        self.store.bound(persona).await?.ok_or(KnowledgeError::NotFound)
    }

    /// Binds exactly these bases to a persona.
    pub async fn bind(
        &self,
        by: Option<UserId>,
        persona: PersonaId,
        bases: Vec<KnowledgeBaseId>,
    ) -> Result<(), KnowledgeError> {
        let bases = unique(bases)?;
        let object = format!("managed-persona:{persona}");
        let action = "ManagedPersona.KnowledgeBasesUpdated";
        let effects = SideEffects::of_object(self.clock.now(), by, object, action);
        done(self.store.bind(persona, &bases, self.defaults, effects).await?)
    }

    fn effects(
        &self,
        by: Option<UserId>,
        base: KnowledgeBaseId,
        action: &'static str,
    ) -> SideEffects {
        SideEffects::of_object(self.clock.now(), by, format!("knowledge-base:{base}"), action)
    }
}

/// Returns each id once, in order.
fn unique<T: Ord>(ids: Vec<T>) -> Result<Vec<T>, KnowledgeError> {
    if ids.len() > MAX_IDS {
        return Err(KnowledgeError::TooManyIds);
    }
    Ok(BTreeSet::from_iter(ids).into_iter().collect())
}

fn done(changed: BaseChanged) -> Result<(), KnowledgeError> {
    match changed {
        BaseChanged::Done => Ok(()),
        BaseChanged::Unknown => Err(KnowledgeError::NotFound),
        BaseChanged::NameTaken => Err(KnowledgeError::NameTaken),
        BaseChanged::UnknownGroup(group) => Err(KnowledgeError::UnknownGroup(group)),
        BaseChanged::UnknownBase(base) => Err(KnowledgeError::UnknownBase(base)),
        BaseChanged::QuotaExceeded { group, limit, current } => {
            Err(KnowledgeError::BaseQuotaExceeded { group, limit, current })
        }
    }
}
