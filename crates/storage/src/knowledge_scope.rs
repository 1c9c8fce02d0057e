//! Knowledge bases that groups search, and their quota.
//!
//! Three changes can add bases to a group: of a base, of a persona's bases, and of a
//! persona's groups. They are in two crates, `storage-knowledge` and `storage-policy`,
//! and so their common check is here.

use std::collections::{BTreeMap, BTreeSet};

use diesel::prelude::*;
use diesel_async::RunQueryDsl;

use crate::schema::{
    group_personas, group_settings, knowledge_base_groups, knowledge_bases, managed_personas,
    persona_knowledge_bases, user_groups,
};
use crate::{DbError, DbUid, connection_trait};

/// Group that would search more bases than it may.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExceededBases {
    /// Name of the group.
    pub group: String,
    /// Maximum number of bases that the group searches.
    pub limit: i64,
    /// Number of bases that it would search.
    pub current: i64,
}

/// Base that a group searches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Queryable)]
pub struct BaseBinding {
    /// Group that searches.
    pub group: DbUid,
    /// Searched base.
    pub base: DbUid,
}

/// Base that a group searches through one of its personas.
#[derive(Queryable)]
struct PersonaBinding {
    group: DbUid,
    base: DbUid,
    persona: DbUid,
}

impl PersonaBinding {
    fn binding(&self) -> BaseBinding {
        BaseBinding { group: self.group, base: self.base }
    }
}

connection_trait! {
    /// Quota of the knowledge bases that a group searches: its own, those shared
    /// with it, and those bound to its personas.
    pub trait CheckBaseQuota {
        /// Returns the first group that would exceed its quota with these
        /// additional bindings, and without the present bindings of
        /// a `replaced` persona. Groups that gain no base are not checked. The
        /// catalogue must be locked.
        async fn exceeded_bases(
            &mut self,
            added: &[BaseBinding],
            replaced: Option<DbUid>,
            default_limit: i64,
        ) -> Result<Option<ExceededBases>, DbError> {
            // SQLite limits the number of parameters, so each group is one.
            let distinct_groups: BTreeSet<_> = added.iter().map(|it| it.group.0).collect();
            let groups: Vec<DbUid> = distinct_groups.into_iter().map(DbUid).collect();
            let owned = knowledge_bases::table
                .filter(knowledge_bases::group_id.eq_any(&groups))
                .select((knowledge_bases::group_id, knowledge_bases::id));
            let shared = knowledge_base_groups::table
                .filter(knowledge_base_groups::group_id.eq_any(&groups))
                .select((knowledge_base_groups::group_id, knowledge_base_groups::base_id));

            let bound = group_personas::table
                .inner_join(
                    managed_personas::table.on(managed_personas::id.eq(group_personas::persona_id)),
                )
                .inner_join(
                    persona_knowledge_bases::table
                        .on(persona_knowledge_bases::persona_id.eq(group_personas::persona_id)),
                )
                .filter(group_personas::group_id.eq_any(&groups))
                .filter(managed_personas::deleted_at.is_null())
                .select((
                    group_personas::group_id,
                    persona_knowledge_bases::base_id,
                    persona_knowledge_bases::persona_id,
                ));

            let mut present: Vec<BaseBinding> = owned.load(self).await?;
            present.extend(shared.load::<BaseBinding>(self).await?);

            let persona_bindings: Vec<PersonaBinding> = bound.load(self).await?;
            let remaining = persona_bindings
                .iter()
                .filter(|it| replaced != Some(it.persona))
                .map(PersonaBinding::binding);
            let future: Vec<_> = present.iter().chain(added).copied().chain(remaining).collect();
            present.extend(persona_bindings.iter().map(PersonaBinding::binding));

            let limits: Vec<(DbUid, String, Option<i64>)> = user_groups::table
                .left_join(group_settings::table.on(group_settings::group_id.eq(user_groups::id)))
                .filter(user_groups::id.eq_any(&groups))
                .select((user_groups::id, user_groups::name, group_settings::knowledge_bases.nullable()))
                .load(self)
                .await?;
            let before = by_group(&present);
            let after = by_group(&future);

            let base_count = |sets: &BTreeMap<_, BTreeSet<_>>, group: DbUid| {
                let count = sets.get(&group.0).map_or(0, BTreeSet::len);
                i64::try_from(count).unwrap_or(i64::MAX)
            };

            Ok(limits.into_iter().find_map(|(id, group, own_limit)| {
                let limit = own_limit.unwrap_or(default_limit);
                let current = base_count(&after, id);
                let is_exceeded = current > limit && current > base_count(&before, id);
                is_exceeded.then_some(ExceededBases { group, limit, current })
            }))
        }
    }
}

/// Returns the bases of each group.
fn by_group(bindings: &[BaseBinding]) -> BTreeMap<uuid::Uuid, BTreeSet<uuid::Uuid>> {
    let mut groups = BTreeMap::<_, BTreeSet<_>>::new();
    for binding in bindings {
        groups.entry(binding.group.0).or_default().insert(binding.base.0);
    }
    groups
}
