//! Webhooks in SQL. A claim is a guarded update that moves `next_at`; `finish`
//! compares the number of attempts, so that a late result does not overwrite that
//! of a newer attempt.

use async_trait::async_trait;
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use pia_assignments::{ClaimedDelivery, Webhook, WebhookDelivery, WebhookStore};
use pia_kernel::{OperatorId, Secret, SideEffects, Timestamp, Unavailable};
use pia_sealing::SealContext;
use pia_storage::schema::{operators, webhook_deliveries};
use pia_storage::{Database, DbError, DbInstant, DbUid, WriteEffects, in_tx, on_conn};

use crate::webhook_rows::DeliveryRow;

/// Number of due deliveries that are read together, so that one who loses the race
/// for the first still gets another.
const BATCH: i64 = 32;

/// Webhooks in SQL.
#[derive(Debug, Clone)]
pub struct SqlWebhooks {
    db: Database,
}

/// Delivery with the operator's id, URL and sealed secret.
type ClaimedRow = (DeliveryRow, DbUid, Option<String>, Option<Vec<u8>>);

impl SqlWebhooks {
    /// Creates the store of the webhooks in `db`.
    pub fn new(db: Database) -> Self {
        Self { db }
    }

    fn seal(&self, operator: DbUid, webhook: &Webhook) -> Result<Vec<u8>, Unavailable> {
        let secret = Secret::new(webhook.secret.expose().clone().into_bytes());
        self.db.seal()?.seal(seal_context(&operator), &secret)
    }

    /// Opens a claimed delivery. A secret that cannot be opened must not keep the
    /// others waiting.
    fn open(&self, row: ClaimedRow) -> Result<ClaimedDelivery, DbError> {
        let (delivery, operator, url, sealed) = row;
        let secret_result =
            self.db.seal()?.open(seal_context(&operator), &sealed.unwrap_or_default());
        let secret = secret_result.ok().and_then(|it| String::from_utf8(it.reveal()).ok());
        let webhook =
            url.zip(secret).map(|(url, secret)| Webhook { url, secret: Secret::new(secret) });
        Ok(ClaimedDelivery { operator: OperatorId(operator.0), delivery: delivery.into(), webhook })
    }

    /// Claims a delivery, unless it was claimed meanwhile.
    async fn try_claim(
        &self,
        id: DbUid,
        now: DbInstant,
        until: DbInstant,
    ) -> Result<Option<ClaimedRow>, DbError> {
        in_tx!(self.db, async |conn| -> Result<Option<ClaimedRow>, DbError> {
            let delivery = webhook_deliveries::table.find(id);
            let claimed_rows = diesel::update(delivery.filter(webhook_deliveries::next_at.le(now)))
                .set((
                    webhook_deliveries::next_at.eq(until),
                    webhook_deliveries::attempts.eq(webhook_deliveries::attempts + 1),
                ))
                .execute(conn)
                .await?;
            if claimed_rows == 0 {
                return Ok(None);
            }

            let columns = (
                DeliveryRow::as_select(),
                operators::id,
                operators::webhook_url,
                operators::webhook_secret,
            );
            let claimed_query = delivery.inner_join(operators::table).select(columns);

            Ok(claimed_query.first(conn).await.optional()?)
        })
    }
}

fn seal_context(operator: &DbUid) -> SealContext<'_> {
    SealContext { purpose: "webhook-secret", row: operator.0.as_bytes() }
}

#[async_trait]
impl WebhookStore for SqlWebhooks {
    async fn put(
        &self,
        operator: OperatorId,
        webhook: Option<Webhook>,
        effects: SideEffects,
    ) -> Result<bool, Unavailable> {
        let id = DbUid(operator.0);
        let secret = webhook.as_ref().map(|it| self.seal(id, it)).transpose()?;
        let url = webhook.map(|it| it.url);
        in_tx!(self.db, async |conn| {
            let columns = (operators::webhook_url.eq(&url), operators::webhook_secret.eq(&secret));
            let updated_rows =
                diesel::update(operators::table.find(id)).set(columns).execute(conn).await?;
            if updated_rows == 0 {
                return Ok(false);
            }

            if url.is_none() {
                let of_operator = webhook_deliveries::operator_id.eq(id);
                diesel::delete(webhook_deliveries::table.filter(of_operator)).execute(conn).await?;
            }

            conn.write_effects(&self.db, &effects).await?;

            Ok(true)
        })
    }

    async fn deliveries(
        &self,
        operator: OperatorId,
        limit: u32,
    ) -> Result<Option<Vec<WebhookDelivery>>, Unavailable> {
        let query = operators::table.find(DbUid(operator.0)).select(operators::id);
        let id: Option<DbUid> =
            on_conn!(self.db.reader(), |conn| query.first(conn).await.optional()?)?;
        let Some(id) = id else { return Ok(None) };

        let deliveries = webhook_deliveries::table
            .filter(webhook_deliveries::operator_id.eq(id))
            .order((webhook_deliveries::created_at.desc(), webhook_deliveries::id.desc()))
            .limit(i64::from(limit));

        let rows: Vec<DeliveryRow> = on_conn!(self.db.reader(), |conn| {
            deliveries.select(DeliveryRow::as_select()).load(conn).await?
        })?;

        Ok(Some(rows.into_iter().map(Into::into).collect()))
    }

    async fn claim(
        &self,
        now: Timestamp,
        until: Timestamp,
        except: &[OperatorId],
    ) -> Result<Option<ClaimedDelivery>, Unavailable> {
        let claimed_at = DbInstant(now);
        let claimed_until = DbInstant(until);
        let except: Vec<DbUid> = except.iter().map(|it| DbUid(it.0)).collect();
        let query = webhook_deliveries::table
            .filter(webhook_deliveries::next_at.le(claimed_at))
            .filter(webhook_deliveries::operator_id.ne_all(except))
            .order((webhook_deliveries::next_at, webhook_deliveries::id))
            .select(webhook_deliveries::id)
            .limit(BATCH);
        let due_ids: Vec<DbUid> = on_conn!(self.db.reader(), |conn| query.load(conn).await?)?;
        for id in due_ids {
            if let Some(claimed) = self.try_claim(id, claimed_at, claimed_until).await? {
                return Ok(Some(self.open(claimed)?));
            }
        }

        // Others claimed all of them.
        Ok(None)
    }

    async fn finish(&self, delivery: WebhookDelivery) -> Result<(), Unavailable> {
        let row = DeliveryRow::from(delivery);
        let of_claim = webhook_deliveries::table
            .find(row.id)
            .filter(webhook_deliveries::attempts.eq(row.attempts));
        let delivery_update = diesel::update(of_claim).set(&row);
        on_conn!(self.db.writer(), |conn| delivery_update.execute(conn).await?)?;
        Ok(())
    }

    async fn sweep(&self, before: Timestamp) -> Result<(), Unavailable> {
        let is_old = webhook_deliveries::created_at.lt(DbInstant(before));
        let deletion = diesel::delete(webhook_deliveries::table.filter(is_old));
        on_conn!(self.db.writer(), |conn| deletion.execute(conn).await?)?;
        Ok(())
    }
}
