//! Groups that a base is shared with, and bases that are bound to a persona.
//!
//! Both lists are changed as a unit. Either may add bases to what a group searches,
//! so both check the quota of every group concerned, under the catalogue's lock.

use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use pia_kernel::{GroupId, GroupSelection, KnowledgeBaseId, PersonaId, SideEffects};
use pia_knowledge::{BaseChangeOutcome, GroupQuotas};
use pia_storage::schema::{
    group_personas, knowledge_base_groups, knowledge_bases, managed_personas,
    persona_knowledge_bases, user_groups,
};
use pia_storage::{
    BaseBinding, CatalogueVersion, CheckBaseQuota, Database, DbError, DbUid, WriteEffects,
    ids_without, in_tx, on_conn, selected_ids, with_ids,
};

use super::quota_outcome;

/// Query of a persona that is not deleted.
macro_rules! live_persona {
    ($persona:expr) => {
        managed_personas::table
            .find(DbUid($persona.0))
            .filter(managed_personas::deleted_at.is_null())
            .select(managed_personas::id)
    };
}

/// Shares a base with the selected groups.
pub(super) async fn share(
    db: &Database,
    base: KnowledgeBaseId,
    groups: &GroupSelection,
    defaults: GroupQuotas,
    effects: &SideEffects,
) -> Result<BaseChangeOutcome, DbError> {
    let id = DbUid(base.0);
    let bindings = knowledge_base_groups::table.filter(knowledge_base_groups::base_id.eq(id));
    in_tx!(db, async |conn| -> Result<BaseChangeOutcome, DbError> {
        conn.lock_catalogue().await?;
        let row = knowledge_bases::table.find(id).select(knowledge_bases::id);
        if row.first::<DbUid>(conn).await.optional()?.is_none() {
            return Ok(BaseChangeOutcome::Unknown);
        }

        let before: Vec<DbUid> =
            bindings.select(knowledge_base_groups::group_id).load(conn).await?;
        let ids = selected_ids(groups, &before);
        let known_groups: Vec<DbUid> = user_groups::table
            .filter(user_groups::id.eq_any(&ids))
            .select(user_groups::id)
            .load(conn)
            .await?;
        if let Some(unknown) = ids_without(&ids, &known_groups).into_iter().next() {
            return Ok(BaseChangeOutcome::UnknownGroup(GroupId(unknown.0)));
        }

        let added_bindings: Vec<_> =
            ids.iter().map(|&group| BaseBinding { group, base: id }).collect();
        if let Some(quota) = conn.exceeded_bases(&added_bindings, None, defaults.bases).await? {
            return Ok(quota_outcome(quota));
        }

        let removed = ids_without(&before, &ids);
        let removed_bindings = bindings.filter(knowledge_base_groups::group_id.eq_any(&removed));
        diesel::delete(removed_bindings).execute(conn).await?;

        for group in ids_without(&ids, &before) {
            let new_binding =
                (knowledge_base_groups::base_id.eq(id), knowledge_base_groups::group_id.eq(group));
            diesel::insert_into(knowledge_base_groups::table)
                .values(new_binding)
                .execute(conn)
                .await?;
        }

        conn.write_effects(db, &with_ids(effects, "groups", &before, &ids)).await?;

        Ok(BaseChangeOutcome::Done)
    })
}

/// Loads the bases that are bound to a persona.
pub(super) async fn list_bound(
    db: &Database,
    persona: PersonaId,
) -> Result<Option<Vec<KnowledgeBaseId>>, DbError> {
    let bases = persona_knowledge_bases::table
        .filter(persona_knowledge_bases::persona_id.eq(DbUid(persona.0)))
        .order(persona_knowledge_bases::base_id)
        .select(persona_knowledge_bases::base_id);
    let (exists, bases): (Option<DbUid>, Vec<DbUid>) = on_conn!(db.reader(), |conn| {
        let exists = live_persona!(persona).first(conn).await.optional()?;
        (exists, bases.load(conn).await?)
    })?;
    Ok(exists.map(|_live| bases.into_iter().map(|it| KnowledgeBaseId(it.0)).collect()))
}

/// Binds exactly these bases to a persona.
pub(super) async fn bind(
    db: &Database,
    persona: PersonaId,
    bases: &[KnowledgeBaseId],
    defaults: GroupQuotas,
    effects: &SideEffects,
) -> Result<BaseChangeOutcome, DbError> {
    let id = DbUid(persona.0);
    let ids = bases.iter().map(|it| DbUid(it.0)).collect::<Vec<_>>();
    let bindings =
        persona_knowledge_bases::table.filter(persona_knowledge_bases::persona_id.eq(id));
    in_tx!(db, async |conn| -> Result<BaseChangeOutcome, DbError> {
        conn.lock_catalogue().await?;
        if live_persona!(persona).first::<DbUid>(conn).await.optional()?.is_none() {
            return Ok(BaseChangeOutcome::Unknown);
        }

        let known_bases: Vec<DbUid> = knowledge_bases::table
            .filter(knowledge_bases::id.eq_any(&ids))
            .select(knowledge_bases::id)
            .load(conn)
            .await?;
        if let Some(unknown) = ids.iter().find(|it| !known_bases.contains(it)) {
            return Ok(BaseChangeOutcome::UnknownBase(KnowledgeBaseId(unknown.0)));
        }

        let groups: Vec<DbUid> = group_personas::table
            .filter(group_personas::persona_id.eq(id))
            .select(group_personas::group_id)
            .load(conn)
            .await?;
        let added_bindings: Vec<_> = groups
            .iter()
            .flat_map(|&group| ids.iter().map(move |&base| BaseBinding { group, base }))
            .collect();
        if let Some(quota) = conn.exceeded_bases(&added_bindings, Some(id), defaults.bases).await? {
            return Ok(quota_outcome(quota));
        }

        let before: Vec<DbUid> =
            bindings.select(persona_knowledge_bases::base_id).load(conn).await?;
        diesel::delete(bindings).execute(conn).await?;
        for base in &ids {
            let new_binding = (
                persona_knowledge_bases::persona_id.eq(id),
                persona_knowledge_bases::base_id.eq(base),
            );
            diesel::insert_into(persona_knowledge_bases::table)
                .values(new_binding)
                .execute(conn)
                .await?;
        }
        conn.write_effects(db, &with_ids(effects, "knowledgeBases", &before, &ids)).await?;

        Ok(BaseChangeOutcome::Done)
    })
}
