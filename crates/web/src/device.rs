//! Device of a request.

use std::future::{Ready, ready};

use actix_web::dev::Payload;
use actix_web::http::header::USER_AGENT;
use actix_web::{FromRequest, HttpMessage, HttpRequest};
use pia_identity::SignInDevice;

use crate::{ApiError, ClientAddress};

const DEVICE_ID: &str = "x-pia-device-id";
const APP_VERSION: &str = "x-pia-app-version";
const OS_VERSION: &str = "x-pia-os-version";

/// Device of a request as it describes itself, and its address as trusted
/// proxies report it.
#[derive(Debug, Clone)]
pub struct FromDevice(pub SignInDevice);

impl FromRequest for FromDevice {
    type Error = ApiError;
    type Future = Ready<Result<Self, ApiError>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        let address = request.extensions().get::<ClientAddress>().and_then(|it| it.ip);
        ready(Ok(Self(SignInDevice {
            device_id: text(request, DEVICE_ID),
            app_version: text(request, APP_VERSION),
            os_version: text(request, OS_VERSION),
            user_agent: text(request, USER_AGENT.as_str()),
            address,
        })))
    }
}

/// Returns a header's value; invalid UTF-8 is replaced.
fn text(request: &HttpRequest, name: &str) -> Option<String> {
    let value = request.headers().get(name)?;
    Some(String::from_utf8_lossy(value.as_bytes()).into_owned())
}

#[cfg(test)]
mod tests {
    use actix_web::http::header::HeaderValue;
    use actix_web::test::TestRequest;

    use super::*;

    #[actix_web::test]
    async fn absent_headers_are_none_and_invalid_utf8_is_replaced() {
        let invalid = HeaderValue::from_bytes(b"1.\xff").unwrap();
        let request = TestRequest::default()
            .insert_header(("X-Pia-Device-Id", "a device"))
            .insert_header(("X-Pia-App-Version", invalid))
            .to_http_request();

        let device = FromDevice::extract(&request).await.unwrap().0;

        assert_eq!(device.device_id.as_deref(), Some("a device"));
        assert_eq!(device.app_version.as_deref(), Some("1.\u{fffd}"));
        assert_eq!(device.os_version, None);
        assert_eq!(device.user_agent, None);
        assert_eq!(device.address, None);
    }
}
