//! Storing of the vectors of many chunks.

use diesel::backend::Backend;
use diesel::prelude::*;
use diesel::query_builder::{AstPass, QueryFragment};
use diesel::serialize::ToSql;
use diesel::sql_types::{BigInt, Binary, HasSqlType};
use pia_knowledge::ChunkVector;
use pia_storage::{DbUid, Uid, prepared_by_text};

use crate::vector_bytes::to_bytes;

/// Columns of a chunk that its vector determines.
pub(crate) struct VectorRow {
    chunk: DbUid,
    /// Vector, as bytes of `vector_bytes.rs`.
    vector: Vec<u8>,
    /// Tokens that were charged for the vector.
    tokens: i64,
}

impl From<&ChunkVector> for VectorRow {
    fn from(chunk: &ChunkVector) -> Self {
        Self { chunk: DbUid(chunk.chunk.0), vector: to_bytes(&chunk.dense), tokens: chunk.tokens }
    }
}

/// Statement that stores the vectors and tokens of chunks: one for all of them,
/// since SQLite is reached through another thread and PostgreSQL through the
/// network. Empty, it is invalid.
pub(crate) struct VectorUpdate<'a>(pub(crate) &'a [VectorRow]);

impl<DB> QueryFragment<DB> for VectorUpdate<'_>
where
    DB: Backend + HasSqlType<Uid> + HasSqlType<Binary> + HasSqlType<BigInt>,
    DbUid: ToSql<Uid, DB>,
    Vec<u8>: ToSql<Binary, DB>,
    i64: ToSql<BigInt, DB>,
{
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        // Both databases name the columns of values like this.
        out.push_sql(
            "UPDATE knowledge_chunks SET vector = new.column2, tokens = new.column3 FROM (VALUES ",
        );

        for (at, row) in self.0.iter().enumerate() {
            out.push_sql(if at == 0 { "(" } else { ", (" });
            out.push_bind_param::<Uid, _>(&row.chunk)?;
            out.push_sql(", ");
            out.push_bind_param::<Binary, _>(&row.vector)?;
            out.push_sql(", ");
            out.push_bind_param::<BigInt, _>(&row.tokens)?;
            out.push_sql(")");
        }

        out.push_sql(") AS new WHERE knowledge_chunks.id = new.column1");
        Ok(())
    }
}

prepared_by_text!(VectorUpdate<'_>);
