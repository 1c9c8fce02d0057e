//! Response of actions without another result.

use serde::Serialize;
use utoipa::ToSchema;

#[derive(Serialize, ToSchema)]
pub(crate) struct Done {
    success: bool,
}

impl Done {
    pub(crate) fn success() -> Self {
        Self { success: true }
    }
}
