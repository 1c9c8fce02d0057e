//! Rows of connectors, with their groups, operators and tokens: statements that
//! `connectors.rs` executes within its transactions.

use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use pia_assignments::Skill;
use pia_pods::NewConnectorToken;
use pia_storage::schema::{
    connector_groups, connector_tokens, connectors, operator_groups, operators, user_groups,
};
use pia_storage::{DbError, DbInstant, DbUid, connection_trait, ids_without};

#[derive(Debug, Queryable, Selectable)]
#[diesel(table_name = connectors)]
pub(crate) struct ConnectorRow {
    pub(crate) id: DbUid,
    pub(crate) name: String,
    pub(crate) operator_id: Option<DbUid>,
    pub(crate) created_at: DbInstant,
    pub(crate) mcp_url: Option<String>,
}

connection_trait! {
    /// Connection that can change connectors.
    pub(crate) trait ChangeConnectors {
        /// Returns whether all groups exist.
        async fn groups_exist(&mut self, groups: &[DbUid]) -> Result<bool, DbError> {
            let known_groups: Vec<DbUid> = user_groups::table
                .filter(user_groups::id.eq_any(groups))
                .select(user_groups::id)
                .load(self)
                .await?;
            Ok(ids_without(groups, &known_groups).is_empty())
        }

        /// Replaces the groups of a connector and of its operator.
        async fn put_groups(
            &mut self,
            connector: DbUid,
            operator: Option<DbUid>,
            groups: &[DbUid],
        ) -> Result<(), DbError> {
            let connector_rows =
                connector_groups::table.filter(connector_groups::connector_id.eq(connector));
            diesel::delete(connector_rows).execute(self).await?;
            let is_of_operator = operator_groups::operator_id.nullable().eq(operator);
            diesel::delete(operator_groups::table.filter(is_of_operator)).execute(self).await?;

            for group in groups {
                let connector_row = (
                    connector_groups::connector_id.eq(connector),
                    connector_groups::group_id.eq(group),
                );
                diesel::insert_into(connector_groups::table)
                    .values(connector_row)
                    .execute(self)
                    .await?;

                let Some(operator) = operator else { continue };
                let operator_row = (
                    operator_groups::operator_id.eq(operator),
                    operator_groups::group_id.eq(group),
                );
                diesel::insert_into(operator_groups::table)
                    .values(operator_row)
                    .execute(self)
                    .await?;
            }

            Ok(())
        }

        /// Stores the operator of a skill that the pods of a connector run. Returns
        /// false if the name of the skill is in use.
        async fn add_operator(
            &mut self,
            id: DbUid,
            skill: &Skill,
            at: DbInstant,
        ) -> Result<bool, DbError> {
            let text = serde_json::to_string(skill)
                .map_err(|_err| DbError::Unreadable("a skill"))?;
            let row = (
                operators::id.eq(id),
                operators::name.eq(&skill.name),
                operators::skill.eq(text),
                operators::skill_name_folded.eq(skill.name.to_lowercase()),
                operators::is_custom.eq(false),
                operators::is_active.eq(true),
                operators::updated_at.eq(at),
            );
            let inserted_rows = diesel::insert_into(operators::table)
                .values(row)
                .on_conflict_do_nothing()
                .execute(self)
                .await?;
            Ok(inserted_rows > 0)
        }

        /// Stores a token.
        async fn put_token(&mut self, id: DbUid, token: &NewConnectorToken) -> Result<(), DbError> {
            let row = (
                connector_tokens::hash.eq(token.hash.0.to_vec()),
                connector_tokens::connector_id.eq(id),
                connector_tokens::created_at.eq(DbInstant(token.created_at)),
                connector_tokens::expires_at.eq(DbInstant(token.expires_at)),
            );
            diesel::insert_into(connector_tokens::table).values(row).execute(self).await?;
            Ok(())
        }
    }
}
