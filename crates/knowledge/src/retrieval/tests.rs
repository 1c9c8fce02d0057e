//! Tests of retrieval.
