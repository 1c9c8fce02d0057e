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
            return Err(ApiError::invalid(vec![fault("", "The query string is malformed.")]));
        };
        let input = |name: &str| {
            let mut input = parameters.iter().filter(|(it, _)| it.eq_ignore_ascii_case(name));
            input.next().map(|(_, value)| value.as_str()).filter(|it| !it.is_empty())
        };
        let mut faults = Vec::new();
        // A `+` that was not escaped comes as a space.
        let since = input("since").map(|it| parse_time(&it.replace(' ', "+")));
        if since.is_none() {
            let message = "`since` is required: there is no dump of everything. Begin with \
                           0001-01-01T00:00:00Z.";
            faults.push(FieldError { code: "required", ..fault("since", message) });
        }
        if since == Some(None) {
            faults.push(fault("since", "`since` must be an ISO 8601 time."));
        }
        let limit = input("limit").map(|it| {
            let digits = it.bytes().all(|it| it.is_ascii_digit());
            let more_than_none = it.bytes().any(|it| it != b'0');
            // More than there ever is in one answer is no fault, however much.
            let limit = it.parse().unwrap_or(MAX_PAGE_ROWS).min(MAX_PAGE_ROWS);
            (digits && more_than_none).then_some(limit)
        });
        if limit == Some(None) {
            faults.push(fault("limit", "`limit` must be a number of at least 1."));
        }
        let catalogue = input("catalogVersion").map(str::parse).transpose();
        if catalogue.is_err() {
            let message = "`catalogVersion` must be one from an earlier response.";
            faults.push(fault("catalogVersion", message));
        }
        match (since, limit, catalogue) {
            (Some(Some(since)), limit, Ok(catalogue)) if faults.is_empty() => {
                Ok(Self(PullRequest { since, limit: limit.flatten(), catalogue }))
            }
            _ => Err(ApiError::invalid(faults)),
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

fn parse_time(text: &str) -> Option<Timestamp> {
    serde_json::from_value(text.into()).ok()
}

fn fault(field: &str, message: &str) -> FieldError {
    FieldError { field: field.to_owned(), code: "invalid", message: message.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(query: &str) -> PullRequest {
        PullQuery::parse(query).unwrap().0
    }

    #[test]
    fn a_device_requests_as_it_always_did() {
        let requested =
            ask("since=2026-08-01T09:14:02.1837744Z&limit=500&catalogVersion=4194235871203344761");

        assert_eq!(requested.since.to_string(), "2026-08-01T09:14:02.183774Z");
        assert_eq!(
            (requested.limit, requested.catalogue),
            (Some(500), Some(4_194_235_871_203_344_761))
        );
        assert_eq!(ask("since=0001-01-01T00:00:00").since, Timestamp::from_micros(i64::MIN));
        assert_eq!(
            ask("since=2026-08-01T09:14:02%2B02:00"),
            ask("since=2026-08-01T09:14:02+02:00")
        );
    }

    #[test]
    fn more_than_one_answer_holds_is_cut_to_that() {
        for limit in ["500", "501", "100000", "4294967296", "9223372036854775808", &"9".repeat(99)]
        {
            let requested = ask(&format!("since=2026-08-01T00:00:00Z&limit={limit}"));
            assert_eq!(requested.limit, Some(MAX_PAGE_ROWS), "{limit}");
        }
        assert_eq!(ask("since=2026-08-01T00:00:00Z&limit=007").limit, Some(7));
        assert_eq!(ask("since=2026-08-01T00:00:00Z").limit, None);
    }

    #[test]
    fn what_cannot_be_meant_is_refused() {
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
