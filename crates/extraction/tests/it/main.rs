//! Tests of the extraction of text.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod bombs;
mod children;
mod documents;
mod fixtures;
mod pages;
mod pdf;
mod tables;
