//! The outbox in SQL.
