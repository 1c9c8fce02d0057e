//! Device and network that a sign-in comes from.
//!
//! `web/src/device.rs` fills a `SignInDevice` from the request; `tidy` bounds
//! its texts before they are stored. The `Network` also selects the count of
//! wrong passwords (`passwords/throttle.rs`).

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};

use pia_kernel::truncate;

/// Maximum length of a stored text; longer ones are truncated.
const MAX_NAME_CHARS: usize = 128;
/// Maximum length of a stored user agent; browsers send longer ones.
const MAX_USER_AGENT_CHARS: usize = 256;

/// Self-description of a device, and the address it calls from.
///
/// Everything but the address is unverified, and stored so that users recognise their devices. It
/// only decides whether they are notified of a new device.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SignInDevice {
    /// Id chosen by the app.
    pub device_id: Option<String>,
    /// Version that the app reports.
    pub app_version: Option<String>,
    /// Operating system and its version.
    pub os_version: Option<String>,
    /// User agent header of the program.
    pub user_agent: Option<String>,
    /// Address that it calls from.
    pub address: Option<IpAddr>,
}

impl SignInDevice {
    /// Returns the device with texts that can be stored and displayed: without
    /// control characters, of bounded length, and absent rather than empty.
    pub(crate) fn tidy(self) -> Self {
        Self {
            device_id: tidy(self.device_id, MAX_NAME_CHARS),
            app_version: tidy(self.app_version, MAX_NAME_CHARS),
            os_version: tidy(self.os_version, MAX_NAME_CHARS),
            user_agent: tidy(self.user_agent, MAX_USER_AGENT_CHARS),
            address: self.address.map(|it| it.to_canonical()),
        }
    }

    /// Returns the network that it calls from.
    pub fn network(&self) -> Option<Network> {
        self.address.map(Network::from_address)
    }
}

/// Network of an address: the address itself, or for IPv6 the /64 that one household is assigned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Network(IpAddr);

impl Network {
    /// Returns the network of an address.
    pub fn from_address(address: IpAddr) -> Self {
        Self(match address.to_canonical() {
            IpAddr::V6(address) => {
                let upper = u128::from(address) >> 64 << 64;
                IpAddr::V6(Ipv6Addr::from(upper))
            }
            v4 @ IpAddr::V4(_) => v4,
        })
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            IpAddr::V4(address) => address.fmt(f),
            IpAddr::V6(upper) => write!(f, "{upper}/64"),
        }
    }
}

fn tidy(text: Option<String>, max: usize) -> Option<String> {
    let printable: String = text?.chars().filter(|it| !it.is_control()).collect();
    let short = truncate(printable.trim(), max).trim_end();
    (!short.is_empty()).then(|| short.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tidied(text: &str) -> Option<String> {
        SignInDevice { app_version: Some(text.to_owned()), ..SignInDevice::default() }
            .tidy()
            .app_version
    }

    #[test]
    fn control_characters_are_removed() {
        assert_eq!(tidied(" 1.4.278.0\t").as_deref(), Some("1.4.278.0"));
        assert_eq!(tidied("Win\0dows\u{1b}[31m").as_deref(), Some("Windows[31m"));
        assert_eq!(tidied("größer ✓").as_deref(), Some("größer ✓"));
    }

    #[test]
    fn blank_texts_become_none() {
        for text in ["", "   ", "\u{7f}\u{85}\0"] {
            assert_eq!(tidied(text), None, "{text:?}");
        }
    }

    #[test]
    fn long_texts_are_truncated_by_characters() {
        assert_eq!(tidied(&"ü".repeat(10_000)), Some("ü".repeat(128)));
        let agent =
            SignInDevice { user_agent: Some("x".repeat(10_000)), ..SignInDevice::default() }.tidy();
        assert_eq!(agent.user_agent, Some("x".repeat(256)));
    }

    #[test]
    fn an_address_is_stored_in_its_canonical_form() {
        let address = Some("::ffff:192.0.2.1".parse().unwrap());

        let device = SignInDevice { address, ..SignInDevice::default() }.tidy();

        assert_eq!(device.address.map(|it| it.to_string()).as_deref(), Some("192.0.2.1"));
    }

    #[test]
    fn ipv6_addresses_are_grouped_by_network() {
        let network = |text: &str| Network::from_address(text.parse().unwrap()).to_string();

        assert_eq!(network("2001:db8:1:2:ffff::9"), "2001:db8:1:2::/64");
        assert_eq!(network("::ffff:192.0.2.1"), "192.0.2.1");
    }
}
