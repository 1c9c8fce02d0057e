//! Examples of bodies for the OpenAPI document.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use crate::routes::Route;

/// Examples of requests and responses, each by method and path: `POST
/// /api/ai/chat`.
#[derive(Debug, Default)]
pub struct Examples(BTreeMap<String, Example>);

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Example {
    /// Example of a request body.
    pub(crate) request: Option<Value>,
    /// Example of a successful response, in JSON.
    pub(crate) response: Option<Value>,
}

impl Examples {
    /// Parses examples from texts of JSON objects.
    pub fn parse<'a>(texts: impl IntoIterator<Item = &'a str>) -> Result<Self, serde_json::Error> {
        let mut examples = BTreeMap::new();
        for text in texts {
            examples.append(&mut serde_json::from_str(text)?);
        }
        Ok(Self(examples))
    }

    /// Returns the routes that have an example, by method and path.
    pub fn routes(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    pub(crate) fn find(&self, route: &Route) -> Option<&Example> {
        self.0.get(&format!("{} {}", route.method, route.path))
    }
}
