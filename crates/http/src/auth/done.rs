//! Response of actions that return nothing else.

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
