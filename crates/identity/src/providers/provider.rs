//! The identity providers there may be.

use serde::{Deserialize, Serialize};

/// An identity provider, as operators set it up and clients ask for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Provider {
    /// Google's accounts.
    Google,
    /// Microsoft's, of companies and of private people.
    Microsoft,
    /// Company's tenant at Microsoft.
    EntraId,
    /// Any other provider with OpenID Connect discovery.
    Oidc,
}

impl Provider {
    /// All there are.
    pub const ALL: [Self; 4] = [Self::Google, Self::Microsoft, Self::EntraId, Self::Oidc];

    /// Name in the settings, on the wire and in the database.
    pub fn name(self) -> &'static str {
        match self {
            Self::Google => "google",
            Self::Microsoft => "microsoft",
            Self::EntraId => "entraid",
            Self::Oidc => "oidc",
        }
    }

    /// The provider with this name, in any case.
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.name().eq_ignore_ascii_case(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_provider_is_known_by_its_name_alone() {
        for provider in Provider::ALL {
            assert_eq!(Provider::of_name(provider.name()), Some(provider));
            assert_eq!(Provider::of_name(&provider.name().to_uppercase()), Some(provider));
        }
        for name in ["", "local", "google ", "entra", "github"] {
            assert_eq!(Provider::of_name(name), None, "{name}");
        }
    }
}
