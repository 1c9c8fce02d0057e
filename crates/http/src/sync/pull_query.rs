//! Query of a pull.

use std::future::{Ready, ready};

use actix_web::dev::Payload;
use actix_web::web::Query;
use actix_web::{FromRequest, HttpRequest};
use pia_kernel::Timestamp;
use pia_sync::{MAX_PAGE_ROWS, PullRequest};
use pia_web::{ApiError, FieldError};
use utoipa::ToSchema;

/// Query of a pull.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
#[expect(dead_code, reason = "only described")]
pub(crate) struct SyncPullQuery {
    /// The last `serverTimestamp`; `0001-01-01T00:00:00Z` at first.
    #[schema(value_type = String, format = DateTime)]
    since: Timestamp,
    /// Maximum number of items, up to 500; all at once if absent.
    limit: Option<u32>,
    /// The last `catalogVersion`: then the catalogue comes only if it changed.
    catalog_version: Option<i64>,
}

/// Parsed query of a pull: `?since=…&limit=500&catalogVersion=…`.
#[derive(Debug)]
pub(crate) struct PullQuery(pub(crate) PullRequest);

impl PullQuery {
    fn parse(query: &str) -> Result<Self, ApiError> {
        let Ok(Query(parameters)) = Query::<Vec<(String, String)>>::from_query(query) else {
            return Err(ApiError::invalid(vec![invalid("", "The query string is malformed.")]));
        };

        let since = parse_since(parameter(&parameters, "since"));
        let limit = parse_limit(parameter(&parameters, "limit"));
        let catalogue = parse_catalogue(parameter(&parameters, "catalogVersion"));

        match (since, limit, catalogue) {
            (Ok(since), Ok(limit), Ok(catalogue)) => {
                Ok(Self(PullRequest { since, limit, catalogue }))
            }
            (since, limit, catalogue) => {
                let errors = [since.err(), limit.err(), catalogue.err()];
                Err(ApiError::invalid(errors.into_iter().flatten().collect()))
            }
        }
    }
}

impl FromRequest for PullQuery {
    type Error = ApiError;
    type Future = Ready<Result<Self, ApiError>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        ready(Self::parse(request.query_string()))
    }
}

/// Returns the value of a parameter; an empty one counts as absent.
fn parameter<'a>(parameters: &'a [(String, String)], name: &str) -> Option<&'a str> {
    let (_, value) = parameters.iter().find(|(key, _)| key.eq_ignore_ascii_case(name))?;
    Some(value.as_str()).filter(|it| !it.is_empty())
}

fn parse_since(value: Option<&str>) -> Result<Timestamp, FieldError> {
    let Some(value) = value else {
        let message = "`since` is required: there is no dump of everything. Begin with \
                       0001-01-01T00:00:00Z.";
        return Err(FieldError { code: "required", ..invalid("since", message) });
    };

    // An unescaped `+` arrives as a space.
    parse_time(&value.replace(' ', "+"))
        .ok_or_else(|| invalid("since", "`since` must be an ISO 8601 time."))
}

fn parse_time(text: &str) -> Option<Timestamp> {
    serde_json::from_value(text.into()).ok()
}

/// Parses a limit; one above the maximum is reduced to it, however large.
fn parse_limit(value: Option<&str>) -> Result<Option<u32>, FieldError> {
    let Some(value) = value else { return Ok(None) };

    let is_number = value.bytes().all(|it| it.is_ascii_digit());
    let is_positive = value.bytes().any(|it| it != b'0');
    if !(is_number && is_positive) {
        return Err(invalid("limit", "`limit` must be a number of at least 1."));
    }

    Ok(Some(value.parse().unwrap_or(MAX_PAGE_ROWS).min(MAX_PAGE_ROWS)))
}

fn parse_catalogue(value: Option<&str>) -> Result<Option<i64>, FieldError> {
    let message = "`catalogVersion` must be one from an earlier response.";
    value
        .map(str::parse::<i64>)
        .transpose()
        .map_err(|_not_a_number| invalid("catalogVersion", message))
}

fn invalid(field: &str, message: &str) -> FieldError {
    FieldError { field: field.to_owned(), code: "invalid", message: message.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(query: &str) -> PullRequest {
        PullQuery::parse(query).unwrap().0
    }

    #[test]
    fn the_query_of_a_device_is_parsed() {
        let request = parse(
            "since=2026-08-01T09:14:02.1837744Z&limit=500&catalogVersion=4194235871203344761",
        );

        assert_eq!(request.since.to_string(), "2026-08-01T09:14:02.183774Z");
        assert_eq!(request.limit, Some(500));
        assert_eq!(request.catalogue, Some(4_194_235_871_203_344_761));
        assert_eq!(parse("since=0001-01-01T00:00:00").since, Timestamp::from_micros(i64::MIN));
        assert_eq!(
            parse("since=2026-08-01T09:14:02%2B02:00"),
            parse("since=2026-08-01T09:14:02+02:00")
        );
    }

    #[test]
    fn a_large_limit_is_reduced_to_the_maximum() {
        for limit in ["500", "501", "100000", "4294967296", "9223372036854775808", &"9".repeat(99)]
        {
            let request = parse(&format!("since=2026-08-01T00:00:00Z&limit={limit}"));
            assert_eq!(request.limit, Some(MAX_PAGE_ROWS), "{limit}");
        }
        assert_eq!(parse("since=2026-08-01T00:00:00Z&limit=007").limit, Some(7));
        assert_eq!(parse("since=2026-08-01T00:00:00Z").limit, None);
    }

    #[test]
    fn invalid_queries_are_rejected() {
        for (query, field) in [
            ("", "since"),
            ("since=", "since"),
            ("since=yesterday", "since"),
            ("since=2026-08-01T00:00:00Z&limit=0", "limit"),
            ("since=2026-08-01T00:00:00Z&limit=-1", "limit"),
            ("since=2026-08-01T00:00:00Z&limit=00", "limit"),
            ("since=2026-08-01T00:00:00Z&limit=%2B5", "limit"),
            ("since=2026-08-01T00:00:00Z&limit=x", "limit"),
            ("since=2026-08-01T00:00:00Z&catalogVersion=x", "catalogVersion"),
        ] {
            let refused = PullQuery::parse(query).unwrap_err().to_string();

            assert!(refused.contains(&format!("`{field}`")), "{query}: {refused}");
        }
    }
}
