//! Scopes: the bases that a caller manages, and those that a group searches.
//!
//! These are macros, since the types of the queries differ between the databases.
//! `managed_bases!` is for managers, `is_searched!` with `personas!` for members.

use pia_knowledge::BaseAccess;
use pia_storage::DbUid;

/// Returns whether a caller manages all bases, and otherwise the owner of those
/// that it manages.
pub(crate) fn managed_by(access: BaseAccess) -> (bool, DbUid) {
    let owner = match access {
        BaseAccess::Server => None,
        BaseAccess::Group(group) => Some(group.0),
    };
    (owner.is_none(), DbUid(owner.unwrap_or_default()))
}

/// Query of the bases that a caller manages.
macro_rules! managed_bases {
    ($access:expr) => {{
        let (is_server, owner) = crate::scope::managed_by($access);
        knowledge_bases::table.filter(
            knowledge_bases::group_id.eq(owner).or(is_server.into_sql::<diesel::sql_types::Bool>()),
        )
    }};
}

/// Query of a group's active personas, for `is_searched!`.
macro_rules! personas {
    ($group:expr) => {
        persona_knowledge_bases::table
            .inner_join(
                group_personas::table
                    .on(group_personas::persona_id.eq(persona_knowledge_bases::persona_id)),
            )
            .inner_join(
                managed_personas::table
                    .on(managed_personas::id.eq(persona_knowledge_bases::persona_id)),
            )
            .filter(persona_knowledge_bases::base_id.eq(knowledge_bases::id))
            .filter(group_personas::group_id.eq($group))
            .filter(managed_personas::is_active.eq(true))
            .filter(managed_personas::deleted_at.is_null())
    };
}

/// Condition that a group owns a base, that it is shared with the group, or that
/// it is bound to one of these personas.
macro_rules! is_searched {
    ($group:expr, $personas:expr) => {
        knowledge_bases::group_id
            .eq($group)
            .or(diesel::dsl::exists(
                knowledge_base_groups::table
                    .filter(knowledge_base_groups::base_id.eq(knowledge_bases::id))
                    .filter(knowledge_base_groups::group_id.eq($group)),
            ))
            .or(diesel::dsl::exists($personas))
    };
}
