//! Trusted certificates in SQL.

use async_trait::async_trait;
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use pia_kernel::{CertificateId, SideEffects, Unavailable};
use pia_policy::{CertificateStore, TrustedCertificate};
use pia_storage::schema::trusted_certificates;
use pia_storage::{Database, DbInstant, DbUid, WriteEffects, in_tx, on_conn};
use serde_json::{Value, json};

/// Trusted certificates in SQL.
#[derive(Debug, Clone)]
pub struct SqlCertificates {
    db: Database,
}

#[derive(Queryable, Selectable, Insertable)]
#[diesel(table_name = trusted_certificates)]
struct CertificateRow {
    id: DbUid,
    name: String,
    thumbprint: String,
    der: Vec<u8>,
    updated_at: DbInstant,
}

impl SqlCertificates {
    /// Creates a store in `db`.
    pub fn new(db: Database) -> Self {
        Self { db }
    }
}

#[async_trait]
impl CertificateStore for SqlCertificates {
    async fn all(&self) -> Result<Vec<TrustedCertificate>, Unavailable> {
        let certificates = trusted_certificates::table
            .order((trusted_certificates::name, trusted_certificates::id));
        let rows: Vec<CertificateRow> = on_conn!(self.db.reader(), |conn| {
            certificates.select(CertificateRow::as_select()).load(conn).await?
        })?;
        Ok(rows.into_iter().map(Into::into).collect())
    }

    async fn add(
        &self,
        certificate: TrustedCertificate,
        effects: SideEffects,
    ) -> Result<bool, Unavailable> {
        let effects = effects.with_changes(None, Some(&audit_fields(&certificate)));
        let row = CertificateRow::from(certificate);
        in_tx!(self.db, async |conn| {
            let inserted_rows = diesel::insert_into(trusted_certificates::table)
                .values(&row)
                .on_conflict_do_nothing()
                .execute(conn)
                .await?;
            if inserted_rows == 0 {
                return Ok(false);
            }
            conn.write_effects(&self.db, &effects).await?;
            Ok(true)
        })
    }

    async fn remove(&self, id: CertificateId, effects: SideEffects) -> Result<bool, Unavailable> {
        let row = trusted_certificates::table.find(DbUid(id.0));
        in_tx!(self.db, async |conn| {
            let certificate = row
                .select(CertificateRow::as_select())
                .first(conn)
                .await
                .optional()?
                .map(TrustedCertificate::from);
            if diesel::delete(row).execute(conn).await? == 0 {
                return Ok(false);
            }

            let before = certificate.as_ref().map(audit_fields);
            let effects = effects.with_changes(before.as_ref(), None);
            conn.write_effects(&self.db, &effects).await?;
            Ok(true)
        })
    }
}

/// Returns the fields of a certificate that the audit log records.
fn audit_fields(certificate: &TrustedCertificate) -> Value {
    json!({ "name": certificate.name, "thumbprint": certificate.thumbprint })
}

impl From<TrustedCertificate> for CertificateRow {
    fn from(certificate: TrustedCertificate) -> Self {
        let TrustedCertificate { id, name, thumbprint, der, updated_at } = certificate;
        Self { id: DbUid(id.0), name, thumbprint, der, updated_at: DbInstant(updated_at) }
    }
}

impl From<CertificateRow> for TrustedCertificate {
    fn from(row: CertificateRow) -> Self {
        let CertificateRow { id, name, thumbprint, der, updated_at } = row;
        Self { id: CertificateId(id.0), name, thumbprint, der, updated_at: updated_at.0 }
    }
}
