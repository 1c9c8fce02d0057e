//! Requested page of a list that is sorted by one of several columns.
//!
//! The cursor carries the value of the column and the id of its entry: a number, or a
//! text in base64 after a letter.

use std::future::{Ready, ready};

use actix_web::dev::Payload;
use actix_web::{FromRequest, HttpRequest};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use pia_kernel::{PageRequest, SortCursor, SortValue};
use uuid::Uuid;

use crate::ApiError;
use crate::paging::{cursor_error, optional_cursor, parse_page};

/// Letter before a text, which distinguishes it from a number.
const TEXT: char = 't';

/// Requested page of a list that is sorted by a column. Limit and cursor are those of
/// [`Paging`](crate::Paging), but the cursor carries the value of the column.
#[derive(Debug, Clone)]
pub struct SortedPaging(PageRequest<SortCursor>);

impl SortedPaging {
    /// Returns the page of a list that is sorted by a text, or else by a number; an error
    /// if the cursor carries the other one.
    pub fn sorted_by(self, is_text: bool) -> Result<PageRequest<SortCursor>, ApiError> {
        if self.0.after.as_ref().is_some_and(|it| it.value.is_text() != is_text) {
            return Err(ApiError::invalid(vec![cursor_error()]));
        }
        Ok(self.0)
    }

    /// Formats a cursor for clients, as an opaque text.
    pub fn format_cursor(cursor: &SortCursor) -> String {
        let value = match &cursor.value {
            SortValue::Number(number) => number.to_string(),
            SortValue::Text(text) => format!("{TEXT}{}", URL_SAFE_NO_PAD.encode(text)),
        };
        format!("{value}.{}", cursor.id.simple())
    }

    /// Returns the cursor that a text names, none for an empty one, in a list that is
    /// sorted by a text, or else by a number; an error for a text that this server never
    /// returned.
    pub fn read_cursor(text: &str, is_text: bool) -> Result<Option<SortCursor>, ApiError> {
        optional_cursor(text, |it| parse(it).filter(|cursor| cursor.value.is_text() == is_text))
    }
}

impl FromRequest for SortedPaging {
    type Error = ApiError;
    type Future = Ready<Result<Self, ApiError>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        ready(parse_page(request.query_string(), parse).map(Self))
    }
}

/// Parses a cursor; `None` if this server never returned it.
fn parse(text: &str) -> Option<SortCursor> {
    let (value, id) = text.split_once('.')?;
    let value = match value.strip_prefix(TEXT) {
        Some(encoded) => SortValue::Text(decode(encoded)?),
        None => SortValue::Number(value.parse().ok()?),
    };
    let cursor = SortCursor { value, id: Uuid::try_parse(id).ok()? };
    // The format is canonical: any other text was never returned.
    (SortedPaging::format_cursor(&cursor) == text).then_some(cursor)
}

/// Decodes a text. No database stores one with a NUL.
fn decode(encoded: &str) -> Option<String> {
    let bytes = URL_SAFE_NO_PAD.decode(encoded).ok()?;
    String::from_utf8(bytes).ok().filter(|it| !it.contains('\0'))
}

#[cfg(test)]
mod tests {
    use actix_web::test::TestRequest;
    use pia_kernel::Timestamp;

    use super::*;

    #[test]
    fn a_cursor_round_trips() {
        let id = Uuid::now_v7();
        for cursor in [
            SortCursor::at_time(Timestamp::from_micros(i64::MIN), id),
            SortCursor::at_time(Timestamp::from_micros(i64::MAX), id),
            SortCursor::at_text("", id),
            SortCursor::at_text("Ädas Laptop & more.5%", id),
        ] {
            let text = SortedPaging::format_cursor(&cursor);

            assert!(text.bytes().all(|it| it.is_ascii_alphanumeric() || b"-_.".contains(&it)));
            assert_eq!(parse(&text), Some(cursor), "{text}");
        }
    }

    #[test]
    fn a_foreign_cursor_is_refused() {
        let id = Uuid::now_v7().simple().to_string();
        for cursor in [
            "text".to_owned(),
            id.clone(),
            format!("01.{id}"),
            format!("1.{id}x"),
            format!("a.{id}"),
            format!("tQQ==.{id}"),
            // A byte that is no text, and a NUL.
            format!("t_w.{id}"),
            format!("tAA.{id}"),
        ] {
            assert_eq!(parse(&cursor), None, "{cursor}");
        }
    }

    #[test]
    fn a_cursor_of_the_other_kind_is_refused() {
        for (cursor, is_text) in [
            (SortCursor::at_text("a", Uuid::nil()), true),
            (SortCursor::at_time(Timestamp::from_micros(1), Uuid::nil()), false),
        ] {
            let text = SortedPaging::format_cursor(&cursor);
            let paging = SortedPaging(PageRequest { after: Some(cursor.clone()), limit: 5 });

            assert_eq!(SortedPaging::read_cursor(&text, is_text).unwrap(), Some(cursor));
            assert!(SortedPaging::read_cursor(&text, !is_text).is_err());
            assert_eq!(paging.clone().sorted_by(is_text).unwrap().limit, 5);
            assert!(paging.sorted_by(!is_text).is_err());
        }
        assert_eq!(SortedPaging::read_cursor("", true).unwrap(), None);
    }

    #[actix_web::test]
    async fn paging_is_extracted_from_a_request() {
        let request = TestRequest::with_uri("/list?limit=7&cursor=x").to_http_request();
        let refused = SortedPaging::extract(&request).await;
        let first = SortedPaging::extract(&TestRequest::with_uri("/list").to_http_request()).await;

        assert!(refused.is_err());
        assert_eq!(first.unwrap().sorted_by(true).unwrap(), PageRequest { after: None, limit: 50 });
    }
}
