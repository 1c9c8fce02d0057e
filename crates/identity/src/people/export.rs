//! Export of users' data.

use std::sync::Arc;

use pia_kernel::{
    Clock, Cursor, ExportPage, Inventory, PersonalData, SideEffects, Timestamp, Unavailable, UserId,
};

use crate::people::accounts::AccountError;

/// Exports of users' data, page by page.
#[derive(Clone)]
pub struct AccountExport {
    data: Arc<dyn PersonalData>,
    clock: Arc<dyn Clock>,
}

/// An export whose sections are sent one after another.
#[derive(Clone)]
pub struct StartedExport {
    /// Account that is exported.
    pub user: UserId,
    /// Time of the request, which the export's manifest states.
    pub at: Timestamp,
    /// Sections of the export, in the order in which they are sent.
    pub inventory: Inventory,
    data: Arc<dyn PersonalData>,
}

impl AccountExport {
    /// Creates exports of this data.
    pub fn new(data: Arc<dyn PersonalData>, clock: Arc<dyn Clock>) -> Self {
        Self { data, clock }
    }

    /// Starts an export and records it in the owner's audit log.
    pub async fn begin(&self, user: UserId) -> Result<StartedExport, AccountError> {
        let at = self.clock.now();
        let export_effects = SideEffects::audit(at, user, "account.exported");
        if !self.data.begin_export(user, export_effects).await? {
            return Err(AccountError::Gone);
        }
        let inventory = self.data.inventory();
        let data = Arc::clone(&self.data);
        Ok(StartedExport { user, at, inventory, data })
    }
}

impl StartedExport {
    /// Returns a page of a section of the inventory.
    pub async fn page(
        &self,
        section: &'static str,
        after: Option<Cursor>,
    ) -> Result<ExportPage, Unavailable> {
        self.data.page(self.user, section, after).await
    }
}
