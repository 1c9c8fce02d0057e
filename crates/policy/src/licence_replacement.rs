//! Replacement of the licence by administrators.

use std::sync::Arc;

use pia_kernel::{Clock, EffectWriter, SideEffects, UserId};

use crate::licence::Licence;
use crate::service::{InstallError, LicenceService};

/// Use case with which administrators replace the licence.
#[derive(Clone)]
pub struct LicenceReplacement {
    licences: Arc<dyn LicenceService>,
    effects: Arc<dyn EffectWriter>,
    clock: Arc<dyn Clock>,
}

impl LicenceReplacement {
    /// Creates the use case.
    pub fn new(
        licences: Arc<dyn LicenceService>,
        effects: Arc<dyn EffectWriter>,
        clock: Arc<dyn Clock>,
    ) -> Self {
        Self { licences, effects, clock }
    }

    /// Replaces the licence, with the administrator's audit entry. The licence
    /// is in a file, so it stays replaced if the entry cannot be written.
    pub async fn replace(&self, by: UserId, text: &[u8]) -> Result<Licence, InstallError> {
        let licence = self.licences.replace(text).await?;
        let object = format!("licence:{}", licence.id);
        let effects =
            SideEffects::of_object(self.clock.now(), Some(by), object, "Licence.Replaced");
        self.effects.write(&effects).await?;
        Ok(licence)
    }
}
