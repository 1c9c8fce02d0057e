//! Tests of ingestion.
