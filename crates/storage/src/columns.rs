//! Rows as arrays, one for each column: PostgreSQL takes any number of them in a
//! statement of constant text, which is prepared once.
//!
//! `effects/rows.rs` shows the use: `columns!` defines the arrays, and a statement selects
//! from `unnest`.

/// Defines a struct with an array for each of a row's columns, listed with their
/// SQL and Rust types, which writes them as `unnest(…) AS name (…)`.
#[macro_export]
macro_rules! columns {
    ($(#[$meta:meta])* $name:ident of $row:ty {
        $($field:ident: $sql:ty = $rust:ty),* $(,)?
    }) => {
        $(#[$meta])*
        pub(crate) struct $name<'a> {
            $($field: Vec<&'a $rust>),*
        }

        impl<'a> $name<'a> {
            pub(crate) fn of(rows: &'a [$row]) -> Self {
                Self { $($field: rows.iter().map(|it| &it.$field).collect()),* }
            }

            pub(crate) fn unnest<'b>(
                &'b self,
                name: &str,
                out: &mut diesel::query_builder::AstPass<'_, 'b, diesel::pg::Pg>,
            ) -> diesel::QueryResult<()> {
                let mut before = "unnest(";
                $(
                    out.push_sql(std::mem::replace(&mut before, ", "));
                    out.push_bind_param::<diesel::sql_types::Array<$sql>, _>(&self.$field)?;
                )*
                out.push_sql(") AS ");
                out.push_sql(name);
                let mut before = " (";
                $(
                    out.push_sql(std::mem::replace(&mut before, ", "));
                    out.push_sql(stringify!($field));
                )*
                out.push_sql(")");
                Ok(())
            }
        }
    };
}
