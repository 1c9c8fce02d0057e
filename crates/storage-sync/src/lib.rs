//! What devices keep in step, in SQL.
