//! Supported identity providers.

use serde::{Deserialize, Serialize};

/// An identity provider, as named in settings and requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Provider {
    /// Google, for accounts of any domain.
    Google,
    /// Microsoft accounts, of companies and private users.
    Microsoft,
    /// A company's tenant at Microsoft.
    EntraId,
    /// Any other provider with OpenID Connect discovery.
    Oidc,
}

impl Provider {
    /// All providers that the settings may configure.
    pub const ALL: [Self; 4] = [Self::Google, Self::Microsoft, Self::EntraId, Self::Oidc];

    /// Returns the name in the settings, on the wire and in the database.
    pub fn name(self) -> &'static str {
        match self {
            Self::Google => "google",
            Self::Microsoft => "microsoft",
            Self::EntraId => "entraid",
            Self::Oidc => "oidc",
        }
    }

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
