//! Several writes to PostgreSQL in one statement.
//!
//! Example: `WITH write_0 AS (INSERT …), write_1 AS (UPDATE …) SELECT 1`.

use diesel::QueryResult;
use diesel::pg::Pg;
use diesel::query_builder::{AstPass, QueryFragment, QueryId};
use diesel_async::RunQueryDsl;

use crate::pools::AsyncPostgres;

/// Inserts, updates and deletes (without `RETURNING`) that PostgreSQL executes as
/// one statement: one round trip, and either all of them reach it or none does.
///
/// None of them sees the others' writes, and no two may write the same row.
/// Foreign keys are checked after all of them.
#[derive(Default)]
pub struct CteBatch<'a>(Vec<Box<dyn QueryFragment<Pg> + Send + Sync + 'a>>);

impl<'a> CteBatch<'a> {
    /// Creates an empty batch.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a write.
    pub fn add(&mut self, write: impl QueryFragment<Pg> + Send + Sync + 'a) {
        self.0.push(Box::new(write));
    }

    /// Executes the batch; an empty one sends nothing.
    pub async fn write(self, mut conn: &AsyncPostgres) -> QueryResult<()> {
        if self.0.is_empty() {
            return Ok(());
        }
        self.execute(&mut conn).await.map(drop)
    }
}

impl QueryFragment<Pg> for CteBatch<'_> {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Pg>) -> QueryResult<()> {
        let mut before = "WITH ";
        for (number, write) in self.0.iter().enumerate() {
            out.push_sql(std::mem::replace(&mut before, "), "));
            out.push_sql(&format!("write_{number} AS ("));
            write.walk_ast(out.reborrow())?;
        }
        out.push_sql(") SELECT 1");
        Ok(())
    }

    /// Always true: each caller has few texts, and diesel would otherwise prepare every update and
    /// upsert anew, at a round trip each.
    fn is_safe_to_cache_prepared(&self, _backend: &Pg) -> QueryResult<bool> {
        Ok(true)
    }
}

impl QueryId for CteBatch<'_> {
    type QueryId = ();
    const HAS_STATIC_QUERY_ID: bool = false;
}

#[cfg(test)]
mod tests {
    use diesel::prelude::*;

    use super::*;
    use crate::schema::{attempts, guesses};

    #[test]
    fn all_writes_are_one_statement() {
        let mut batch = CteBatch::new();
        batch.add(diesel::delete(guesses::table.find("ada")));
        batch.add(diesel::insert_into(attempts::table).values(attempts::who.eq("ada")));

        let sql = diesel::debug_query::<Pg, _>(&batch).to_string();

        let expected = "WITH write_0 AS (DELETE FROM \"guesses\" WHERE (\"guesses\".\"who\" = $1)), \
                        write_1 AS (INSERT INTO \"attempts\" (\"who\") VALUES ($2)) SELECT 1";
        assert!(sql.starts_with(expected), "{sql}");
    }
}
