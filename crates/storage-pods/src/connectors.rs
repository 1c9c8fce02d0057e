//! Connectors in SQL.
//!
//! Each change but the creation locks the connector's row first (`lock!`), so
//! that its tokens and groups change in turn. A connector and the operator of its
//! skill are one thing here: created, granted and deleted together.

use std::collections::{BTreeSet, HashMap};

use async_trait::async_trait;
use diesel::prelude::*;
use diesel::result::DatabaseErrorKind::UniqueViolation;
use diesel::result::Error::DatabaseError;
use diesel_async::RunQueryDsl;
use pia_assignments::Skill;
use pia_kernel::{
    ConnectorId, GroupId, GroupSelection, OperatorId, Secret, SideEffects, Timestamp, Unavailable,
};
use pia_pods::{
    Connector, ConnectorChangeOutcome, ConnectorStore, ConnectorTokenHash, ConnectorTokenId,
    McpEndpoint, NewConnector, NewConnectorToken, TokenRotation, ValidToken,
};
use pia_sealing::SealContext;
use pia_storage::schema::{
    accounts, connected_pods, connector_groups, connector_tokens, connectors, operators,
};
use pia_storage::{
    Database, DbError, DbInstant, DbUid, WriteEffects, in_tx, on_conn, selected_ids, with_ids,
};
use serde_json::json;

use crate::connector_rows::{ChangeConnectors, ConnectorRow};
use crate::token_row::TokenRow;

/// Connectors in SQL.
#[derive(Debug, Clone)]
pub struct SqlConnectors {
    db: Database,
}

#[derive(Debug, Queryable)]
struct McpServerRow {
    id: DbUid,
    url: String,
    sealed_token: Option<Vec<u8>>,
}

/// Group that a connector is granted to.
#[derive(Queryable)]
struct GrantRow {
    connector: DbUid,
    group: DbUid,
}

/// Query that locks a connector's row until the commit, and returns it.
macro_rules! lock {
    ($id:expr) => {
        diesel::update(connectors::table.find($id))
            .set(connectors::name.eq(connectors::name))
            .returning(ConnectorRow::as_returning())
    };
}

impl SqlConnectors {
    /// Creates the store of the connectors in `db`.
    pub fn new(db: Database) -> Self {
        Self { db }
    }

    /// Seals the token of the MCP server of a connector.
    fn seal(&self, id: DbUid, token: Secret<String>) -> Result<Vec<u8>, Unavailable> {
        self.db.seal()?.seal(place(&id), &Secret::new(token.reveal().into_bytes()))
    }
}

fn place(connector: &DbUid) -> SealContext<'_> {
    SealContext { purpose: "connector-mcp-token", row: connector.0.as_bytes() }
}

/// Returns distinct ids of rows.
fn ids(groups: &[GroupId]) -> Vec<DbUid> {
    let distinct: BTreeSet<_> = groups.iter().collect();
    distinct.into_iter().map(|it| DbUid(it.0)).collect()
}

#[async_trait]
impl ConnectorStore for SqlConnectors {
    async fn create(
        &self,
        new: NewConnector,
        effects: SideEffects,
    ) -> Result<ConnectorChangeOutcome, Unavailable> {
        let NewConnector { connector, skill, token, mcp } = new;
        let id = DbUid(connector.id.0);
        let at = DbInstant(connector.created_at);
        let operator = connector.operator.map(|it| DbUid(it.0));
        let hosted = operator.zip(skill.map(|it| Skill::hosted(it, connector.id)));
        let groups = ids(&connector.groups);
        let fields = json!({
            "name": connector.name,
            "skill": hosted.as_ref().map(|it| &it.1.name),
            "mcpUrl": connector.mcp_url,
            "groups": connector.groups.iter().map(ToString::to_string).collect::<Vec<_>>(),
        });
        let effects = effects.with_changes(None, Some(&fields));
        let sealed_token = mcp.and_then(|it| it.token).map(|it| self.seal(id, it)).transpose()?;
        let outcome = in_tx!(self.db, async |conn| -> Result<ConnectorChangeOutcome, DbError> {
            if !conn.groups_exist(&groups).await? {
                return Ok(ConnectorChangeOutcome::UnknownGroup);
            }
            if let Some((operator, skill)) = &hosted
                && !conn.add_operator(*operator, skill, at).await?
            {
                return Ok(ConnectorChangeOutcome::SkillTaken);
            }
            let row = (
                connectors::id.eq(id),
                connectors::name.eq(&connector.name),
                connectors::name_folded.eq(connector.name.to_lowercase()),
                connectors::operator_id.eq(operator),
                connectors::created_at.eq(at),
                connectors::mcp_url.eq(&connector.mcp_url),
                connectors::mcp_token.eq(&sealed_token),
            );
            diesel::insert_into(connectors::table).values(row).execute(conn).await?;
            conn.put_groups(id, operator, &groups).await?;
            if let Some(token) = &token {
                conn.put_token(id, token).await?;
            }
            conn.write_effects(&self.db, &effects).await?;
            Ok(ConnectorChangeOutcome::Done)
        });

        match outcome {
            Err(DbError::Query(DatabaseError(UniqueViolation, _))) => {
                Ok(ConnectorChangeOutcome::NameTaken)
            }
            outcome => Ok(outcome?),
        }
    }

    async fn list(&self, now: Timestamp) -> Result<Vec<Connector>, Unavailable> {
        let rows: Vec<ConnectorRow> = on_conn!(self.db.reader(), |conn| {
            connectors::table.select(ConnectorRow::as_select()).load(conn).await?
        })?;
        let group_query = connector_groups::table
            .order((connector_groups::connector_id, connector_groups::group_id));
        let grants: Vec<GrantRow> =
            on_conn!(self.db.reader(), |conn| group_query.load(conn).await?)?;
        let token_query = connector_tokens::table
            .filter(connector_tokens::expires_at.gt(DbInstant(now)))
            .order((connector_tokens::created_at, connector_tokens::hash));
        let tokens: Vec<TokenRow> = on_conn!(self.db.reader(), |conn| {
            token_query.select(TokenRow::as_select()).load(conn).await?
        })?;

        let mut groups_by_connector: HashMap<_, Vec<GroupId>> = HashMap::new();
        for grant in grants {
            groups_by_connector.entry(grant.connector.0).or_default().push(GroupId(grant.group.0));
        }

        let mut tokens_by_connector: HashMap<_, Vec<ValidToken>> = HashMap::new();
        for row in tokens {
            tokens_by_connector.entry(row.connector_id.0).or_default().extend(row.token());
        }

        let connectors = rows.into_iter().map(|row| Connector {
            id: ConnectorId(row.id.0),
            name: row.name,
            operator: row.operator_id.map(|it| OperatorId(it.0)),
            groups: groups_by_connector.remove(&row.id.0).unwrap_or_default(),
            created_at: row.created_at.0,
            tokens: tokens_by_connector.remove(&row.id.0).unwrap_or_default(),
            mcp_url: row.mcp_url,
        });

        let mut connectors: Vec<_> = connectors.collect();
        // The databases order texts differently.
        connectors.sort_by_cached_key(|it| (it.name.to_lowercase(), it.id));

        Ok(connectors)
    }

    async fn mcp_servers(&self) -> Result<Vec<(ConnectorId, McpEndpoint)>, Unavailable> {
        let server_query = connectors::table
            .filter(connectors::mcp_url.is_not_null())
            .order(connectors::id)
            .select((connectors::id, connectors::mcp_url.assume_not_null(), connectors::mcp_token));

        let rows: Vec<McpServerRow> =
            on_conn!(self.db.reader(), |conn| server_query.load(conn).await?)?;
        let seal = self.db.seal()?;
        let endpoint = |McpServerRow { id, url, sealed_token }| {
            let token = sealed_token
                .and_then(|it| seal.open(place(&id), &it).ok())
                .and_then(|it| String::from_utf8(it.reveal()).ok())
                .map(Secret::new);
            (ConnectorId(id.0), McpEndpoint { url, token })
        };

        Ok(rows.into_iter().map(endpoint).collect())
    }

    async fn grant(
        &self,
        id: ConnectorId,
        groups: GroupSelection,
        effects: SideEffects,
    ) -> Result<ConnectorChangeOutcome, Unavailable> {
        let row_id = DbUid(id.0);
        Ok(in_tx!(self.db, async |conn| -> Result<ConnectorChangeOutcome, DbError> {
            let row: Option<ConnectorRow> = lock!(row_id).get_result(conn).await.optional()?;
            let Some(row) = row else { return Ok(ConnectorChangeOutcome::NotFound) };

            let before: Vec<DbUid> = connector_groups::table
                .filter(connector_groups::connector_id.eq(row_id))
                .select(connector_groups::group_id)
                .load(conn)
                .await?;
            let ids = selected_ids(&groups, &before);
            if !conn.groups_exist(&ids).await? {
                return Ok(ConnectorChangeOutcome::UnknownGroup);
            }

            conn.put_groups(row_id, row.operator_id, &ids).await?;
            let effects = with_ids(&effects, "groups", &before, &ids);
            conn.write_effects(&self.db, &effects).await?;

            Ok(ConnectorChangeOutcome::Done)
        })?)
    }

    async fn delete(
        &self,
        id: ConnectorId,
        effects: SideEffects,
    ) -> Result<ConnectorChangeOutcome, Unavailable> {
        let row_id = DbUid(id.0);
        Ok(in_tx!(self.db, async |conn| -> Result<ConnectorChangeOutcome, DbError> {
            let row: Option<ConnectorRow> = lock!(row_id).get_result(conn).await.optional()?;
            let Some(row) = row else { return Ok(ConnectorChangeOutcome::NotFound) };
            diesel::delete(connectors::table.find(row_id)).execute(conn).await?;
            if let Some(operator) = row.operator_id {
                diesel::delete(operators::table.find(operator)).execute(conn).await?;
            }
            let fields = json!({ "name": row.name });
            conn.write_effects(&self.db, &effects.with_changes(Some(&fields), None)).await?;
            Ok(ConnectorChangeOutcome::Done)
        })?)
    }

    async fn add_token(
        &self,
        id: ConnectorId,
        token: NewConnectorToken,
        effects: SideEffects,
    ) -> Result<ConnectorChangeOutcome, Unavailable> {
        let row_id = DbUid(id.0);
        Ok(in_tx!(self.db, async |conn| -> Result<ConnectorChangeOutcome, DbError> {
            let row: Option<ConnectorRow> = lock!(row_id).get_result(conn).await.optional()?;
            if row.is_none() {
                return Ok(ConnectorChangeOutcome::NotFound);
            }
            conn.put_token(row_id, &token).await?;
            conn.write_effects(&self.db, &effects).await?;
            Ok(ConnectorChangeOutcome::Done)
        })?)
    }

    async fn rotate_token(
        &self,
        id: ConnectorId,
        rotation: TokenRotation,
        effects: SideEffects,
    ) -> Result<ConnectorChangeOutcome, Unavailable> {
        let row_id = DbUid(id.0);
        let now = DbInstant(rotation.new.created_at);
        let old = rotation.old.0.to_vec();
        let old_end = DbInstant(rotation.old_expires_at);
        Ok(in_tx!(self.db, async |conn| -> Result<ConnectorChangeOutcome, DbError> {
            let row: Option<ConnectorRow> = lock!(row_id).get_result(conn).await.optional()?;
            let own = connector_tokens::table.filter(connector_tokens::connector_id.eq(row_id));
            let expired = own.filter(connector_tokens::expires_at.le(now));
            diesel::delete(expired).execute(conn).await?;

            let valid: Vec<(Vec<u8>, DbInstant)> = own
                .select((connector_tokens::hash, connector_tokens::expires_at))
                .load(conn)
                .await?;

            if row.is_none() {
                return Ok(ConnectorChangeOutcome::NotFound);
            }

            let Some((_, expires_at)) = valid.iter().find(|(hash, _)| *hash == old) else {
                return Ok(ConnectorChangeOutcome::NotFound);
            };
            if i64::try_from(valid.len()).unwrap_or(i64::MAX) >= rotation.limit {
                return Ok(ConnectorChangeOutcome::TooManyTokens);
            }

            conn.put_token(row_id, &rotation.new).await?;

            if expires_at.0 > old_end.0 {
                diesel::update(connector_tokens::table.find(&old))
                    .set(connector_tokens::expires_at.eq(old_end))
                    .execute(conn)
                    .await?;
            }

            diesel::update(connected_pods::table.find(DbUid(rotation.pod.0)))
                .filter(connected_pods::connector_id.eq(row_id))
                .set(connected_pods::token_hash.eq(Some(rotation.new.hash.0.to_vec())))
                .execute(conn)
                .await?;
            conn.write_effects(&self.db, &effects).await?;

            Ok(ConnectorChangeOutcome::Done)
        })?)
    }

    async fn revoke_tokens(
        &self,
        id: ConnectorId,
        token: Option<ConnectorTokenId>,
        effects: SideEffects,
    ) -> Result<ConnectorChangeOutcome, Unavailable> {
        let row_id = DbUid(id.0);
        Ok(in_tx!(self.db, async |conn| -> Result<ConnectorChangeOutcome, DbError> {
            let row: Option<ConnectorRow> = lock!(row_id).get_result(conn).await.optional()?;
            let own = connector_tokens::table.filter(connector_tokens::connector_id.eq(row_id));
            let mut revoked: Vec<TokenRow> = own.select(TokenRow::as_select()).load(conn).await?;
            if let Some(token) = token {
                revoked.retain(|it| it.token().is_some_and(|it| it.hash.id() == token));
            }

            if row.is_none() || (token.is_some() && revoked.is_empty()) {
                return Ok(ConnectorChangeOutcome::NotFound);
            }

            let ids = revoked.iter().filter_map(TokenRow::token).map(|it| it.hash.id().0);
            let fields = json!({ "tokens": ids.collect::<Vec<_>>() });
            let hashes = connector_tokens::hash.eq_any(revoked.into_iter().map(|it| it.hash));
            diesel::delete(own.filter(hashes)).execute(conn).await?;
            conn.write_effects(&self.db, &effects.with_changes(Some(&fields), None)).await?;

            Ok(ConnectorChangeOutcome::Done)
        })?)
    }

    async fn find_token(
        &self,
        hash: ConnectorTokenHash,
        now: Timestamp,
    ) -> Result<Option<ConnectorId>, Unavailable> {
        let token = connector_tokens::table
            .find(hash.0.to_vec())
            .filter(connector_tokens::expires_at.gt(DbInstant(now)))
            .select(connector_tokens::connector_id);
        let connector: Option<DbUid> =
            on_conn!(self.db.reader(), |conn| token.first(conn).await.optional()?)?;
        Ok(connector.map(|it| ConnectorId(it.0)))
    }

    async fn count_members(&self, groups: Vec<GroupId>) -> Result<i64, Unavailable> {
        let ids: Vec<_> = groups.iter().map(|it| Some(DbUid(it.0))).collect();
        let members = accounts::table
            .filter(accounts::group_id.nullable().eq_any(ids))
            .filter(accounts::deactivated_at.is_null())
            .count();
        Ok(on_conn!(self.db.reader(), |conn| members.get_result(conn).await?)?)
    }
}
