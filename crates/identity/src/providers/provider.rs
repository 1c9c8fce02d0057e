//! Supported identity providers.

use pia_kernel::named_variants;
use serde::{Deserialize, Serialize};

named_variants! {
    /// An identity provider, with its name in the settings, on the wire and in the
    /// database.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub enum Provider {
        /// Google, for accounts of any domain.
        Google = "google",
        /// Microsoft accounts, of companies and private users.
        Microsoft = "microsoft",
        /// A company's tenant at Microsoft.
        EntraId = "entraid",
        /// Any other provider with OpenID Connect discovery.
        Oidc = "oidc",
    }
}

impl Provider {
    /// Returns the provider with this name, case-insensitively.
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.name().eq_ignore_ascii_case(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn providers_are_parsed_by_their_exact_names() {
        for provider in Provider::ALL {
            assert_eq!(Provider::of_name(provider.name()), Some(provider));
            assert_eq!(Provider::of_name(&provider.name().to_uppercase()), Some(provider));
        }
        for name in ["", "local", "google ", "entra", "github"] {
            assert_eq!(Provider::of_name(name), None, "{name}");
        }
    }
}
