//! Devices and keys in SQL.
//!
//! Read `change`, the only method that writes: it loads the state under the
//! ledger's lock, lets the domain decide, and writes each part of the `Change`
//! that is present. An empty change is rolled back, since locking the ledger may
//! have created it. The first version of the key encrypts the account; later ones
//! leave the time of encryption as it is.

use async_trait::async_trait;
use diesel::prelude::*;
use diesel::result::Error::RollbackTransaction;
use diesel_async::RunQueryDsl;
use pia_e2ee::{
    AccountKeys, DecideChange, Device, DeviceId, KeyState, KeyStore, RecoveryCopy, RecoveryProofKey,
};
use pia_kernel::{Timestamp, Unavailable, UserId};
use pia_sealing::Sealer;
use pia_storage::schema::{devices, ledgers, recovery_keys};
use pia_storage::{
    Database, DbError, DbInstant, DbUid, Ledger, TakeLedger, WriteEffects, in_tx, on_conn,
};

use crate::device_row::DeviceRow;
use crate::recovery_row::{ProofKeySealer, RecoveryRow};

/// Devices and keys in SQL.
///
/// Each change locks its account's ledger first, so that changes of an account are
/// serialised. It is counted there, so that devices pull again.
#[derive(Debug, Clone)]
pub struct SqlKeys {
    db: Database,
    sealer: Sealer,
}

/// Inserts a row, or replaces the one with the same key.
macro_rules! upsert {
    ($conn:expr, $table:ident, $key:ident, $row:expr) => {
        diesel::insert_into($table::table)
            .values($row)
            .on_conflict($table::$key)
            .do_update()
            .set($row)
            .execute($conn)
            .await?
    };
}

impl SqlKeys {
    /// Creates the key store in `db`; proof keys are sealed.
    pub fn new(db: Database, sealer: Sealer) -> Self {
        Self { db, sealer }
    }

    /// Returns the sealer of the user's proof key; `None` if there is no such
    /// account. Called outside of the transaction: a missing salt is created.
    async fn proof_key_sealer(&self, user: UserId) -> Result<Option<ProofKeySealer>, DbError> {
        Ok(self.sealer.seal_for(user).await?.map(|seal| ProofKeySealer::new(user, seal)))
    }
}

#[async_trait]
impl KeyStore for SqlKeys {
    async fn change(
        &self,
        user: UserId,
        at: Timestamp,
        decide: DecideChange<'_>,
    ) -> Result<bool, Unavailable> {
        let Some(proof_key_sealer) = self.proof_key_sealer(user).await? else { return Ok(false) };

        let owner = DbUid(user.0);
        let result = in_tx!(self.db, async |conn| -> Result<bool, DbError> {
            let Some(ledger) = conn.lock_ledger(user).await? else { return Ok(false) };
            let rows: Vec<DeviceRow> = devices::table
                .filter(devices::user_id.eq(owner))
                .select(DeviceRow::as_select())
                .load(conn)
                .await?;
            let recovery_key = recovery_keys::table.find(owner);
            let sealed_proof_key = recovery_key
                .select(recovery_keys::proof_key)
                .first::<Option<Vec<u8>>>(conn)
                .await
                .optional()?;
            let recovery = sealed_proof_key.map(|it| proof_key_sealer.open(it.as_deref()));

            let change = decide(&account_keys(&ledger, rows, recovery)?);
            if change.is_empty() {
                return Err(RollbackTransaction.into());
            }

            // With a stamp: a server that was restored could otherwise confuse
            // versions with those it lost.
            let stamp = ledger.stamps(at).next().unwrap_or(ledger.last_stamp);
            conn.count_change(user, stamp, 0).await?;
            for device in change.devices {
                let row = DeviceRow::from_device(user, device);
                upsert!(conn, devices, id, &row);
            }
            for deleted in change.deleted {
                diesel::delete(devices::table.find(DbUid(deleted.0))).execute(conn).await?;
            }
            if let Some(copy) = change.recovery {
                let row = RecoveryRow::from_copy(user, copy);
                upsert!(conn, recovery_keys, user_id, &row);
            }
            if let Some(key) = change.proof_key {
                let sealed = recovery_keys::proof_key.eq(proof_key_sealer.seal(&key)?);
                diesel::update(recovery_key).set(sealed).execute(conn).await?;
            }
            if let Some(version) = change.umk_version {
                let row = ledgers::table.find(owner);
                diesel::update(row).set(ledgers::umk_version.eq(version)).execute(conn).await?;
                let unencrypted = row.filter(ledgers::encrypted_at.is_null());
                diesel::update(unencrypted)
                    .set(ledgers::encrypted_at.eq(DbInstant(at)))
                    .execute(conn)
                    .await?;
            }
            conn.write_effects(&self.db, &change.effects).await?;

            Ok(true)
        });

        match result {
            // A change that does nothing leaves no ledger either.
            Err(DbError::Query(RollbackTransaction)) => Ok(true),
            result => Ok(result?),
        }
    }

    async fn devices(&self, user: UserId) -> Result<Vec<Device>, Unavailable> {
        let own_devices = devices::table
            .filter(devices::user_id.eq(DbUid(user.0)))
            .order((devices::created_at, devices::id));
        let rows: Vec<DeviceRow> = on_conn!(self.db.reader(), |conn| {
            own_devices.select(DeviceRow::as_select()).load(conn).await?
        })?;
        Ok(rows.into_iter().map(TryInto::try_into).collect::<Result<_, DbError>>()?)
    }

    async fn device(&self, user: UserId, id: &DeviceId) -> Result<Option<Device>, Unavailable> {
        let device = devices::table
            .filter(devices::user_id.eq(DbUid(user.0)).and(devices::device_id.eq(id.as_str())));
        let row: Option<DeviceRow> = on_conn!(self.db.reader(), |conn| {
            device.select(DeviceRow::as_select()).first(conn).await.optional()?
        })?;
        Ok(row.map(Device::try_from).transpose()?)
    }

    async fn state(&self, user: UserId) -> Result<KeyState, Unavailable> {
        let ledger = ledgers::table
            .find(DbUid(user.0))
            .select((ledgers::encrypted_at.is_not_null(), ledgers::umk_version));
        let recovery_key =
            recovery_keys::table.find(DbUid(user.0)).select(recovery_keys::proof_key.is_not_null());
        let (ledger_row, has_proof_key): (Option<(bool, i32)>, Option<bool>) =
            on_conn!(self.db.reader(), |conn| {
                let ledger_row = ledger.first(conn).await.optional()?;
                (ledger_row, recovery_key.first(conn).await.optional()?)
            })?;

        let (encrypted, umk_version) = ledger_row.unwrap_or_default();
        Ok(KeyState {
            encrypted,
            umk_version,
            recovery: has_proof_key.is_some(),
            proof_key: has_proof_key.unwrap_or_default(),
        })
    }

    async fn recovery(&self, user: UserId) -> Result<Option<RecoveryCopy>, Unavailable> {
        let copy = recovery_keys::table.find(DbUid(user.0));
        let row: Option<RecoveryRow> = on_conn!(self.db.reader(), |conn| {
            copy.select(RecoveryRow::as_select()).first(conn).await.optional()?
        })?;
        Ok(row.map(Into::into))
    }
}

fn account_keys(
    ledger: &Ledger,
    rows: Vec<DeviceRow>,
    recovery: Option<RecoveryProofKey>,
) -> Result<AccountKeys, DbError> {
    let devices = rows.into_iter().map(TryInto::try_into).collect::<Result<_, _>>()?;
    let Ledger { encrypted, was_reset, umk_version, .. } = *ledger;
    Ok(AccountKeys { devices, encrypted, was_reset, umk_version, recovery })
}
