//! Versions of rows in `ETag` and `If-Match`.

use std::future::{Ready, ready};

use actix_web::dev::Payload;
use actix_web::http::StatusCode;
use actix_web::http::header::{EntityTag, Header as _, IF_MATCH, IfMatch};
use actix_web::{FromRequest, HttpRequest};
use pia_kernel::Timestamp;
use pia_web::ApiError;

/// Returns the `ETag` of a row that was last changed at this time.
pub(crate) fn row_tag(updated_at: Timestamp) -> EntityTag {
    EntityTag::new_strong(updated_at.micros().to_string())
}

/// Version of a row that a write expects; `None` accepts any.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ExpectedVersion(pub(crate) Option<Timestamp>);

impl FromRequest for ExpectedVersion {
    type Error = ApiError;
    type Future = Ready<Result<Self, ApiError>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        if !request.headers().contains_key(IF_MATCH) {
            return ready(Ok(Self(None)));
        }

        ready(match IfMatch::parse(request) {
            Ok(IfMatch::Any) => Ok(Self(None)),
            Ok(IfMatch::Items(tags)) => match parse_version(&tags) {
                Some(version) => Ok(Self(Some(version))),
                None => Err(stale()),
            },
            Err(_malformed) => Err(stale()),
        })
    }
}

/// Returns the version of a row; `None` for several tags, or one that is not a row's.
fn parse_version(tags: &[EntityTag]) -> Option<Timestamp> {
    match tags {
        [tag] if !tag.weak => tag.tag().parse().ok().map(Timestamp::from_micros),
        _ => None,
    }
}

/// Error for a write that expects another version of its row.
pub(crate) fn stale() -> ApiError {
    ApiError::refused(
        StatusCode::PRECONDITION_FAILED,
        "precondition_failed",
        "The entry was changed in the meantime. Load it again.",
    )
}
