//! Knowledge bases in SQL.

mod bindings;
mod stats;

use std::collections::HashMap;

use async_trait::async_trait;
use diesel::dsl::count_star;
use diesel::prelude::*;
use diesel::result::DatabaseErrorKind;
use diesel::result::Error::DatabaseError;
use diesel_async::RunQueryDsl;
use pia_kernel::{
    GroupId, GroupSelection, KnowledgeBaseId, PersonaId, SideEffects, Timestamp, Unavailable,
};
use pia_knowledge::{
    BaseAccess, BaseChangeOutcome, BaseRef, BaseStats, BaseStore, GroupQuotas, KnowledgeBase,
    KnowledgeBaseEntry,
};
use pia_storage::schema::{
    knowledge_base_groups, knowledge_bases, knowledge_documents, user_groups,
};
use pia_storage::{
    BaseBinding, CatalogueVersion, CheckBaseQuota, Database, DbError, DbInstant, DbUid,
    ExceededBases, WriteEffects, in_tx, on_conn,
};
use serde_json::json;

use crate::removal::RemoveChunks;

/// Knowledge bases in SQL.
#[derive(Debug, Clone)]
pub struct SqlKnowledgeBases {
    db: Database,
}

#[derive(Queryable, Selectable)]
#[diesel(table_name = knowledge_bases)]
struct BaseRow {
    id: DbUid,
    group_id: DbUid,
    name: String,
    prompt: Option<String>,
    model: Option<String>,
    reindex_model: Option<String>,
    created_at: DbInstant,
}

/// Base that is shared with a group.
#[derive(Queryable)]
struct ShareRow {
    base: DbUid,
    group: DbUid,
}

impl From<BaseRow> for KnowledgeBase {
    fn from(row: BaseRow) -> Self {
        Self {
            id: KnowledgeBaseId(row.id.0),
            owner: GroupId(row.group_id.0),
            name: row.name,
            prompt: row.prompt,
            created_at: row.created_at.0,
        }
    }
}

/// Loads the entries of the bases of a query, by name.
macro_rules! load_entries {
    ($db:expr, $bases:expr) => {{
        let count_query = knowledge_documents::table
            .filter(knowledge_documents::base_id.eq_any($bases.select(knowledge_bases::id)))
            .group_by(knowledge_documents::base_id)
            .select((knowledge_documents::base_id, count_star()));
        let share_query = knowledge_base_groups::table
            .filter(knowledge_base_groups::base_id.eq_any($bases.select(knowledge_bases::id)))
            .order(knowledge_base_groups::group_id)
            .select((knowledge_base_groups::base_id, knowledge_base_groups::group_id));

        on_conn!($db.reader(), |conn| {
            let row_query = $bases.order(knowledge_bases::name_folded);
            let rows: Vec<BaseRow> = row_query.select(BaseRow::as_select()).load(conn).await?;
            let counts: Vec<(DbUid, i64)> = count_query.load(conn).await?;
            let shares: Vec<ShareRow> = share_query.load(conn).await?;
            entries_of(rows, counts, shares)
        })
    }};
}

impl SqlKnowledgeBases {
    /// Creates a store in `db`.
    pub fn new(db: Database) -> Self {
        Self { db }
    }
}

/// Returns bases with the numbers of their documents, and the groups that share them.
fn entries_of(
    rows: Vec<BaseRow>,
    counts: Vec<(DbUid, i64)>,
    shares: Vec<ShareRow>,
) -> Vec<KnowledgeBaseEntry> {
    let counts: HashMap<_, _> = counts.into_iter().map(|(id, count)| (id.0, count)).collect();
    let mut groups_by_base: HashMap<_, Vec<GroupId>> = HashMap::new();
    for share in shares {
        groups_by_base.entry(share.base.0).or_default().push(GroupId(share.group.0));
    }

    let entries = rows.into_iter().map(|row| KnowledgeBaseEntry {
        document_count: counts.get(&row.id.0).copied().unwrap_or_default(),
        shared_with: groups_by_base.remove(&row.id.0).unwrap_or_default(),
        model: row.model.clone(),
        reindex_model: row.reindex_model.clone(),
        base: row.into(),
    });

    entries.collect()
}

pub(crate) fn quota_outcome(quota: ExceededBases) -> BaseChangeOutcome {
    let ExceededBases { group, limit, current } = quota;
    BaseChangeOutcome::QuotaExceeded { group, limit, current }
}

/// Returns the name of a base as it is compared: without regard to case.
fn fold_name(name: &str) -> String {
    name.to_lowercase()
}

#[async_trait]
impl BaseStore for SqlKnowledgeBases {
    async fn list(&self, access: BaseAccess) -> Result<Vec<KnowledgeBaseEntry>, Unavailable> {
        Ok(load_entries!(self.db, managed_bases!(access))?)
    }

    async fn find(&self, base: BaseRef) -> Result<Option<KnowledgeBaseEntry>, Unavailable> {
        let id = DbUid(base.id.0);
        let entries =
            load_entries!(self.db, managed_bases!(base.access).filter(knowledge_bases::id.eq(id)))?;
        Ok(entries.into_iter().next())
    }

    async fn stats(
        &self,
        base: BaseRef,
        now: Timestamp,
        defaults: GroupQuotas,
    ) -> Result<Option<BaseStats>, Unavailable> {
        let Some(entry) = self.find(base).await? else { return Ok(None) };
        Ok(Some(stats::load(&self.db, &entry.base, now, defaults).await?))
    }

    async fn create(
        &self,
        base: KnowledgeBase,
        defaults: GroupQuotas,
        effects: SideEffects,
    ) -> Result<BaseChangeOutcome, Unavailable> {
        let effects = effects.with_changes(None, Some(&base));
        let id = DbUid(base.id.0);
        let owner = DbUid(base.owner.0);
        let at = DbInstant(base.created_at);
        let row = (
            knowledge_bases::id.eq(id),
            knowledge_bases::group_id.eq(owner),
            knowledge_bases::name.eq(&base.name),
            knowledge_bases::name_folded.eq(fold_name(&base.name)),
            knowledge_bases::created_at.eq(at),
            knowledge_bases::served_at.eq(at),
        );

        in_tx!(self.db, async |conn| {
            conn.lock_catalogue().await?;
            let group = user_groups::table.find(owner).select(user_groups::id);
            if group.first::<DbUid>(conn).await.optional()?.is_none() {
                return Ok(BaseChangeOutcome::UnknownGroup(base.owner));
            }
            // The catalogue is locked: no other change adds a base meanwhile.
            let own_binding = BaseBinding { group: owner, base: id };
            if let Some(quota) = conn.exceeded_bases(&[own_binding], None, defaults.bases).await? {
                return Ok(quota_outcome(quota));
            }
            let inserted_rows = diesel::insert_into(knowledge_bases::table)
                .values(row.clone())
                .on_conflict_do_nothing()
                .execute(conn)
                .await?;
            if inserted_rows == 0 {
                return Ok(BaseChangeOutcome::NameTaken);
            }
            conn.write_effects(&self.db, &effects).await?;
            Ok(BaseChangeOutcome::Done)
        })
    }

    async fn rename(
        &self,
        base: KnowledgeBaseId,
        name: &str,
        effects: SideEffects,
    ) -> Result<BaseChangeOutcome, Unavailable> {
        let row = knowledge_bases::table.find(DbUid(base.0));
        let outcome = in_tx!(self.db, async |conn| -> Result<BaseChangeOutcome, DbError> {
            conn.lock_catalogue().await?;
            let previous_name =
                row.select(knowledge_bases::name).first::<String>(conn).await.optional()?;
            let Some(previous_name) = previous_name else { return Ok(BaseChangeOutcome::Unknown) };
            let new_names =
                (knowledge_bases::name.eq(name), knowledge_bases::name_folded.eq(fold_name(name)));
            diesel::update(row).set(new_names).execute(conn).await?;
            let before = json!({ "name": previous_name });
            let after = json!({ "name": name });
            let effects = effects.with_changes(Some(&before), Some(&after));
            conn.write_effects(&self.db, &effects).await?;
            Ok(BaseChangeOutcome::Done)
        });

        match outcome {
            Err(DbError::Query(DatabaseError(DatabaseErrorKind::UniqueViolation, _))) => {
                Ok(BaseChangeOutcome::NameTaken)
            }
            outcome => Ok(outcome?),
        }
    }

    async fn set_prompt(
        &self,
        base: BaseRef,
        prompt: Option<String>,
        effects: SideEffects,
    ) -> Result<bool, Unavailable> {
        let Some(entry) = self.find(base).await? else { return Ok(false) };

        let row = knowledge_bases::table.find(DbUid(base.id.0));
        let [before, after] = [&entry.base.prompt, &prompt].map(|it| json!({ "prompt": it }));
        let effects = effects.with_changes(Some(&before), Some(&after));
        in_tx!(self.db, async |conn| {
            let new_prompt = knowledge_bases::prompt.eq(&prompt);
            if diesel::update(row).set(new_prompt).execute(conn).await? == 0 {
                return Ok(false);
            }
            conn.write_effects(&self.db, &effects).await?;
            Ok(true)
        })
    }

    async fn delete(
        &self,
        base: KnowledgeBaseId,
        effects: SideEffects,
    ) -> Result<bool, Unavailable> {
        let id = DbUid(base.0);
        in_tx!(self.db, async |conn| {
            conn.lock_catalogue().await?;
            let row = knowledge_bases::table.find(id);
            let before = row.select(BaseRow::as_select()).first(conn).await.optional()?;
            let Some(before) = before.map(KnowledgeBase::from) else { return Ok(false) };
            conn.remove_base(id).await?;
            let effects = effects.with_changes(Some(&before), None);
            conn.write_effects(&self.db, &effects).await?;
            Ok(true)
        })
    }

    async fn share(
        &self,
        base: KnowledgeBaseId,
        groups: GroupSelection,
        defaults: GroupQuotas,
        effects: SideEffects,
    ) -> Result<BaseChangeOutcome, Unavailable> {
        Ok(bindings::share(&self.db, base, &groups, defaults, &effects).await?)
    }

    async fn list_bound(
        &self,
        persona: PersonaId,
    ) -> Result<Option<Vec<KnowledgeBaseId>>, Unavailable> {
        Ok(bindings::list_bound(&self.db, persona).await?)
    }

    async fn bind(
        &self,
        persona: PersonaId,
        bases: &[KnowledgeBaseId],
        defaults: GroupQuotas,
        effects: SideEffects,
    ) -> Result<BaseChangeOutcome, Unavailable> {
        Ok(bindings::bind(&self.db, persona, bases, defaults, &effects).await?)
    }
}
