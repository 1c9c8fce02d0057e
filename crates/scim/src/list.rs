//! Lists: their queries and responses.

use serde::Deserialize;
use serde_json::{Value, json};

/// Number of resources in a response where the query names none.
const DEFAULT_COUNT: i64 = 100;
/// Maximum number of resources in a response.
pub(crate) const MAX_COUNT: i64 = 200;

/// Query of a list or a resource. Sorting is not supported, and not refused.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ScimQuery {
    pub(crate) filter: Option<String>,
    pub(crate) start_index: Option<i64>,
    pub(crate) count: Option<i64>,
    pub(crate) attributes: Option<String>,
    pub(crate) excluded_attributes: Option<String>,
}

impl ScimQuery {
    /// Returns the number of resources that are skipped.
    pub(crate) fn offset(&self) -> u32 {
        let start = self.start_index.unwrap_or(1).clamp(1, i64::from(u32::MAX));
        u32::try_from(start - 1).unwrap_or(u32::MAX)
    }

    /// Returns the maximum number of resources in the response.
    pub(crate) fn limit(&self) -> u32 {
        let count = self.count.unwrap_or(DEFAULT_COUNT).clamp(0, MAX_COUNT);
        u32::try_from(count).unwrap_or_default()
    }

    /// Returns the response with a page of the resources, of which there are
    /// `total`.
    pub(crate) fn page(&self, total: u64, resources: &[Value]) -> Value {
        json!({
            "schemas": ["urn:ietf:params:scim:api:messages:2.0:ListResponse"],
            "totalResults": total,
            "startIndex": u64::from(self.offset()) + 1,
            "itemsPerPage": resources.len(),
            "Resources": resources,
        })
    }
}
