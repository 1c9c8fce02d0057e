//! Requested page of the chats.
//!
//! `ChatsQuery` is an extractor of both lists (`list.rs`, `conversations.rs`). Names
//! of parameters match in any case; unknown parameters are ignored, repeated ones
//! refused.

use std::future::{Ready, ready};

use actix_web::dev::Payload;
use actix_web::http::header::IF_NONE_MATCH;
use actix_web::web::Query;
use actix_web::{FromRequest, HttpRequest};
use pia_kernel::Timestamp;
use pia_sync::{ChatListRequest, IfNoneMatch};
use pia_web::{ApiError, FieldError, Paging, Parameter};
use serde::Deserialize;
use serde::de::IntoDeserializer;
use serde::de::value::{Error, StrDeserializer};
use serde_json::json;

/// Limit of a request that names none.
const DEFAULT_CHATS: u16 = 100;
const MAX_CHATS: u16 = 500;

/// Parameters for OpenAPI.
pub(crate) const PARAMETERS: &[Parameter] = &[
    Parameter {
        name: "since",
        description: "Returns only chats that were changed or received at that time or later.",
        schema: || json!({ "type": "string", "format": "date-time" }),
    },
    Parameter {
        name: "limit",
        description: "Maximum number of chats.",
        schema: || json!({ "type": "integer", "minimum": 1, "maximum": MAX_CHATS, "default": DEFAULT_CHATS }),
    },
    Parameter {
        name: "cursor",
        description: "`nextCursor` of the previous page.",
        schema: || json!({ "type": "string" }),
    },
    Parameter {
        name: "includeDeleted",
        description: "True to return the ids of deleted chats too.",
        schema: || json!({ "type": "boolean", "default": false }),
    },
];

/// Requested page of the chats, and the entity tags that the client has cached.
pub(crate) struct ChatsQuery {
    pub(crate) list_request: ChatListRequest,
    pub(crate) unless: IfNoneMatch,
}

impl FromRequest for ChatsQuery {
    type Error = ApiError;
    type Future = Ready<Result<Self, ApiError>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        let query = parse(request.query_string()).map(|list_request| {
            let tags: Vec<&str> = request
                .headers()
                .get_all(IF_NONE_MATCH)
                .filter_map(|it| it.to_str().ok())
                .flat_map(|it| it.split(','))
                .map(strip_weak_prefix)
                .collect();
            let unless = if tags.is_empty() {
                IfNoneMatch::Never
            } else {
                list_request.if_none_match(&tags)
            };
            Self { list_request, unless }
        });
        ready(query)
    }
}

/// Removes the prefix of a weak tag: tags of lists are always compared weakly.
fn strip_weak_prefix(tag: &str) -> &str {
    let trimmed = tag.trim();
    trimmed.strip_prefix("W/").unwrap_or(trimmed).trim_matches('"')
}

fn parse(query: &str) -> Result<ChatListRequest, ApiError> {
    let Ok(Query(parameters)) = Query::<Vec<(String, String)>>::from_query(query) else {
        return Err(ApiError::invalid(vec![invalid("", "The query string is malformed.")]));
    };

    let mut errors = Vec::new();
    let mut list_request =
        ChatListRequest { since: None, after: None, limit: DEFAULT_CHATS, deleted: false };
    let mut names = Vec::new();
    for (name, value) in &parameters {
        let Some(parameter) = PARAMETERS.iter().find(|it| it.name.eq_ignore_ascii_case(name))
        else {
            continue;
        };
        if names.contains(&parameter.name)
            || !set_parameter(&mut list_request, parameter.name, value)
        {
            errors.push(invalid(parameter.name, message(parameter.name)));
        }
        names.push(parameter.name);
    }

    if errors.is_empty() { Ok(list_request) } else { Err(ApiError::invalid(errors)) }
}

/// Sets a parameter of the request. Returns whether its value is valid.
fn set_parameter(list_request: &mut ChatListRequest, name: &str, value: &str) -> bool {
    match name {
        "since" => {
            list_request.since = time(value);
            list_request.since.is_some()
        }
        "limit" => {
            let digits = value.bytes().all(|it| it.is_ascii_digit());
            let limit = value.parse().ok().filter(|it| digits && (1..=MAX_CHATS).contains(it));
            list_request.limit = limit.unwrap_or(DEFAULT_CHATS);
            limit.is_some()
        }
        "cursor" => {
            list_request.after = Paging::parse_cursor(value);
            list_request.after.is_some()
        }
        _ => {
            list_request.deleted = value.eq_ignore_ascii_case("true");
            list_request.deleted || value.eq_ignore_ascii_case("false")
        }
    }
}

fn message(name: &str) -> &'static str {
    match name {
        "since" => "`since` must be a single ISO 8601 time.",
        "limit" => "`limit` must be a number from 1 to 500.",
        "cursor" => "`cursor` must be a `nextCursor` from an earlier response.",
        _ => "`includeDeleted` is `true` or `false`.",
    }
}

fn time(text: &str) -> Option<Timestamp> {
    let from: StrDeserializer<'_, Error> = text.into_deserializer();
    Timestamp::deserialize(from).ok()
}

fn invalid(field: &str, message: &str) -> FieldError {
    FieldError { field: field.to_owned(), code: "invalid", message: message.to_owned() }
}

#[cfg(test)]
mod tests {
    use pia_kernel::Cursor;
    use uuid::Uuid;

    use super::*;

    fn refused(query: &str) -> bool {
        parse(query).is_err()
    }

    #[test]
    fn the_default_is_the_first_hundred_of_all() {
        let default = ChatListRequest { since: None, after: None, limit: 100, deleted: false };

        assert_eq!(parse("").unwrap(), default);
        assert_eq!(parse("unknown=1&includeDeleted=False&limit=100").unwrap(), default);
        assert_eq!(parse("IncludeDeleted=True&limit=500").unwrap().limit, 500);
    }

    #[test]
    fn all_parameters_are_parsed() {
        let cursor_value = Cursor { at: Timestamp::from_micros(-5), id: Uuid::nil() };
        let cursor = Paging::format_cursor(cursor_value);

        let parsed = parse(&format!(
            "includeDeleted=true&since=2026-08-01T09%3A14%3A02.1837744Z&limit=1&cursor={cursor}"
        ));

        let since = time("2026-08-01T09:14:02.183774Z");
        assert_eq!(
            parsed.unwrap(),
            ChatListRequest { since, after: Some(cursor_value), limit: 1, deleted: true }
        );
        assert!(parse("since=0001-01-01T00:00:00").is_ok());
    }

    #[test]
    fn invalid_parameters_are_rejected() {
        for limit in ["", "0", "-1", "501", "9223372036854775808", "text", "%2B5", "1.0"] {
            assert!(refused(&format!("limit={limit}")), "{limit}");
        }
        for query in [
            "limit=5&limit=5",
            "since=",
            "since=yesterday",
            "since=5",
            "cursor=",
            "cursor=x",
            "cursor=1.x",
            "includeDeleted=",
            "includeDeleted=1",
            "since=2026-08-01T09:14:02Z&Since=2026-08-01T09:14:02Z",
        ] {
            assert!(refused(query), "{query}");
        }
    }

    #[test]
    fn weak_and_strong_tags_are_parsed() {
        assert_eq!(
            ["W/\"c-1\"", "\"c-1\"", " W/\"c-1\" ", "c-1"].map(strip_weak_prefix),
            ["c-1"; 4]
        );
        assert_eq!(strip_weak_prefix("*"), "*");
    }
}
