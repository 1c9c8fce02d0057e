//! Device in the path of a request.

use std::future::{Ready, ready};

use actix_web::dev::Payload;
use actix_web::{FromRequest, HttpRequest};
use pia_e2ee::DeviceId;

use pia_web::ApiError;

/// Device in the path of a request: the id that it chose, spelled as
/// registered.
///
/// An invalid id is handled as an unknown one: 404.
#[derive(Debug, Clone)]
pub(crate) struct PathDevice(pub(crate) DeviceId);

impl FromRequest for PathDevice {
    type Error = ApiError;
    type Future = Ready<Result<Self, ApiError>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        let id = request.match_info().iter().next().and_then(|(_, text)| DeviceId::parse(text));
        ready(id.map(Self).ok_or_else(ApiError::not_found))
    }
}
