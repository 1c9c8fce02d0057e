//! `/hubs/pod-uplink`: negotiation, and the upgrade to a WebSocket. Both requests
//! present the pod's token; the token of the connection (`id`) only names a
//! connection to resume, which must be one of the same connector.

use std::time::Duration;

use actix_web::http::header::AUTHORIZATION;
use actix_web::web::{Data, Json, Payload, Query};
use actix_web::{FromRequest, HttpRequest, HttpResponse};
use pia_kernel::random_bytes;
use pia_pods::PodIdentity;
use pia_signalr::{ConnectionSettings, NegotiateQuery, NegotiateResponse};
use pia_web::ApiError;
use serde::Deserialize;
use uuid::Uuid;

use crate::connection_task::ConnectionTask;
use crate::frame_limit::limit_frames;
use crate::pod_session::PodSession;
use crate::transport::{MAX_FRAME_BYTES, Transport};
use crate::uplink::{Connections, Uplink};

/// Time in which a pod may resume a connection whose WebSocket was lost.
const RESUME_TIMEOUT: Duration = Duration::from_secs(20);
/// Maximum length of a connection token that a pod presents.
const MAX_TOKEN_BYTES: usize = 128;

/// Query of both requests.
#[derive(Deserialize)]
pub(crate) struct UplinkQuery {
    /// Credential of clients that cannot set headers.
    access_token: Option<String>,
    /// Token of the connection.
    id: Option<String>,
}

/// Answers with the ids of a new connection. Nothing is stored: another instance
/// may serve its WebSocket.
pub(crate) async fn negotiate(
    request: HttpRequest,
    query: Query<UplinkQuery>,
    wishes: Query<NegotiateQuery>,
    uplink: Data<Uplink>,
) -> Result<Json<NegotiateResponse>, ApiError> {
    identify(&request, &query, &uplink).await?;
    let id = connection_token()?;
    let token = connection_token()?;
    Ok(Json(NegotiateResponse::new(*wishes, id, token)))
}

/// Opens the WebSocket of a new connection, or of one that is resumed.
pub(crate) async fn connect(
    request: HttpRequest,
    query: Query<UplinkQuery>,
    uplink: Data<Uplink>,
    connections: Data<Connections>,
    payload: Payload,
) -> Result<HttpResponse, ApiError> {
    let identity = identify(&request, &query, &uplink).await?;
    let token = query.id.clone().map_or_else(connection_token, Ok)?;
    if token.is_empty() || token.len() > MAX_TOKEN_BYTES {
        return Err(ApiError::not_found());
    }

    let mut limited = limit_frames(payload.into_inner(), MAX_FRAME_BYTES as u64);
    let limited_payload = Payload::from_request(&request, &mut limited)
        .into_inner()
        .map_err(|err| ApiError::internal(err.to_string()))?;
    let (response, socket, messages) =
        actix_ws::handle(&request, limited_payload).map_err(|_no_upgrade| ApiError::not_found())?;

    let settings = ConnectionSettings {
        resume_timeout: Some(RESUME_TIMEOUT),
        ..ConnectionSettings::default()
    };
    let attachment = connections.attach(token, identity, || {
        let session = |senders| PodSession::new(Uplink::clone(&uplink), identity, senders);
        ConnectionTask::spawn(settings, session)
    });
    let (number, inputs) = attachment.ok_or_else(ApiError::not_found)?;
    Transport::spawn(number, socket, messages, inputs);

    Ok(response)
}

/// Returns the pod whose token is in the header or, as browsers send it, in the
/// query.
async fn identify(
    request: &HttpRequest,
    query: &UplinkQuery,
    uplink: &Uplink,
) -> Result<PodIdentity, ApiError> {
    let bearer_token = request
        .headers()
        .get(AUTHORIZATION)
        .and_then(|it| it.to_str().ok())
        .and_then(|it| it.split_once(' '))
        .filter(|(scheme, _)| scheme.eq_ignore_ascii_case("Bearer"))
        .map(|(_, token)| token.trim());
    let token = bearer_token
        .or(query.access_token.as_deref())
        .ok_or_else(ApiError::unauthenticated)?
        .to_owned();

    let connectors = uplink.connectors.clone();
    let pod = uplink.runner.run(async move { connectors.authenticate(&token).await }).await?;
    pod.ok_or_else(ApiError::unauthenticated)
}

/// Returns an unguessable token of a connection.
fn connection_token() -> Result<String, ApiError> {
    Ok(Uuid::from_bytes(random_bytes()?).simple().to_string())
}
