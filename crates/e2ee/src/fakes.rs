//! Fake key store in memory, and a device that signs, for tests.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use pia_kernel::{ReauthenticationOutcome, Timestamp, Unavailable, UserId};
use pia_testkit::ManualClock;
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _};

use crate::account_keys::{AccountKeys, RecoveryProofKey};
use crate::device::{Device, DeviceId};
use crate::devices::Devices;
use crate::own_key::KeyForm;
use crate::ports::{DecideChange, KeyState, KeyStore};
use crate::recovery::Recovery;
use crate::recovery_copy::{RecoveryCopy, RecoveryForm};
use crate::registration::{DeviceForm, RegisteredDevice};
use crate::use_cases::KeyOwner;

/// State of a fake store of one account's keys.
#[derive(Debug, Default)]
pub(crate) struct StoredKeys {
    pub(crate) keys: AccountKeys,
    pub(crate) copy: Option<RecoveryCopy>,
    /// Actions of the audit log, and names of emails.
    pub(crate) recorded: Vec<&'static str>,
}

#[derive(Debug, Default)]
pub(crate) struct FakeKeys(pub(crate) Mutex<StoredKeys>);

/// User with devices.
pub(crate) struct Ada {
    pub(crate) user: UserId,
    pub(crate) store: Arc<FakeKeys>,
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) devices: Devices,
    pub(crate) recovery: Recovery,
}

/// Device with its signing key.
pub(crate) struct Machine {
    pub(crate) id: DeviceId,
    signer: EcdsaKeyPair,
}

pub(crate) fn text(byte: u8, length: usize) -> String {
    STANDARD.encode(vec![byte; length])
}

pub(crate) fn key_form() -> KeyForm {
    KeyForm { ciphertext: Some(text(1, 60)), hkdf_salt: Some(text(2, 32)), ..KeyForm::default() }
}

pub(crate) fn recovery_form() -> RecoveryForm {
    RecoveryForm {
        ciphertext: Some(text(3, 60)),
        kdf_salt: Some(text(4, 32)),
        kdf_memory_cost_kb: Some(65_536),
        kdf_time_cost: Some(3),
        kdf_parallelism: Some(4),
        ..RecoveryForm::default()
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
            ..DeviceForm::default()
        }
    }

    pub(crate) fn sign(&self, payload: &str) -> String {
        let signature = self.signer.sign(&SystemRandom::new(), payload.as_bytes()).unwrap();
        STANDARD.encode(signature)
    }
}

impl Ada {
    pub(crate) fn new() -> Self {
        let store = Arc::new(FakeKeys::default());
        let clock = Arc::new(ManualClock::new(Timestamp::UNIX_EPOCH));
        let port = || Arc::<FakeKeys>::clone(&store) as Arc<dyn KeyStore>;
        let devices = Devices::new(port(), Arc::<ManualClock>::clone(&clock));
        let recovery = Recovery::new(port(), Arc::<ManualClock>::clone(&clock));
        Self { user: UserId::generate(), store, clock, devices, recovery }
    }

    /// Returns an account that a first device has encrypted.
    pub(crate) async fn encrypted() -> (Self, Machine) {
        let ada = Self::new();
        let first = Machine::new("first");
        ada.register(&first).await;
        ada.devices.store_key(ada.owner(), &first.id, key_form()).await.unwrap();
        (ada, first)
    }

    /// Returns Ada after reauthentication.
    pub(crate) fn owner(&self) -> KeyOwner {
        KeyOwner { user: self.user, reauthentication: ReauthenticationOutcome::Fresh }
    }

    /// Returns Ada with a session only.
    pub(crate) fn session(&self) -> KeyOwner {
        KeyOwner { user: self.user, reauthentication: ReauthenticationOutcome::Stale }
    }

    /// Returns a program that acts for Ada.
    pub(crate) fn program(&self) -> KeyOwner {
        KeyOwner { user: self.user, reauthentication: ReauthenticationOutcome::Delegated }
    }

    pub(crate) async fn register(&self, machine: &Machine) -> RegisteredDevice {
        self.devices.register(self.user, machine.form()).await.unwrap()
    }

    pub(crate) fn device(&self, machine: &Machine) -> Device {
        self.store.0.lock().unwrap().keys.device(&machine.id).unwrap().clone()
    }

    pub(crate) fn actions(&self) -> Vec<&'static str> {
        std::mem::take(&mut self.store.0.lock().unwrap().recorded)
    }
}

#[async_trait]
impl KeyStore for FakeKeys {
    async fn change(
        &self,
        _: UserId,
        _: Timestamp,
        decide_change: DecideChange<'_>,
    ) -> Result<bool, Unavailable> {
        let mut account = self.0.lock().unwrap();
        let change = decide_change(&account.keys);

        for device in change.devices {
            account.keys.devices.retain(|it| it.row != device.row);
            account.keys.devices.push(device);
        }
        account.keys.devices.retain(|it| !change.deleted.contains(&it.row));

        if let Some(copy) = change.recovery {
            account.copy = Some(copy);
            let proof_key = account.keys.recovery.take();
            account.keys.recovery = Some(proof_key.unwrap_or(RecoveryProofKey::Missing));
        }

        if let Some(key) = change.proof_key {
            account.keys.recovery = Some(RecoveryProofKey::Stored(key));
        }
        if let Some(version) = change.umk_version {
            account.keys.encrypted = true;
            account.keys.umk_version = version;
        }
        account.recorded.extend(change.effects.audit.iter().map(|it| it.action));
        account.recorded.extend(change.effects.mail.iter().map(|it| it.email.name));
        Ok(true)
    }

    async fn devices(&self, _: UserId) -> Result<Vec<Device>, Unavailable> {
        Ok(self.0.lock().unwrap().keys.devices.clone())
    }

    async fn device(&self, _: UserId, id: &DeviceId) -> Result<Option<Device>, Unavailable> {
        Ok(self.0.lock().unwrap().keys.device(id).cloned())
    }

    async fn state(&self, _: UserId) -> Result<KeyState, Unavailable> {
        let account = self.0.lock().unwrap();
        Ok(KeyState {
            encrypted: account.keys.encrypted,
            umk_version: account.keys.umk_version,
            recovery: account.keys.recovery.is_some(),
            proof_key: matches!(account.keys.recovery, Some(RecoveryProofKey::Stored(_))),
        })
    }

    async fn recovery(&self, _: UserId) -> Result<Option<RecoveryCopy>, Unavailable> {
        Ok(self.0.lock().unwrap().copy.clone())
    }
}
