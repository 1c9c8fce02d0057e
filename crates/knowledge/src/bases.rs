//! Administration of knowledge bases, for administrators of the server.
//!
//! `documents.rs` is the counterpart for managers of single bases. Quotas are checked
//! by the store, within the transaction: this file checks only names and ids.

use std::collections::BTreeSet;
use std::sync::Arc;

use pia_kernel::{Clock, GroupSelection, KnowledgeBaseId, PersonaId, SideEffects, UserId};

use crate::base::{BaseAccess, BaseDraft, BaseRef, KnowledgeBase, KnowledgeBaseEntry, parse_name};
use crate::error::KnowledgeError;
use crate::ports::base_store::{BaseChangeOutcome, BaseStore, GroupQuotas};

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

    /// Returns a base of any group.
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
        let name = parse_name(draft.name)?;
        let owner = draft.owner.ok_or(KnowledgeError::OwnerRequired)?;
        let id = KnowledgeBaseId::generate();
        let created_at = self.clock.now();
        let base = KnowledgeBase { id, owner, name, prompt: None, created_at };
        let effects = self.effects(by, id, "KnowledgeBase.Created");
        check_outcome(self.store.create(base.clone(), self.defaults, effects).await?)?;
        Ok(base)
    }

    /// Renames a base; its documents are not embedded again.
    pub async fn rename(
        &self,
        by: Option<UserId>,
        base: KnowledgeBaseId,
        name: Option<String>,
    ) -> Result<(), KnowledgeError> {
        let name = parse_name(name)?;
        let effects = self.effects(by, base, "KnowledgeBase.Renamed");
        check_outcome(self.store.rename(base, &name, effects).await?)
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

    /// Shares a base with the selected groups beside its owner.
    pub async fn share(
        &self,
        by: Option<UserId>,
        base: KnowledgeBaseId,
        groups: GroupSelection,
    ) -> Result<(), KnowledgeError> {
        check_count(groups.count())?;
        let effects = self.effects(by, base, "KnowledgeBase.GroupsUpdated");
        check_outcome(self.store.share(base, groups, self.defaults, effects).await?)
    }

    /// Returns the bases that are bound to a persona.
    pub async fn list_bound(
        &self,
        persona: PersonaId,
    ) -> Result<Vec<KnowledgeBaseId>, KnowledgeError> {
        self.store.list_bound(persona).await?.ok_or(KnowledgeError::NotFound)
    }

    /// Binds exactly these bases to a persona.
    pub async fn bind(
        &self,
        by: Option<UserId>,
        persona: PersonaId,
        bases: Vec<KnowledgeBaseId>,
    ) -> Result<(), KnowledgeError> {
        let unique_bases = unique(bases)?;
        let object = format!("managed-persona:{persona}");
        let action = "ManagedPersona.KnowledgeBasesUpdated";
        let effects = SideEffects::of_object(self.clock.now(), by, object, action);
        check_outcome(self.store.bind(persona, &unique_bases, self.defaults, effects).await?)
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

/// Returns each id once, in ascending order.
fn unique<T: Ord>(ids: Vec<T>) -> Result<Vec<T>, KnowledgeError> {
    check_count(ids.len())?;
    Ok(BTreeSet::from_iter(ids).into_iter().collect())
}

fn check_count(count: usize) -> Result<(), KnowledgeError> {
    if count > MAX_IDS { Err(KnowledgeError::TooManyIds) } else { Ok(()) }
}

fn check_outcome(outcome: BaseChangeOutcome) -> Result<(), KnowledgeError> {
    match outcome {
        BaseChangeOutcome::Done => Ok(()),
        BaseChangeOutcome::Unknown => Err(KnowledgeError::NotFound),
        BaseChangeOutcome::NameTaken => Err(KnowledgeError::NameTaken),
        BaseChangeOutcome::UnknownGroup(group) => Err(KnowledgeError::UnknownGroup(group)),
        BaseChangeOutcome::UnknownBase(base) => Err(KnowledgeError::UnknownBase(base)),
        BaseChangeOutcome::QuotaExceeded { group, limit, current } => {
            Err(KnowledgeError::BaseQuotaExceeded { group, limit, current })
        }
    }
}

#[cfg(test)]
mod tests {
    use mockall::predicate::{always, eq};
    use pia_kernel::{GroupId, Timestamp};
    use pia_testkit::FixedClock;

    use super::*;
    use crate::ports::base_store::MockBaseStore;

    const DEFAULTS: GroupQuotas =
        GroupQuotas { bases: 1, documents: 2, bytes: 3, monthly_tokens: 4 };

    fn bases(store: MockBaseStore) -> KnowledgeBases {
        let clock = Arc::new(FixedClock(Timestamp::UNIX_EPOCH));
        KnowledgeBases::new(Arc::new(store), DEFAULTS, clock)
    }

    fn draft(name: &str) -> BaseDraft {
        BaseDraft { name: Some(name.to_owned()), owner: Some(GroupId::generate()) }
    }

    #[tokio::test]
    async fn a_base_is_created_with_a_trimmed_name_and_an_entry_in_the_audit_log() {
        let mut store = MockBaseStore::new();
        let is_audited = |base: &KnowledgeBase, defaults: &GroupQuotas, effects: &SideEffects| {
            let entry = &effects.audit[0];
            let object = format!("knowledge-base:{}", base.id);
            *defaults == DEFAULTS
                && entry.action == "KnowledgeBase.Created"
                && entry.object == Some(object)
        };
        store
            .expect_create()
            .withf(is_audited)
            .once()
            .returning(|_, _, _| Ok(BaseChangeOutcome::Done));
        let draft = draft(" Handbook ");

        let base = bases(store).create(None, draft.clone()).await.unwrap();

        assert_eq!(base.name, "Handbook");
        assert_eq!(Some(base.owner), draft.owner);
    }

    #[tokio::test]
    async fn a_base_needs_an_owner_and_a_name_of_at_most_100_characters() {
        let use_case = bases(MockBaseStore::new());

        for (draft, expected) in [
            (BaseDraft { owner: None, ..draft("Handbook") }, "needs a group"),
            (BaseDraft { name: None, ..draft("") }, "needs a name"),
            (draft(" "), "needs a name"),
            (draft(&"x".repeat(101)), "at most 100"),
            (draft(&"😀".repeat(51)), "at most 100"),
        ] {
            let err = use_case.create(None, draft).await.unwrap_err();
            assert!(err.to_string().contains(expected), "{err}");
        }
    }

    #[tokio::test]
    async fn outcomes_of_the_store_are_errors() {
        let group = GroupId::generate();
        let base = KnowledgeBaseId::generate();
        let exceeded =
            BaseChangeOutcome::QuotaExceeded { group: "Sales".to_owned(), limit: 3, current: 4 };
        for (change, expected) in [
            (BaseChangeOutcome::Unknown, "no such".to_owned()),
            (BaseChangeOutcome::NameTaken, "has this name".to_owned()),
            (BaseChangeOutcome::UnknownGroup(group), group.to_string()),
            (BaseChangeOutcome::UnknownBase(base), base.to_string()),
            (exceeded, "Sales has its maximum of 3".to_owned()),
        ] {
            let mut store = MockBaseStore::new();
            store.expect_rename().return_once(|_, _, _| Ok(change));

            let outcome = bases(store).rename(None, base, Some("Handbook".to_owned())).await;

            let message = outcome.unwrap_err().to_string();
            assert!(message.contains(&expected), "{message}");
        }
    }

    #[tokio::test]
    async fn selected_groups_are_passed_on_and_bases_bound_once() {
        let base = KnowledgeBaseId::generate();
        let groups = GroupSelection::Exactly(vec![GroupId::generate()]);
        let expected = groups.clone();
        let mut store = MockBaseStore::new();
        store
            .expect_share()
            .withf(move |id, groups, _, _| *id == base && *groups == expected)
            .once()
            .returning(|_, _, _, _| Ok(BaseChangeOutcome::Done));
        store
            .expect_bind()
            .withf(move |_, bases, _, effects| {
                bases == [base] && effects.audit[0].action == "ManagedPersona.KnowledgeBasesUpdated"
            })
            .once()
            .returning(|_, _, _, _| Ok(BaseChangeOutcome::Done));
        let use_case = bases(store);

        use_case.share(None, base, groups).await.unwrap();
        use_case.bind(None, PersonaId::generate(), vec![base, base]).await.unwrap();
    }

    #[tokio::test]
    async fn a_list_of_too_many_ids_is_rejected() {
        let groups = GroupSelection::Exactly(vec![GroupId::generate(); MAX_IDS + 1]);

        let outcome =
            bases(MockBaseStore::new()).share(None, KnowledgeBaseId::generate(), groups).await;

        assert!(matches!(outcome, Err(KnowledgeError::TooManyIds)));
    }

    #[tokio::test]
    async fn a_base_or_persona_that_does_not_exist_is_not_found() {
        let base = KnowledgeBaseId::generate();
        let mut store = MockBaseStore::new();
        let id = BaseRef { access: BaseAccess::Server, id: base };
        store.expect_find().with(eq(id)).returning(|_| Ok(None));
        store.expect_delete().with(eq(base), always()).returning(|_, _| Ok(false));
        store.expect_list_bound().returning(|_| Ok(None));
        let use_case = bases(store);

        assert!(matches!(use_case.find(base).await, Err(KnowledgeError::NotFound)));
        assert!(matches!(use_case.delete(None, base).await, Err(KnowledgeError::NotFound)));
        let bound = use_case.list_bound(PersonaId::generate()).await;
        assert!(matches!(bound, Err(KnowledgeError::NotFound)));
    }
}
