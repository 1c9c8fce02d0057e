//! Webhook: a request to an operator's URL when an assignment ends. Its payload
//! names the assignment and its state, such as
//! `{"type":"assignment.…",…}`.

use pia_kernel::{OperatorId, Secret, Timestamp, WebhookDeliveryId};
use serde::Serialize;

use crate::assignment::Assignment;

/// URL that an operator's deliveries go to, and the secret that signs them.
#[derive(Debug, Clone)]
pub struct Webhook {
    /// URL to which deliveries are posted.
    pub url: String,
    /// Secret in the form of Standard Webhooks: `whsec_` and Base64.
    pub secret: Secret<String>,
}

/// Delivery to a webhook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebhookDelivery {
    /// Id, which the receiver may use to recognise repetitions.
    pub id: WebhookDeliveryId,
    /// Body, JSON, which every attempt sends unchanged.
    pub payload: String,
    /// Time of the assignment's end.
    pub created_at: Timestamp,
    /// Number of attempts so far.
    pub attempts: u32,
    /// Time of the next attempt; `None` once it was delivered or abandoned.
    pub next_at: Option<Timestamp>,
    /// Time of the attempt that succeeded; `None` while none has.
    pub delivered_at: Option<Timestamp>,
    /// Reason of the last failure, without the URL; `None` once it was delivered.
    pub failure: Option<String>,
}

/// Delivery that this process attempts.
#[derive(Debug, Clone)]
pub struct ClaimedDelivery {
    /// Operator to whose webhook it goes.
    pub operator: OperatorId,
    /// Delivery; this attempt is counted.
    pub delivery: WebhookDelivery,
    /// Webhook; `None` if its secret cannot be read.
    pub webhook: Option<Webhook>,
}

/// Body of a delivery. It has no contents of the assignment.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Payload<'a> {
    #[serde(rename = "type")]
    kind: String,
    timestamp: Timestamp,
    data: Data<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Data<'a> {
    assignment_id: String,
    user_id: String,
    operator_id: String,
    skill_name: &'a str,
    status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    error_code: Option<&'a str>,
    step_count: i32,
    tokens_spent: i64,
    tokens_abandoned: i64,
    created_at: Timestamp,
    #[serde(skip_serializing_if = "Option::is_none")]
    started_at: Option<Timestamp>,
}

impl WebhookDelivery {
    /// Creates the delivery of an assignment that has ended, due at once. `None`
    /// if it is unfinished.
    pub fn of_ended(operator: OperatorId, assignment: &Assignment) -> Option<Self> {
        let ended_at = assignment.completed_at?;
        let payload = Payload {
            kind: format!("assignment.{}", assignment.status.name().to_lowercase()),
            timestamp: ended_at,
            data: Data {
                assignment_id: assignment.id.to_string(),
                user_id: assignment.user.to_string(),
                operator_id: operator.to_string(),
                skill_name: &assignment.skill,
                status: assignment.status.name(),
                error_code: assignment.error_code.as_deref(),
                step_count: assignment.step_count,
                tokens_spent: assignment.tokens_spent,
                tokens_abandoned: assignment.tokens_abandoned,
                created_at: assignment.created_at,
                started_at: assignment.started_at,
            },
        };

        Some(Self {
            id: WebhookDeliveryId::generate(),
            payload: serde_json::to_string(&payload).ok()?,
            created_at: ended_at,
            attempts: 0,
            next_at: Some(ended_at),
            delivered_at: None,
            failure: None,
        })
    }
}
