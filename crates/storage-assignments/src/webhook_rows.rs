//! Database rows of deliveries to webhooks. `transition.rs` queues a delivery in
//! the transaction that ends an assignment, so that an end is announced if and
//! only if it is stored.

use diesel::prelude::*;
use diesel::sql_types::Text;
use diesel_async::RunQueryDsl;
use pia_assignments::WebhookDelivery;
use pia_kernel::{OperatorId, WebhookDeliveryId};
use pia_storage::schema::{assignments, operators, webhook_deliveries};
use pia_storage::{DbError, DbInstant, DbUid, connection_trait};

use crate::assignment_rows::AssignmentRow;

diesel::define_sql_function! {
    /// Text in lower case. Names of skills are ASCII.
    fn lower(text: Text) -> Text;
}

/// Delivery to a webhook.
#[derive(Debug, Clone, Queryable, Selectable, Insertable, AsChangeset)]
#[diesel(table_name = webhook_deliveries, treat_none_as_null = true)]
pub(crate) struct DeliveryRow {
    pub(crate) id: DbUid,
    created_at: DbInstant,
    next_at: Option<DbInstant>,
    delivered_at: Option<DbInstant>,
    pub(crate) attempts: i32,
    failure: Option<String>,
    payload: String,
}

impl From<WebhookDelivery> for DeliveryRow {
    fn from(delivery: WebhookDelivery) -> Self {
        Self {
            id: DbUid(delivery.id.0),
            created_at: DbInstant(delivery.created_at),
            next_at: delivery.next_at.map(DbInstant),
            delivered_at: delivery.delivered_at.map(DbInstant),
            attempts: i32::try_from(delivery.attempts).unwrap_or(i32::MAX),
            failure: delivery.failure,
            payload: delivery.payload,
        }
    }
}

impl From<DeliveryRow> for WebhookDelivery {
    fn from(row: DeliveryRow) -> Self {
        Self {
            id: WebhookDeliveryId(row.id.0),
            payload: row.payload,
            created_at: row.created_at.0,
            attempts: u32::try_from(row.attempts).unwrap_or_default(),
            next_at: row.next_at.map(|it| it.0),
            delivered_at: row.delivered_at.map(|it| it.0),
            failure: row.failure,
        }
    }
}

connection_trait! {
    /// Connection that can queue deliveries.
    pub(crate) trait QueueDelivery {
        /// Queues the delivery of an assignment that has ended, if the operator that
        /// has its skill now has a webhook.
        async fn queue_delivery(&mut self, assignment: DbUid) -> Result<(), DbError> {
            let has_skill = operators::skill_name_folded.eq(lower(assignments::skill_name));
            let query = assignments::table
                .find(assignment)
                .inner_join(operators::table.on(has_skill))
                .filter(operators::webhook_url.is_not_null())
                .select((operators::id, assignments::user_id, AssignmentRow::as_select()));

            let announced: Option<(DbUid, DbUid, AssignmentRow)> =
                query.first(self).await.optional()?;
            let Some((operator, user, row)) = announced else { return Ok(()) };

            let assignment = row.open_listed(None)?;
            let delivery = WebhookDelivery::of_ended(OperatorId(operator.0), &assignment);
            let Some(delivery) = delivery.map(DeliveryRow::from) else { return Ok(()) };

            let owner = (
                webhook_deliveries::operator_id.eq(operator),
                webhook_deliveries::user_id.eq(user),
            );
            diesel::insert_into(webhook_deliveries::table)
                .values((delivery, owner))
                .execute(self)
                .await?;

            Ok(())
        }
    }
}
