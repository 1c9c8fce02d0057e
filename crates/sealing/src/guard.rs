//! Detection of a wrong master key before it does harm.
//!
//! The server calls `KeyGuardOutcome::check` at its start, before anything is sealed
//! (`server/src/compose/infrastructure.rs`). On an empty database the key is
//! registered. Later a different key replaces the registered one only if that is
//! configured as the previous key, or if the operator gives the old data up.

use pia_kernel::Unavailable;

use crate::master_keys::{KeyId, MasterKeys};
use crate::ports::{InstalledKey, KeyRegister, KeyReplacementOutcome};

/// Errors of the master key for which the server must not start. Printed with
/// a code that operators can look up.
#[derive(Debug, thiserror::Error)]
pub enum MasterKeyError {
    /// The stored data is sealed under another key.
    #[error(
        "SVC-ENC-001: Encryption:MasterKey is not the key that the stored data was sealed with \
         (key {0}): put that key back, or set Encryption:PreviousMasterKey to it; with \
         Encryption:AcceptNewMasterKey the old data is given up"
    )]
    Other(KeyId),
    /// Database is unavailable, so the key cannot be compared.
    #[error("SVC-ENC-002: the master key could not be checked: {0}")]
    Unavailable(#[from] Unavailable),
}

/// Outcome of the check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyGuardOutcome {
    /// The stored data is sealed under the key in use.
    Known,
    /// Stored data is sealed under the previous key, and new data under this one.
    Succeeded,
    /// Stored data is sealed under a lost key and cannot be read, as the operator confirmed.
    Abandoned,
}

impl KeyGuardOutcome {
    /// Checks the keys against the key of the stored data, and registers the
    /// current key where it may replace that.
    pub async fn check(
        keys: &MasterKeys,
        accept_new: AcceptNew,
        register: &dyn KeyRegister,
    ) -> Result<Self, MasterKeyError> {
        let ours = keys.current_id();
        let InstalledKey::Other(other) = register.install(&ours).await? else {
            return Ok(Self::Known);
        };

        let outcome = match accept_new {
            _ if keys.previous_id().as_ref() == Some(&other) => Self::Succeeded,
            AcceptNew::Yes => Self::Abandoned,
            AcceptNew::No => return Err(MasterKeyError::Other(other)),
        };

        match register.replace(&other, &ours).await? {
            KeyReplacementOutcome::Done => Ok(outcome),
            // A third key was registered meanwhile.
            KeyReplacementOutcome::Conflict => Err(MasterKeyError::Other(other)),
        }
    }
}

/// Policy for a key that does not match the stored data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AcceptNew {
    /// Replaces the key; the data of the old one is abandoned.
    Yes,
    /// Refuses another key, which stops the start.
    No,
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use async_trait::async_trait;
    use pia_kernel::Secret;

    use super::*;

    struct Register(Mutex<Option<String>>);

    #[async_trait]
    impl KeyRegister for Register {
        async fn install(&self, ours: &KeyId) -> Result<InstalledKey, Unavailable> {
            let mut register = self.0.lock().unwrap();
            let text = register.get_or_insert_with(|| ours.as_str().to_owned()).clone();
            let stored_id = KeyId::from_stored(text);
            Ok(if stored_id == *ours { InstalledKey::Ours } else { InstalledKey::Other(stored_id) })
        }

        async fn replace(
            &self,
            _: &KeyId,
            ours: &KeyId,
        ) -> Result<KeyReplacementOutcome, Unavailable> {
            *self.0.lock().unwrap() = Some(ours.as_str().to_owned());
            Ok(KeyReplacementOutcome::Done)
        }
    }

    fn keys(current: u8, previous: Option<u8>) -> MasterKeys {
        let key = |byte| Secret::new([byte; 32]);
        MasterKeys { current: key(current), previous: previous.map(key) }
    }

    async fn check(
        register: &Register,
        keys: MasterKeys,
    ) -> Result<KeyGuardOutcome, MasterKeyError> {
        KeyGuardOutcome::check(&keys, AcceptNew::No, register).await
    }

    #[tokio::test]
    async fn the_first_key_is_registered_and_known_afterwards() {
        let register = Register(Mutex::default());

        for _ in 0..2 {
            assert_eq!(check(&register, keys(1, None)).await.unwrap(), KeyGuardOutcome::Known);
        }
    }

    #[tokio::test]
    async fn another_key_is_refused_and_changes_nothing() {
        let register = Register(Mutex::default());
        check(&register, keys(1, None)).await.unwrap();

        let refusal = check(&register, keys(2, None)).await.unwrap_err().to_string();

        assert!(refusal.starts_with("SVC-ENC-001"), "{refusal}");
        assert_eq!(check(&register, keys(1, None)).await.unwrap(), KeyGuardOutcome::Known);
    }

    #[tokio::test]
    async fn a_key_that_names_its_predecessor_succeeds_it() {
        let register = Register(Mutex::default());
        check(&register, keys(1, None)).await.unwrap();

        let outcome = check(&register, keys(2, Some(1))).await.unwrap();

        assert_eq!(outcome, KeyGuardOutcome::Succeeded);
        assert_eq!(check(&register, keys(2, None)).await.unwrap(), KeyGuardOutcome::Known);
    }

    #[tokio::test]
    async fn old_data_is_abandoned_only_on_confirmation() {
        let register = Register(Mutex::default());
        check(&register, keys(1, None)).await.unwrap();

        let outcome =
            KeyGuardOutcome::check(&keys(2, None), AcceptNew::Yes, &register).await.unwrap();

        assert_eq!(outcome, KeyGuardOutcome::Abandoned);
        assert_eq!(check(&register, keys(2, None)).await.unwrap(), KeyGuardOutcome::Known);
    }
}
