//! Addresses of the public internet. Requests to others could reach services of
//! this network that trust it.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use tokio::net::lookup_host;

/// Resolver that returns public addresses only. Connections use exactly those, so
/// that a name cannot change its meaning in between.
#[derive(Debug)]
pub(crate) struct PublicResolver;

impl Resolve for PublicResolver {
    fn resolve(&self, name: Name) -> Resolving {
        Box::pin(async move {
            let addresses = lookup_host((name.as_str(), 0)).await?;
            let public: Vec<SocketAddr> = addresses.filter(|it| is_public(it.ip())).collect();
            if public.is_empty() {
                return Err(NotPublic.into());
            }
            Ok(Box::new(public.into_iter()) as Addrs)
        })
    }
}

/// Error for a host without a public address.
#[derive(Debug, thiserror::Error)]
#[error("the host has no address on the public internet")]
struct NotPublic;

/// Returns whether an address belongs to the public internet.
pub(crate) fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(it) => is_public_v4(it),
        IpAddr::V6(it) => is_public_v6(it),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [first, second, third, _] = address.octets();
    let is_reserved = match first {
        0 | 240..=255 => true,
        100 => (64..128).contains(&second),
        192 => second == 0 && third == 0,
        198 => matches!(second, 18 | 19),
        _ => false,
    };

    !(is_reserved
        || address.is_private()
        || address.is_loopback()
        || address.is_link_local()
        || address.is_multicast()
        || address.is_documentation())
}

/// Returns whether an address is global unicast, and does not contain an IPv4
/// address that is not public.
fn is_public_v6(address: Ipv6Addr) -> bool {
    let [first, second, third, _, _, _, seventh, eighth] = address.segments();
    let v4 = |high: u16, low: u16| Ipv4Addr::from((u32::from(high) << 16) | u32::from(low));
    match (first, second) {
        (0x64, 0xff9b) => is_public_v4(v4(seventh, eighth)),
        (0x2002, _) => is_public_v4(v4(second, third)),
        // Protocol assignments, such as Teredo, and documentation.
        (0x2001, 0..=0x1ff | 0xdb8) | (0x3fff, 0..=0xfff) => false,
        (0x2000..=0x3fff, _) => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_private_networks_are_not_public() {
        for private in [
            "0.0.0.0",
            "10.0.0.1",
            "100.64.0.1",
            "127.1.2.3",
            "169.254.169.254",
            "172.31.0.1",
            "192.0.0.8",
            "192.0.2.1",
            "192.168.0.1",
            "198.19.0.1",
            "224.0.0.1",
            "240.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::ffff:10.0.0.1",
            "::ffff:8.8.8.8",
            "::10.0.0.1",
            "64:ff9b::7f00:1",
            "2002:a00:1::",
            "2001::1",
            "2001:db8::1",
            "fc00::1",
            "fe80::1",
            "ff02::1",
        ] {
            assert!(!is_public(private.parse().unwrap()), "{private}");
        }
        for public in
            ["8.8.8.8", "100.63.0.1", "192.0.1.1", "2606:4700::1111", "64:ff9b::808:808", "2a00::1"]
        {
            assert!(is_public(public.parse().unwrap()), "{public}");
        }
    }
}
