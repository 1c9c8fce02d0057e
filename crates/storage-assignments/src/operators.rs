//! Operators in SQL.
//!
//! The skill is stored as JSON; its folded name has a column of its own, whose
//! unique index turns a second operator of one skill into `NameTaken`. Operators
//! of connectors are written by `connector_rows.rs` of `storage-pods`.

use std::collections::BTreeMap;

use async_trait::async_trait;
use diesel::prelude::*;
use diesel::result::DatabaseErrorKind;
use diesel::result::Error::DatabaseError;
use diesel_async::RunQueryDsl;
use pia_assignments::{Operator, OperatorChangeOutcome, OperatorStore, OperatorUpdate, Skill};
use pia_kernel::{GroupId, GroupSelection, OperatorId, SideEffects, Unavailable, UserId};
use pia_storage::schema::{accounts, operator_groups, operators, user_groups};
use pia_storage::{
    Database, DbError, DbInstant, DbUid, WriteEffects, connection_trait, ids_without, in_tx,
    lock_row, on_conn, selected_ids, with_ids,
};
use serde_json::{Value, json};

/// Operators in SQL.
#[derive(Debug, Clone)]
pub struct SqlOperators {
    db: Database,
}

#[derive(Debug, Clone, Queryable, Selectable, Insertable)]
#[diesel(table_name = operators)]
struct OperatorRow {
    id: DbUid,
    name: String,
    skill: String,
    skill_name_folded: String,
    is_custom: bool,
    is_active: bool,
    updated_at: DbInstant,
    webhook_url: Option<String>,
}

/// Locks an operator until the commit. Evaluates to its row.
macro_rules! lock_operator {
    ($conn:expr, $id:expr) => {{
        let operator = operators::table.find($id);
        lock_row!($conn, operator, operators::name, OperatorRow::as_returning())
    }};
}

/// Loads operators of a query, with a row for each of their groups.
macro_rules! load_with_groups {
    ($db:expr, $operators:expr) => {{
        let query = $operators.left_join(operator_groups::table).order(operator_groups::group_id);
        let group = operator_groups::group_id.nullable();
        on_conn!($db.reader(), |conn| {
            query.select((OperatorRow::as_select(), group)).load(conn).await?
        })
    }};
}

impl OperatorRow {
    fn new(operator: &Operator) -> Result<Self, Unavailable> {
        Ok(Self {
            id: DbUid(operator.id.0),
            name: operator.name.clone(),
            skill: format_skill(&operator.skill)?,
            skill_name_folded: operator.skill.name.to_lowercase(),
            is_custom: operator.is_custom,
            is_active: operator.is_active,
            updated_at: DbInstant(operator.updated_at),
            webhook_url: operator.webhook_url.clone(),
        })
    }

    fn into_operator(self, groups: Vec<GroupId>) -> Result<Operator, DbError> {
        let skill = serde_json::from_str(&self.skill)
            .map_err(|_malformed| DbError::Unreadable("operators.skill"))?;
        Ok(Operator {
            id: OperatorId(self.id.0),
            name: self.name,
            skill,
            is_custom: self.is_custom,
            is_active: self.is_active,
            groups,
            webhook_url: self.webhook_url,
            updated_at: self.updated_at.0,
        })
    }

    /// Returns the fields that the audit log records.
    fn audit_fields(&self) -> Value {
        let skill = serde_json::from_str::<Value>(&self.skill).unwrap_or_default();
        json!({ "name": self.name, "isActive": self.is_active, "skill": skill })
    }
}

fn format_skill(skill: &Skill) -> Result<String, Unavailable> {
    serde_json::to_string(skill).map_err(|err| Unavailable::new("a skill", err))
}

fn is_name_taken(err: &DbError) -> bool {
    matches!(err, DbError::Query(DatabaseError(DatabaseErrorKind::UniqueViolation, _)))
}

connection_trait! {
    /// Connection that can grant operators.
    trait GrantOperators {
        /// Replaces the groups of an operator. Returns false if one of them does
        /// not exist.
        async fn put_groups(&mut self, operator: DbUid, groups: &[DbUid]) -> Result<bool, DbError> {
            let known_groups: Vec<DbUid> = user_groups::table
                .filter(user_groups::id.eq_any(groups))
                .select(user_groups::id)
                .load(self)
                .await?;
            if !ids_without(groups, &known_groups).is_empty() {
                return Ok(false);
            }

            let own = operator_groups::table.filter(operator_groups::operator_id.eq(operator));
            let before: Vec<DbUid> = own.select(operator_groups::group_id).load(self).await?;
            let removed_ids = ids_without(&before, groups);
            let removed_grants = own.filter(operator_groups::group_id.eq_any(&removed_ids));
            diesel::delete(removed_grants).execute(self).await?;

            for group in ids_without(&known_groups, &before) {
                let row =
                    (operator_groups::operator_id.eq(operator), operator_groups::group_id.eq(group));
                diesel::insert_into(operator_groups::table).values(row).execute(self).await?;
            }

            Ok(true)
        }
    }
}

impl SqlOperators {
    /// Creates the store of the operators in `db`.
    pub fn new(db: Database) -> Self {
        Self { db }
    }
}

/// Returns operators by name, out of rows with one group each, or none.
fn operators_of(rows: Vec<(OperatorRow, Option<DbUid>)>) -> Result<Vec<Operator>, DbError> {
    let mut rows_by_id = BTreeMap::new();
    for (row, group) in rows {
        let (_, groups) = rows_by_id.entry(row.id.0).or_insert_with(|| (row, Vec::new()));
        groups.extend(group.map(|it| GroupId(it.0)));
    }

    let mut operators = rows_by_id
        .into_values()
        .map(|(row, groups)| row.into_operator(groups))
        .collect::<Result<Vec<_>, _>>()?;
    // The databases order texts differently.
    operators.sort_by_cached_key(|it| (it.name.to_lowercase(), it.id));
    Ok(operators)
}

#[async_trait]
impl OperatorStore for SqlOperators {
    async fn put_built_in(&self, operators: Vec<Operator>) -> Result<(), Unavailable> {
        let rows = operators.iter().map(OperatorRow::new).collect::<Result<Vec<_>, _>>()?;
        in_tx!(self.db, async |conn| {
            for row in &rows {
                let changed_operator =
                    operators::table.find(row.id).filter(operators::skill.ne(&row.skill));
                let skill =
                    (operators::skill.eq(&row.skill), operators::updated_at.eq(row.updated_at));
                if diesel::update(changed_operator).set(skill).execute(conn).await? == 0 {
                    // An unchanged operator stays, and so does another one of the
                    // same name.
                    diesel::insert_into(operators::table)
                        .values(row)
                        .on_conflict_do_nothing()
                        .execute(conn)
                        .await?;
                }
            }

            Ok(())
        })
    }

    async fn list(&self) -> Result<Vec<Operator>, Unavailable> {
        Ok(operators_of(load_with_groups!(self.db, operators::table)?)?)
    }

    async fn list_granted(&self, user: UserId) -> Result<Vec<Operator>, Unavailable> {
        let group = accounts::table
            .find(DbUid(user.0))
            .filter(accounts::deactivated_at.is_null())
            .select(accounts::group_id);

        let granted_groups = diesel::alias!(operator_groups as own_groups);
        let granted_ids = granted_groups
            .filter(granted_groups.field(operator_groups::group_id).eq_any(group))
            .select(granted_groups.field(operator_groups::operator_id));
        let granted_operators = operators::table
            .filter(operators::is_active.eq(true))
            .filter(operators::id.eq_any(granted_ids));

        Ok(operators_of(load_with_groups!(self.db, granted_operators)?)?)
    }

    async fn create(
        &self,
        operator: Operator,
        effects: SideEffects,
    ) -> Result<OperatorChangeOutcome, Unavailable> {
        let row = OperatorRow::new(&operator)?;
        let groups: Vec<DbUid> = operator.groups.iter().map(|it| DbUid(it.0)).collect();
        let effects = effects.with_changes(None, Some(&row.audit_fields()));
        let result = in_tx!(self.db, async |conn| -> Result<OperatorChangeOutcome, DbError> {
            diesel::insert_into(operators::table).values(&row).execute(conn).await?;
            if !conn.put_groups(row.id, &groups).await? {
                diesel::delete(operators::table.find(row.id)).execute(conn).await?;
                return Ok(OperatorChangeOutcome::UnknownGroup);
            }
            conn.write_effects(&self.db, &effects).await?;
            Ok(OperatorChangeOutcome::Done)
        });

        match result {
            Err(err) if is_name_taken(&err) => Ok(OperatorChangeOutcome::NameTaken),
            result => Ok(result?),
        }
    }

    async fn update(
        &self,
        id: OperatorId,
        update: OperatorUpdate,
        effects: SideEffects,
    ) -> Result<OperatorChangeOutcome, Unavailable> {
        let row_id = DbUid(id.0);
        let skill = update.skill.as_ref().map(format_skill).transpose()?;
        let folded_name = update.skill.as_ref().map(|it| it.name.to_lowercase());
        let result = in_tx!(self.db, async |conn| -> Result<OperatorChangeOutcome, DbError> {
            let before: Option<OperatorRow> = lock_operator!(conn, row_id);
            let Some(before) = before else { return Ok(OperatorChangeOutcome::NotFound) };
            if update.expected.is_some_and(|it| it != before.updated_at.0) {
                return Ok(OperatorChangeOutcome::Stale);
            }
            if !before.is_custom && skill.is_some() {
                return Ok(OperatorChangeOutcome::BuiltIn);
            }

            let columns = (
                operators::name.eq(&update.name),
                update.is_active.map(|it| operators::is_active.eq(it)),
                operators::updated_at.eq(DbInstant(update.at)),
                skill.as_ref().map(|it| operators::skill.eq(it)),
                folded_name.as_ref().map(|it| operators::skill_name_folded.eq(it)),
            );
            let after: OperatorRow = diesel::update(operators::table.find(row_id))
                .set(columns)
                .returning(OperatorRow::as_returning())
                .get_result(conn)
                .await?;

            let effects =
                effects.with_changes(Some(&before.audit_fields()), Some(&after.audit_fields()));
            conn.write_effects(&self.db, &effects).await?;
            Ok(OperatorChangeOutcome::Done)
        });

        match result {
            Err(err) if is_name_taken(&err) => Ok(OperatorChangeOutcome::NameTaken),
            result => Ok(result?),
        }
    }

    async fn grant(
        &self,
        id: OperatorId,
        groups: GroupSelection,
        effects: SideEffects,
    ) -> Result<OperatorChangeOutcome, Unavailable> {
        let row_id = DbUid(id.0);
        let granted_groups = operator_groups::table
            .filter(operator_groups::operator_id.eq(row_id))
            .select(operator_groups::group_id);
        in_tx!(self.db, async |conn| {
            let row: Option<OperatorRow> = lock_operator!(conn, row_id);
            if row.is_none() {
                return Ok(OperatorChangeOutcome::NotFound);
            }

            let before: Vec<DbUid> = granted_groups.load(conn).await?;
            let ids = selected_ids(&groups, &before);
            if !conn.put_groups(row_id, &ids).await? {
                return Ok(OperatorChangeOutcome::UnknownGroup);
            }

            conn.write_effects(&self.db, &with_ids(&effects, "groups", &before, &ids)).await?;

            Ok(OperatorChangeOutcome::Done)
        })
    }

    async fn delete(
        &self,
        id: OperatorId,
        effects: SideEffects,
    ) -> Result<OperatorChangeOutcome, Unavailable> {
        let row_id = DbUid(id.0);
        in_tx!(self.db, async |conn| {
            let before: Option<OperatorRow> = lock_operator!(conn, row_id);
            let Some(before) = before else { return Ok(OperatorChangeOutcome::NotFound) };
            if !before.is_custom {
                return Ok(OperatorChangeOutcome::BuiltIn);
            }
            diesel::delete(operators::table.find(row_id)).execute(conn).await?;
            let effects = effects.with_changes(Some(&before.audit_fields()), None);
            conn.write_effects(&self.db, &effects).await?;
            Ok(OperatorChangeOutcome::Done)
        })
    }
}
