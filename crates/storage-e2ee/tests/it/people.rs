//! Accounts with devices for the tests.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use pia_e2ee::{
    ApprovalForm, DeviceForm, DeviceId, Devices, KeyForm, KeyOwner, Recovery, RecoveryForm,
};
use pia_kernel::{ReauthenticationOutcome, Secret, Timestamp, UserId};
use pia_sealing::{MasterKeys, Sealer};
use pia_storage::schema::{accounts, audit_entries, audit_identities, ledgers};
use pia_storage::{Database, DbError, DbInstant, DbUid, on_conn};
use pia_storage_e2ee::SqlKeys;
use pia_storage_sealing::SqlSalts;
use pia_testkit::FixedClock;
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _};

pub(crate) const START: Timestamp = Timestamp::UNIX_EPOCH;

/// User with an account.
#[derive(Clone)]
pub(crate) struct Person {
    pub(crate) user: UserId,
    pub(crate) db: Database,
    pub(crate) keys: Arc<SqlKeys>,
    pub(crate) devices: Devices,
    pub(crate) recovery: Recovery,
}

/// Device with a key that it signs with.
pub(crate) struct Machine {
    pub(crate) id: DeviceId,
    signer: EcdsaKeyPair,
}

pub(crate) fn text(byte: u8, length: usize) -> String {
    STANDARD.encode(vec![byte; length])
}

pub(crate) fn key_form(byte: u8) -> KeyForm {
    KeyForm {
        ciphertext: Some(text(byte, 60)),
        hkdf_salt: Some(text(byte, 32)),
        ..KeyForm::default()
    }
}

pub(crate) fn recovery_form(byte: u8) -> RecoveryForm {
    RecoveryForm {
        ciphertext: Some(text(byte, 60)),
        kdf_salt: Some(text(byte, 32)),
        kdf_memory_cost_kb: Some(65_536),
        kdf_time_cost: Some(3),
        kdf_parallelism: Some(4),
        ..RecoveryForm::default()
    }
}

fn sealer(db: &Database, key: [u8; 32]) -> Sealer {
    let keys = MasterKeys { current: Secret::new(key), previous: None };
    Sealer::new(keys, Arc::new(SqlSalts::new(db.clone())))
}

impl Person {
    pub(crate) async fn new(db: &Database) -> Self {
        let user = UserId::generate();
        insert(db, user).await;
        Self::at(db, user, [7; 32])
    }

    /// Returns the same user on a server with another master key.
    pub(crate) fn with_master_key(&self, key: [u8; 32]) -> Self {
        Self::at(&self.db, self.user, key)
    }

    fn at(db: &Database, user: UserId, key: [u8; 32]) -> Self {
        let keys = Arc::new(SqlKeys::new(db.clone(), sealer(db, key)));
        let clock = || Arc::new(FixedClock(START));
        let port = || Arc::<SqlKeys>::clone(&keys) as Arc<dyn pia_e2ee::KeyStore>;
        let devices = Devices::new(port(), clock());
        let recovery = Recovery::new(port(), clock());
        Self { user, db: db.clone(), keys, devices, recovery }
    }

    /// Creates a user whose first device has encrypted the account.
    pub(crate) async fn encrypted(db: &Database) -> (Self, Machine) {
        let person = Self::new(db).await;
        let first = Machine::new("first");
        person.register(&first).await;
        person.devices.store_key(person.owner(), &first.id, key_form(1)).await.unwrap();
        (person, first)
    }

    /// Returns the user with a proof that the account is theirs.
    pub(crate) fn owner(&self) -> KeyOwner {
        KeyOwner { user: self.user, reauthentication: ReauthenticationOutcome::Fresh }
    }

    /// Registers a device and returns its onboarding session.
    pub(crate) async fn register(&self, machine: &Machine) -> String {
        self.devices.register(self.user, machine.form()).await.unwrap().onboarding
    }

    /// Returns the number of changes to the account's data, and whether it is
    /// encrypted.
    pub(crate) async fn ledger(&self) -> (i64, bool) {
        let row = ledgers::table
            .find(DbUid(self.user.0))
            .select((ledgers::version, ledgers::encrypted_at.is_not_null()));
        let counts: Result<_, DbError> = on_conn!(self.db.reader(), |conn| row.first(conn).await?);
        counts.unwrap()
    }

    /// Returns the number of the user's audit entries with this action.
    pub(crate) async fn audited(&self, action: &str) -> i64 {
        let entries = audit_entries::table
            .inner_join(audit_identities::table)
            .filter(audit_identities::user_id.eq(DbUid(self.user.0)))
            .filter(audit_entries::action.eq(action))
            .count();
        let count: Result<i64, DbError> =
            on_conn!(self.db.reader(), |conn| entries.get_result(conn).await?);
        count.unwrap()
    }

    pub(crate) async fn leave(&self) {
        let deletion = diesel::delete(accounts::table.find(DbUid(self.user.0)));
        let count: Result<usize, DbError> =
            on_conn!(self.db.writer(), |conn| deletion.execute(conn).await?);
        assert_eq!(count.unwrap(), 1);
    }
}

impl Machine {
    pub(crate) fn new(id: &str) -> Self {
        let algorithm = &ECDSA_P256_SHA256_FIXED_SIGNING;
        let random = SystemRandom::new();
        let pkcs8 = EcdsaKeyPair::generate_pkcs8(algorithm, &random).unwrap();
        let signer = EcdsaKeyPair::from_pkcs8(algorithm, pkcs8.as_ref(), &random).unwrap();
        Self { id: DeviceId::parse(id).unwrap(), signer }
    }

    pub(crate) fn form(&self) -> DeviceForm {
        let key = Some(STANDARD.encode(self.signer.public_key()));
        DeviceForm {
            device_id: Some(self.id.as_str().to_owned()),
            device_name: Some(format!("DESKTOP-{}", self.id.as_str())),
            agreement_public_key: key.clone(),
            signing_public_key: key,
            os_version: Some("Windows".to_owned()),
            app_version: None,
        }
    }

    /// Creates the approval of another device.
    pub(crate) fn approves(&self, target: &Self, session: &str, byte: u8) -> ApprovalForm {
        let key = target.form().agreement_public_key.unwrap();
        let payload = format!("{session}:{}:{key}", target.id.as_str());
        let signature = self.signer.sign(&SystemRandom::new(), payload.as_bytes()).unwrap();
        ApprovalForm {
            onboarding_session_id: Some(session.to_owned()),
            target_device_id: Some(target.id.as_str().to_owned()),
            wrapped_umk: Some(text(byte, 60)),
            hkdf_salt: Some(text(byte, 32)),
            approver_signature: Some(STANDARD.encode(signature)),
            signature_version: None,
            approver_device_id: Some(self.id.as_str().to_owned()),
        }
    }
}

async fn insert(db: &Database, user: UserId) {
    let email = format!("{user}@example.org");
    let row = (
        accounts::id.eq(DbUid(user.0)),
        accounts::email.eq(&email),
        accounts::email_folded.eq(&email),
        accounts::provider.eq("local"),
        accounts::customer_type.eq(0),
        accounts::created_at.eq(DbInstant(START)),
    );
    let insertion = diesel::insert_into(accounts::table).values(row);
    let count: Result<usize, DbError> =
        on_conn!(db.writer(), |conn| insertion.execute(conn).await?);
    assert_eq!(count.unwrap(), 1);
}
