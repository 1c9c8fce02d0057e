//! Requested page of a list: `?limit=50&cursor=…`.
//!
//! Handlers take a `Paging` and return `Paging::format_cursor` of the page's `next`
//! as `nextCursor`. Invalid parameters are all reported at once.

use std::future::{Ready, ready};

use actix_web::dev::Payload;
use actix_web::web::{Query, QueryConfig};
use actix_web::{FromRequest, HttpRequest};
use pia_kernel::{Cursor, PageRequest, Timestamp};
use uuid::Uuid;

use crate::{ApiError, FieldError};

/// Returns the configuration of `Query` extractors: a query that one cannot
/// parse is refused in the form of all errors.
pub fn query_config() -> QueryConfig {
    QueryConfig::default().error_handler(|_may_quote, _| {
        let message = "A parameter of the query string is malformed.".to_owned();
        ApiError::invalid(vec![field_error("", message)]).into()
    })
}

/// Limit of a request that names none.
const DEFAULT_PAGE_ITEMS: u16 = 50;
/// Maximum limit of a request.
const MAX_PAGE_ITEMS: u16 = 200;

/// Requested page of a list. The limit must be from 1 to 200, and the cursor
/// one that this server returned.
#[derive(Debug, Clone, Copy)]
pub struct Paging(pub PageRequest);

impl Paging {
    /// Formats a cursor for clients, as an opaque text.
    pub fn format_cursor(cursor: Cursor) -> String {
        format!("{}.{}", cursor.at.micros(), cursor.id.simple())
    }

    /// Parses a cursor; `None` if this server never returned it.
    pub fn parse_cursor(text: &str) -> Option<Cursor> {
        let (micros, id) = text.split_once('.')?;
        let at = Timestamp::from_micros(micros.parse().ok()?);
        let cursor = Cursor { at, id: Uuid::try_parse(id).ok()? };
        // The format is canonical: any other text was never returned.
        (Self::format_cursor(cursor) == text).then_some(cursor)
    }

    /// Returns the cursor that a text names, none for an empty one; an error for a text
    /// that this server never returned.
    pub fn read_cursor(text: &str) -> Result<Option<Cursor>, ApiError> {
        optional_cursor(text, Self::parse_cursor)
    }

    fn parse(query: &str) -> Result<Self, ApiError> {
        parse_page(query, Self::parse_cursor).map(Self)
    }
}

/// Parses the requested page, whose cursor `parse_cursor` reads.
pub(crate) fn parse_page<C>(
    query: &str,
    parse_cursor: impl Fn(&str) -> Option<C>,
) -> Result<PageRequest<C>, ApiError> {
    let parameters = Query::<Vec<(String, String)>>::from_query(query);
    let Ok(Query(parameters)) = parameters else {
        let message = "The query string is malformed.".to_owned();
        return Err(ApiError::invalid(vec![field_error("", message)]));
    };

    let mut errors = Vec::new();

    let limit = match single_parameter(&parameters, "limit") {
        Ok(limit) => limit.map_or(Some(DEFAULT_PAGE_ITEMS), parse_limit),
        Err(Repeated) => None,
    };

    if limit.is_none() {
        errors.push(field_error(
            "limit",
            format!("`limit` is one number from 1 to {MAX_PAGE_ITEMS}."),
        ));
    }

    let after = match single_parameter(&parameters, "cursor") {
        Ok(cursor) => cursor.map_or(Some(None), |it| parse_cursor(it).map(Some)),
        Err(Repeated) => None,
    };

    if after.is_none() {
        errors.push(cursor_error());
    }

    match (limit, after) {
        (Some(limit), Some(after)) => Ok(PageRequest { after, limit }),
        _ => Err(ApiError::invalid(errors)),
    }
}

/// Returns the cursor that `parse_cursor` reads in a text, none in an empty one; an error
/// if it reads none.
pub fn optional_cursor<C>(
    text: &str,
    parse_cursor: impl Fn(&str) -> Option<C>,
) -> Result<Option<C>, ApiError> {
    if text.is_empty() {
        return Ok(None);
    }
    parse_cursor(text).map(Some).ok_or_else(|| ApiError::invalid(vec![cursor_error()]))
}

/// Returns the error of a cursor that this server never returned.
pub(crate) fn cursor_error() -> FieldError {
    let message = "`cursor` must be a `nextCursor` from an earlier response.";
    field_error("cursor", message.to_owned())
}

impl FromRequest for Paging {
    type Error = ApiError;
    type Future = Ready<Result<Self, ApiError>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        ready(Self::parse(request.query_string()))
    }
}

/// Error: the parameter is repeated.
struct Repeated;

fn single_parameter<'a>(
    parameters: &'a [(String, String)],
    name: &str,
) -> Result<Option<&'a str>, Repeated> {
    let mut values = parameters.iter().filter(|(it, _)| it == name);
    match (values.next(), values.next()) {
        (parameter, None) => Ok(parameter.map(|(_, value)| value.as_str())),
        _ => Err(Repeated),
    }
}

fn parse_limit(text: &str) -> Option<u16> {
    if !text.bytes().all(|it| it.is_ascii_digit()) {
        return None;
    }
    text.parse().ok().filter(|it| (1..=MAX_PAGE_ITEMS).contains(it))
}

fn field_error(field: &str, message: String) -> FieldError {
    FieldError { field: field.to_owned(), code: "invalid", message }
}

#[cfg(test)]
mod tests {
    use actix_web::ResponseError;
    use actix_web::body::MessageBody;
    use actix_web::test::TestRequest;

    use super::*;

    fn page(query: &str) -> PageRequest {
        Paging::parse(query).unwrap().0
    }

    /// Returns the rejected fields.
    fn refused(query: &str) -> Vec<String> {
        let response = Paging::parse(query).unwrap_err().error_response();
        let bytes = response.into_body().try_into_bytes().unwrap();
        let body: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
        body["errors"]
            .as_array()
            .unwrap()
            .iter()
            .map(|it| it["field"].as_str().unwrap().to_owned())
            .collect()
    }

    #[test]
    fn the_default_is_the_first_fifty() {
        let default = PageRequest { after: None, limit: 50 };

        assert_eq!([page(""), page("unknown=1&other"), page("limit=50")], [default; 3]);
        assert_eq!([page("limit=1").limit, page("limit=200").limit], [1, 200]);
    }

    #[test]
    fn a_cursor_round_trips() {
        for micros in [i64::MIN, -1, 0, 1_800_000_000_000_000, i64::MAX] {
            let cursor = Cursor { at: Timestamp::from_micros(micros), id: Uuid::now_v7() };

            let query = format!("cursor={}&limit=3", Paging::format_cursor(cursor));

            assert_eq!(page(&query), PageRequest { after: Some(cursor), limit: 3 });
        }
    }

    #[test]
    fn a_limit_is_a_number_from_one_to_two_hundred() {
        for limit in
            ["", "0", "-1", "%2B5", "+5", "201", "9223372036854775808", "text", "5%00", "1e2", "٣"]
        {
            assert_eq!(refused(&format!("limit={limit}")), ["limit"], "{limit}");
        }
        assert_eq!(refused("limit=5&limit=5"), ["limit"]);
    }

    #[test]
    fn a_foreign_cursor_is_rejected() {
        let id = Uuid::now_v7().simple().to_string();
        for cursor in [
            String::new(),
            "text".to_owned(),
            id.clone(),
            format!("1.{}", id.to_uppercase()),
            format!("+1.{id}"),
            format!("01.{id}"),
            format!("9223372036854775807.{id}"),
            format!("1.{id}x"),
        ] {
            assert_eq!(refused(&format!("cursor={cursor}")), ["cursor"], "{cursor}");
        }
        assert_eq!(refused("limit=0&cursor=x"), ["limit", "cursor"]);
    }

    #[test]
    fn an_empty_text_is_no_cursor_and_a_foreign_one_is_refused() {
        let cursor = Cursor { at: Timestamp::from_micros(5), id: Uuid::now_v7() };

        assert_eq!(Paging::read_cursor("").unwrap(), None);
        assert_eq!(Paging::read_cursor(&Paging::format_cursor(cursor)).unwrap(), Some(cursor));
        assert_eq!(Paging::read_cursor("x").unwrap_err().error_response().status(), 400);
    }

    #[actix_web::test]
    async fn paging_is_extracted_from_a_request() {
        let request = TestRequest::with_uri("/list?limit=7").to_http_request();

        assert_eq!(Paging::extract(&request).await.unwrap().0.limit, 7);
    }
}
