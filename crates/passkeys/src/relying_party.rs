//! Relying party of passkeys: the server, by its URL.

use webauthn_rs::prelude::Url;

/// Reasons why passkeys are unavailable at a URL.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PasskeysUnavailable {
    /// Host is an IP address, but passkeys are bound to names.
    #[error("its host is an IP address, and passkeys require a domain name")]
    IpAddress,
    /// URL is not https, nor on localhost.
    #[error("it isn't an https URL, which browsers require for passkeys except on localhost")]
    Readable,
    /// URL is invalid or of an unsupported scheme.
    #[error("it isn't a URL that browsers open")]
    Unknown,
}

/// Name that passkeys are bound to, and the origin that they are used at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RelyingParty {
    pub(crate) id: String,
    pub(crate) origin: Url,
}

impl RelyingParty {
    /// Returns the relying party of a server at this public URL; its path is ignored.
    pub(crate) fn at(public_url: &str) -> Result<Self, PasskeysUnavailable> {
        let url = Url::parse(public_url).map_err(|_err| PasskeysUnavailable::Unknown)?;
        if url.host_str().is_none_or(str::is_empty) {
            return Err(PasskeysUnavailable::Unknown);
        }

        let id = url.domain().ok_or(PasskeysUnavailable::IpAddress)?.to_owned();
        let is_local = id == "localhost" || id.ends_with(".localhost");

        match url.scheme() {
            "https" => {}
            "http" if is_local => {}
            "http" => return Err(PasskeysUnavailable::Readable),
            _ => return Err(PasskeysUnavailable::Unknown),
        }

        // Without the path: origins have none.
        let origin = Url::parse(&url.origin().ascii_serialization())
            .map_err(|_err| PasskeysUnavailable::Unknown)?;

        Ok(Self { id, origin })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn party(url: &str) -> Result<(String, String), PasskeysUnavailable> {
        RelyingParty::at(url).map(|it| (it.id, it.origin.to_string()))
    }

    #[test]
    fn passkeys_are_bound_to_the_host_and_used_at_the_origin() {
        for (url, id, origin) in [
            ("https://pia.example.com", "pia.example.com", "https://pia.example.com/"),
            (
                "https://Pia.example.com:8443/pia",
                "pia.example.com",
                "https://pia.example.com:8443/",
            ),
            ("https://pia.example.com:443", "pia.example.com", "https://pia.example.com/"),
            ("https://bücher.example", "xn--bcher-kva.example", "https://xn--bcher-kva.example/"),
            ("http://localhost:8080", "localhost", "http://localhost:8080/"),
            ("http://pia.localhost:8080", "pia.localhost", "http://pia.localhost:8080/"),
        ] {
            assert_eq!(party(url), Ok((id.to_owned(), origin.to_owned())), "{url}");
        }
    }

    #[test]
    fn addresses_without_a_name_or_without_tls_have_none() {
        for (url, reason) in [
            ("http://127.0.0.1:8080", PasskeysUnavailable::IpAddress),
            ("https://[::1]:8080", PasskeysUnavailable::IpAddress),
            ("https://192.0.2.1", PasskeysUnavailable::IpAddress),
            ("http://pia.example.com", PasskeysUnavailable::Readable),
            ("http://notlocalhost", PasskeysUnavailable::Readable),
            ("ftp://pia.example.com", PasskeysUnavailable::Unknown),
            ("pia.example.com", PasskeysUnavailable::Unknown),
            ("", PasskeysUnavailable::Unknown),
        ] {
            assert_eq!(party(url), Err(reason), "{url}");
        }
    }
}
