//! Telling people all that is stored of them.

use std::sync::Arc;

use pia_kernel::{
    Clock, Cursor, ExportPage, Inventory, PersonalData, SideEffects, Timestamp, Unavailable, UserId,
};

use crate::people::accounts::AccountError;

/// People's exports of what is stored of them, reported page by page.
#[derive(Clone)]
pub struct AccountExport {
    data: Arc<dyn PersonalData>,
    clock: Arc<dyn Clock>,
}

/// An export that has begun.
#[derive(Clone)]
pub struct StartedExport {
    /// Account id.
    pub user: UserId,
    /// Time at which it began.
    pub at: Timestamp,
    /// Sections of the export.
    pub inventory: Inventory,
    data: Arc<dyn PersonalData>,
}

impl AccountExport {
    /// Exports of this data.
    pub fn new(data: Arc<dyn PersonalData>, clock: Arc<dyn Clock>) -> Self {
        Self { data, clock }
    }

    /// Begins an export, which its owner's audit entries tell from then on.
    pub async fn begin(&self, user: UserId) -> Result<StartedExport, AccountError> {
        let at = self.clock.now();
        let exported = SideEffects::audit(at, user, "account.exported");
        if !self.data.begin_export(user, exported).await? {
            return Err(AccountError::Gone);
        }
        let (inventory, data) = (self.data.inventory(), Arc::clone(&self.data));
        Ok(StartedExport { user, at, inventory, data })
    }
}

impl StartedExport {
    /// A page of one of the inventory's sections.
    pub async fn page(
        &self,
        section: &'static str,
        after: Option<Cursor>,
    ) -> Result<ExportPage, Unavailable> {
        self.data.page(self.user, section, after).await
    }
}
