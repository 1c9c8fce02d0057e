//! `/api/admin/operators/{id}/webhook`: where ended assignments are announced.

use actix_web::web::{Data, Json};
use pia_assignments::WebhookDelivery;
use pia_kernel::{OperatorId, Timestamp};
use pia_web::{Body, Caller, PathId};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::auth::Done;
use crate::{Api, HttpError};

/// Sets the URL that is notified when an assignment of the operator has ended.
pub(crate) async fn put(
    caller: Caller,
    api: Data<Api>,
    PathId(id): PathId,
    Body(request): Body<WebhookRequest>,
) -> Result<Json<WebhookResponse>, HttpError> {
    let by = Some(caller.0.user);
    let secret =
        api.run(|api| async move {
            api.assignments.webhooks.put(by, OperatorId(id), request.url).await
        })
        .await?
        .reveal();
    Ok(Json(WebhookResponse { secret }))
}

/// Removes the webhook of an operator, and deletes its deliveries.
pub(crate) async fn delete(
    caller: Caller,
    api: Data<Api>,
    PathId(id): PathId,
) -> Result<Json<Done>, HttpError> {
    let by = Some(caller.0.user);
    api.run(|api| async move { api.assignments.webhooks.remove(by, OperatorId(id)).await }).await?;
    Ok(Json(Done::success()))
}

/// Lists the latest 100 deliveries to a webhook.
pub(crate) async fn deliveries(
    api: Data<Api>,
    PathId(id): PathId,
) -> Result<Json<Vec<WebhookDeliveryResponse>>, HttpError> {
    let deliveries = api
        .run(|api| async move { api.assignments.webhooks.deliveries(OperatorId(id)).await })
        .await?;
    Ok(Json(deliveries.into_iter().map(Into::into).collect()))
}

/// Webhook of an operator.
#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct WebhookRequest {
    /// URL, up to 2,000 characters. It begins with `https://`, and its host is outside
    /// of the server's network, unless the settings permit others.
    url: String,
}

#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct WebhookResponse {
    /// Secret that signs each delivery, `whsec_` and Base64. It is shown once.
    secret: String,
}

/// Delivery to a webhook.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct WebhookDeliveryResponse {
    #[schema(format = Uuid)]
    id: String,
    /// Body of the request.
    payload: Value,
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
    /// Number of attempts so far.
    attempts: u32,
    /// Time of the next attempt. Missing once it was delivered or abandoned.
    #[schema(value_type = String, format = DateTime)]
    #[serde(skip_serializing_if = "Option::is_none")]
    next_at: Option<Timestamp>,
    #[schema(value_type = String, format = DateTime)]
    #[serde(skip_serializing_if = "Option::is_none")]
    delivered_at: Option<Timestamp>,
    /// Reason of the last failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    failure: Option<String>,
}

impl From<WebhookDelivery> for WebhookDeliveryResponse {
    fn from(delivery: WebhookDelivery) -> Self {
        Self {
            id: delivery.id.to_string(),
            payload: serde_json::from_str(&delivery.payload).unwrap_or_default(),
            created_at: delivery.created_at,
            attempts: delivery.attempts,
            next_at: delivery.next_at,
            delivered_at: delivery.delivered_at,
            failure: delivery.failure,
        }
    }
}
