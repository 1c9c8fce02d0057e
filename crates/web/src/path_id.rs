//! Ids in the path of a request.
//!
//! The extractors read path parameters by position, not by name: the first is the
//! id, the second the version or part.

use std::future::{Ready, ready};

use actix_web::dev::Payload;
use actix_web::{FromRequest, HttpRequest};
use uuid::Uuid;

use crate::ApiError;

/// Length of a GUID with hyphens, the only accepted form.
const GUID_CHARS: usize = 36;

/// Id in the path of a request, a GUID in any case.
///
/// An invalid id matches nothing, so the response is 404, as for an unknown one.
#[derive(Debug, Clone, Copy)]
pub struct PathId(pub Uuid);

impl FromRequest for PathId {
    type Error = ApiError;
    type Future = Ready<Result<Self, ApiError>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        ready(id(request).map(Self).ok_or_else(ApiError::not_found))
    }
}

/// Id in the path where clients generate the ids: an unknown one is not
/// answered with 404, and an invalid one is left to the handler.
#[derive(Debug, Clone, Copy)]
pub struct ClientId(pub Option<Uuid>);

impl FromRequest for ClientId {
    type Error = ApiError;
    type Future = Ready<Result<Self, ApiError>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        ready(Ok(Self(id(request))))
    }
}

/// Id in the path, and the number of a version of its object. The response is
/// 404 if either is invalid.
#[derive(Debug, Clone, Copy)]
pub struct PathVersion {
    /// Id of the object, the first parameter of the path.
    pub id: Uuid,
    /// Number of the version, the second parameter.
    pub number: i32,
}

impl FromRequest for PathVersion {
    type Error = ApiError;
    type Future = Ready<Result<Self, ApiError>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        let number = request.match_info().iter().nth(1).and_then(|(_, text)| text.parse().ok());
        let version = id(request).zip(number).map(|(id, number)| Self { id, number });
        ready(version.ok_or_else(ApiError::not_found))
    }
}

/// Id in the path, and that of a part of its object. The response is 404 if
/// either is invalid.
#[derive(Debug, Clone, Copy)]
pub struct PathPart {
    /// Id of the object, the first parameter of the path.
    pub id: Uuid,
    /// Id of the part, the second parameter.
    pub part: Uuid,
}

impl FromRequest for PathPart {
    type Error = ApiError;
    type Future = Ready<Result<Self, ApiError>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        let part = request.match_info().iter().nth(1).and_then(|(_, text)| parse(text));
        let ids = id(request).zip(part).map(|(id, part)| Self { id, part });
        ready(ids.ok_or_else(ApiError::not_found))
    }
}

fn id(request: &HttpRequest) -> Option<Uuid> {
    request.match_info().iter().next().and_then(|(_, text)| parse(text))
}

fn parse(text: &str) -> Option<Uuid> {
    if text.len() == GUID_CHARS { Uuid::try_parse(text).ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_a_guid_with_hyphens_in_any_case() {
        let id = Uuid::now_v7();
        let text = id.hyphenated().to_string();

        assert_eq!(parse(&text), Some(id));
        assert_eq!(parse(&text.to_uppercase()), Some(id));
        for other in [
            id.simple().to_string(),
            id.braced().to_string(),
            id.urn().to_string(),
            format!("{text} "),
        ] {
            assert_eq!(parse(&other), None, "{other}");
        }
        assert_eq!(parse("revoke-others"), None);
        assert_eq!(parse(&"x".repeat(GUID_CHARS)), None);
    }
}
