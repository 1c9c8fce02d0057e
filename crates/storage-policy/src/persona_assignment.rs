//! Steps of the assignment of a persona to groups.
//!
//! Two quotas of every group are checked, under the lock of the catalogue: its personas,
//! and the bases that it would search.

use std::collections::HashMap;

use diesel::dsl::count_star;
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use pia_kernel::PersonaId;
use pia_policy::PersonaAssignmentOutcome;
use pia_storage::schema::{
    group_personas, group_settings, managed_personas, persona_knowledge_bases, user_groups,
};
use pia_storage::{
    BaseBinding, CheckBaseQuota, DbError, DbUid, ExceededBases, connection_trait, ids_without,
};

/// Group with its own maximum number of managed personas, if any.
#[derive(Queryable)]
pub(crate) struct GroupQuota {
    pub(crate) id: DbUid,
    name: String,
    own_limit: Option<i64>,
}

/// Query of the number of other personas that groups have.
macro_rules! other_personas {
    ($groups:expr, $persona:expr) => {
        group_personas::table
            .inner_join(
                managed_personas::table.on(managed_personas::id.eq(group_personas::persona_id)),
            )
            .filter(managed_personas::deleted_at.is_null())
            .filter(group_personas::group_id.eq_any($groups))
            .filter(group_personas::persona_id.ne(DbUid($persona.0)))
            .group_by(group_personas::group_id)
            .select((group_personas::group_id, count_star()))
    };
}

connection_trait! {
    /// Steps of the assignment of a persona to groups.
    pub(crate) trait AssignPersona {
        /// Returns the quotas of the groups that exist.
        async fn group_quotas(&mut self, groups: &[DbUid]) -> Result<Vec<GroupQuota>, DbError> {
            let quotas = user_groups::table
                .left_join(group_settings::table.on(group_settings::group_id.eq(user_groups::id)))
                .filter(user_groups::id.eq_any(groups))
                .select((
                    user_groups::id,
                    user_groups::name,
                    group_settings::managed_personas.nullable(),
                ));
            Ok(quotas.load(self).await?)
        }

        /// Returns the refusal for the first group that has all the personas that it
        /// may without this one.
        async fn exceeded_personas(
            &mut self,
            persona: PersonaId,
            groups: &[GroupQuota],
            default_limit: i64,
        ) -> Result<Option<PersonaAssignmentOutcome>, DbError> {
            let ids: Vec<DbUid> = groups.iter().map(|it| it.id).collect();
            let counts: Vec<(DbUid, i64)> = other_personas!(&ids, persona).load(self).await?;
            let counts: HashMap<_, _> = counts.into_iter().collect();
            for group in groups {
                let limit = group.own_limit.unwrap_or(default_limit);
                let count = counts.get(&group.id).copied().unwrap_or_default();
                if count >= limit {
                    let group = group.name.clone();
                    return Ok(Some(PersonaAssignmentOutcome::QuotaExceeded { group, limit }));
                }
            }
            Ok(None)
        }

        /// Returns the refusal for the first group that would search more knowledge
        /// bases than it may with those of this persona.
        async fn exceeded_bases_of(
            &mut self,
            persona: PersonaId,
            groups: &[DbUid],
            default_limit: i64,
        ) -> Result<Option<PersonaAssignmentOutcome>, DbError> {
            let base_ids: Vec<DbUid> = persona_knowledge_bases::table
                .filter(persona_knowledge_bases::persona_id.eq(DbUid(persona.0)))
                .select(persona_knowledge_bases::base_id)
                .load(self)
                .await?;
            let added_bindings: Vec<BaseBinding> = groups
                .iter()
                .flat_map(|&group| base_ids.iter().map(move |&base| BaseBinding { group, base }))
                .collect();

            let exceeded_bases = self.exceeded_bases(&added_bindings, None, default_limit).await?;
            let refusal = exceeded_bases.map(|ExceededBases { group, limit, .. }| {
                PersonaAssignmentOutcome::BaseQuotaExceeded { group, limit }
            });
            Ok(refusal)
        }

        /// Assigns a persona to these groups alone, some of which have it already.
        async fn replace_assignments(
            &mut self,
            persona: PersonaId,
            groups: &[DbUid],
            previous_groups: &[DbUid],
        ) -> Result<(), DbError> {
            let withdrawn_assignments = group_personas::table
                .filter(group_personas::persona_id.eq(DbUid(persona.0)))
                .filter(group_personas::group_id.ne_all(groups));
            diesel::delete(withdrawn_assignments).execute(self).await?;

            for group in ids_without(groups, previous_groups) {
                let assignment = (
                    group_personas::group_id.eq(group),
                    group_personas::persona_id.eq(DbUid(persona.0)),
                );
                diesel::insert_into(group_personas::table).values(assignment).execute(self).await?;
            }

            Ok(())
        }
    }
}
