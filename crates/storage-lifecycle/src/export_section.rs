//! Sections of the export, and their pages.
//!
//! `single_page` is for the few rows of an account, `cursor_page` and `page_of` are for
//! lists, newest first. Members that are `null` are left out of every row.

use futures_util::future::BoxFuture;
use pia_kernel::{Cursor, ExportPage, Unavailable, UserId};
use serde_json::Value;

use crate::export::SqlPersonalData;
use crate::sections::{ExportedRow, PAGE};

/// Section of the export: the exported columns of one table, or of several.
#[derive(Debug, Clone, Copy)]
pub struct ExportSection {
    /// Name of the section in the export.
    pub name: &'static str,
    /// Exported columns of the table.
    pub columns: &'static [&'static str],
    /// Reader of the page of an account's rows behind a cursor; `None` is the start.
    pub(crate) read: ReadPage,
}

/// Reader of a section's pages.
pub(crate) type ReadPage = for<'a> fn(
    &'a SqlPersonalData,
    UserId,
    Option<Cursor>,
) -> BoxFuture<'a, Result<ExportPage, Unavailable>>;

pub(crate) fn single_page(rows: Vec<Value>) -> ExportPage {
    ExportPage { rows: rows.into_iter().map(to_line).collect(), next: None }
}

/// Builds a page of [`PAGE`] rows.
pub(crate) fn cursor_page(rows: Vec<ExportedRow>) -> ExportPage {
    page_of(rows, PAGE)
}

/// Builds a page of this size. A full one is followed by another, which may be
/// empty.
pub(crate) fn page_of(rows: Vec<ExportedRow>, size: i64) -> ExportPage {
    let is_full = i64::try_from(rows.len()).is_ok_and(|it| it >= size);
    let next = if is_full { rows.last().map(|it| it.0) } else { None };
    ExportPage { rows: rows.into_iter().map(|it| to_line(it.1)).collect(), next }
}

/// Formats a row as JSON, without `null` members.
fn to_line(mut row: Value) -> String {
    strip(&mut row);
    row.to_string()
}

fn strip(value: &mut Value) {
    if let Some(fields) = value.as_object_mut() {
        fields.retain(|_, it| !it.is_null());
        fields.values_mut().for_each(strip);
    }
}
