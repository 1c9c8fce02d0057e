//! Rough origins of network addresses.

use std::net::IpAddr;

use pia_kernel::Language;

use crate::page_context::PageContext;
use crate::ui::Text;

/// Locations of IP addresses.
pub trait AddressLocations: Send + Sync {
    /// Returns the rough location of an address: `Vienna, Austria`. Names that
    /// the language lacks are English.
    fn location(&self, address: IpAddr, language: Language) -> Option<String>;
}

impl PageContext {
    /// Returns the address, with its rough origin if that is known; empty
    /// without an address.
    pub(crate) fn origin(&self, address: Option<IpAddr>) -> String {
        origin(self.language, address, self.locations.as_deref())
    }
}

fn origin(
    language: Language,
    address: Option<IpAddr>,
    locations: Option<&dyn AddressLocations>,
) -> String {
    let Some(address) = address.map(|it| it.to_canonical()) else { return String::new() };
    let is_local = match address {
        IpAddr::V4(it) => it.is_private() || it.is_link_local(),
        IpAddr::V6(it) => it.is_unique_local() || it.is_unicast_link_local(),
    };

    let address_text = address.to_string();
    if address.is_loopback() {
        SERVER.fill(language, &[&address_text])
    } else if is_local {
        LOCAL.fill(language, &[&address_text])
    } else {
        match locations.and_then(|it| it.location(address, language)) {
            Some(location) => format!("{location} ({address_text})"),
            None => address_text,
        }
    }
}

const SERVER: Text = Text::new("The server’s computer ({})", "Rechner des Servers ({})");
const LOCAL: Text = Text::new("Local network ({})", "Lokales Netzwerk ({})");

#[cfg(test)]
mod tests {
    use super::*;

    /// Locations that know every address.
    struct Everywhere;

    impl AddressLocations for Everywhere {
        fn location(&self, address: IpAddr, language: Language) -> Option<String> {
            Some(format!("{address} in {}", language.tag()))
        }
    }

    fn name(address: &str) -> String {
        origin(Language::En, address.parse().ok(), None)
    }

    fn located(language: Language, address: &str) -> String {
        origin(language, address.parse().ok(), Some(&Everywhere))
    }

    #[test]
    fn the_server_itself_and_its_network_are_named() {
        assert_eq!(name("127.0.0.1"), "The server’s computer (127.0.0.1)");
        assert_eq!(name("::1"), "The server’s computer (::1)");
        for local in ["10.1.2.3", "172.31.0.1", "192.168.1.7", "169.254.0.9", "fd00::7", "fe80::1"]
        {
            assert_eq!(name(local), format!("Local network ({local})"));
        }
        assert_eq!(name("::ffff:192.168.1.7"), "Local network (192.168.1.7)");
        let german = located(Language::De, "10.1.2.3");
        assert_eq!(german, "Lokales Netzwerk (10.1.2.3)");
    }

    #[test]
    fn other_addresses_have_no_origin_without_a_database() {
        for public in ["203.0.113.9", "172.32.0.1", "2001:db8::7", "fec0::1"] {
            assert_eq!(name(public), public);
        }
        assert_eq!(name(""), "");
    }

    #[test]
    fn other_addresses_have_the_location_of_the_database() {
        let english = located(Language::En, "::ffff:203.0.113.9");
        assert_eq!(english, "203.0.113.9 in en (203.0.113.9)");
        let german = located(Language::De, "2001:db8::7");
        assert_eq!(german, "2001:db8::7 in de (2001:db8::7)");
        assert_eq!(located(Language::En, "::1"), "The server’s computer (::1)");
        assert_eq!(located(Language::En, ""), "");
    }
}
