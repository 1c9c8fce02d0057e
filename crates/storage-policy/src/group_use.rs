//! References to a group, which prevent its deletion.

use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use pia_policy::GroupUse;
use pia_storage::schema::{
    accounts, group_personas, group_plugins, invitations, knowledge_bases, managed_personas,
    plugins,
};
use pia_storage::{DbError, DbUid, connection_trait};

connection_trait! {
    /// Connection that can count what refers to groups.
    pub(crate) trait CountGroupUse {
        /// Counts the rows that prevent the deletion of a group.
        async fn group_use(&mut self, id: DbUid) -> Result<GroupUse, DbError> {
            let members = accounts::table.filter(accounts::group_id.eq(id)).count();
            let invitations = invitations::table.filter(invitations::group_id.eq(id)).count();

            let personas = group_personas::table
                .inner_join(
                    managed_personas::table.on(managed_personas::id.eq(group_personas::persona_id)),
                )
                .filter(group_personas::group_id.eq(id))
                .filter(managed_personas::deleted_at.is_null())
                .count();

            let plugins = group_plugins::table
                .inner_join(plugins::table.on(plugins::id.eq(group_plugins::plugin_id)))
                .filter(group_plugins::group_id.eq(id))
                .filter(plugins::deleted_at.is_null())
                .count();

            let bases = knowledge_bases::table.filter(knowledge_bases::group_id.eq(id)).count();

            Ok(GroupUse {
                members: members.get_result::<i64>(self).await?.unsigned_abs(),
                invitations: invitations.get_result::<i64>(self).await?.unsigned_abs(),
                personas: personas.get_result::<i64>(self).await?.unsigned_abs(),
                plugins: plugins.get_result::<i64>(self).await?.unsigned_abs(),
                knowledge_bases: bases.get_result::<i64>(self).await?.unsigned_abs(),
            })
        }
    }
}
