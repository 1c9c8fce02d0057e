//! Facts about a device that signs in.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};

use pia_kernel::truncate;

/// Longer texts are cut: they are there to be recognised by people.
const MAX_NAME_CHARS: usize = 128;
/// Maximum length of a stored user agent; browsers send longer ones.
const MAX_USER_AGENT_CHARS: usize = 256;

/// Self-description of a device, and the address it calls from.
///
/// All of it but the address is a claim, stored so that people recognise their
/// devices. Nothing is decided by it but whether they are notified of a new one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SignInDevice {
    /// The id that the app gave itself.
    pub device_id: Option<String>,
    /// The version of the app.
    pub app_version: Option<String>,
    /// The operating system and its version.
    pub os_version: Option<String>,
    /// The program that calls, as programs name themselves.
    pub user_agent: Option<String>,
    /// From where it calls.
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

    /// From which network it calls.
    pub fn network(&self) -> Option<Network> {
        self.address.map(Network::from_address)
    }
}

/// Network of an address: itself, or of IPv6 the /64 that one household is
/// assigned as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Network(IpAddr);

impl Network {
    /// The network of an address.
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
    let presented: String = text?.chars().filter(|it| !it.is_control()).collect();
    let short = truncate(presented.trim(), max).trim_end();
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
    fn what_is_stated_is_stored_without_what_cannot_be_displayed() {
        assert_eq!(tidied(" 1.4.278.0\t").as_deref(), Some("1.4.278.0"));
        assert_eq!(tidied("Win\0dows\u{1b}[31m").as_deref(), Some("Windows[31m"));
        assert_eq!(tidied("größer ✓").as_deref(), Some("größer ✓"));
    }

    #[test]
    fn what_states_nothing_is_absent() {
        for text in ["", "   ", "\u{7f}\u{85}\0"] {
            assert_eq!(tidied(text), None, "{text:?}");
        }
    }

    #[test]
    fn long_texts_are_cut_by_characters() {
        assert_eq!(tidied(&"ü".repeat(10_000)), Some("ü".repeat(128)));
        let agent =
            SignInDevice { user_agent: Some("x".repeat(10_000)), ..SignInDevice::default() }.tidy();
        assert_eq!(agent.user_agent, Some("x".repeat(256)));
    }

    #[test]
    fn an_address_has_one_form() {
        let address = Some("::ffff:192.0.2.1".parse().unwrap());

        let device = SignInDevice { address, ..SignInDevice::default() }.tidy();

        assert_eq!(device.address.map(|it| it.to_string()).as_deref(), Some("192.0.2.1"));
    }
    #[test]
    fn neighbours_in_one_ipv6_network_are_one() {
        let network = |text: &str| Network::from_address(text.parse().unwrap()).to_string();

        assert_eq!(network("2001:db8:1:2:ffff::9"), "2001:db8:1:2::/64");
        assert_eq!(network("::ffff:192.0.2.1"), "192.0.2.1");
    }
}
