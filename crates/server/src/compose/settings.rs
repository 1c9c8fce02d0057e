//! Settings that administrators change, over their adapters.

use std::sync::Arc;

use pia_policy::SettingOverrides;
use pia_settings::Sources;
use pia_storage_policy::SqlSettingOverrides;

use super::ComposeError;
use super::infrastructure::Infrastructure;
use crate::bridges::RunningConfig;

/// Composes the use case and applies the stored changes: before anything is
/// served, as a change may disable what a file enables.
pub(super) async fn compose(
    base: &Infrastructure<'_>,
    sources: &Sources,
) -> Result<SettingOverrides, ComposeError> {
    let store = Arc::new(SqlSettingOverrides::new(base.db.clone()));
    let running = RunningConfig::new(Arc::clone(base.config), sources.clone());
    let settings = SettingOverrides::new(store, Arc::new(running), base.clock());
    settings.refresh().await.map_err(ComposeError::Settings)?;
    Ok(settings)
}
