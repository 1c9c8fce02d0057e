//! Where an address leads whoever fetches it.

use std::net::{Ipv4Addr, Ipv6Addr};

use url::{Host, Url};

/// The last parts of names that are given within one network alone.
const WITHIN: [&str; 9] =
    ["localhost", "local", "localdomain", "internal", "intranet", "lan", "home", "corp", "arpa"];

/// Whether it may lead to something that only those within a network reach. Of
/// a name it is told by the name alone: who resolves it is not asked.
pub(crate) fn may_lie_within(address: &str) -> bool {
    let Ok(url) = Url::parse(address) else { return true };
    if !matches!(url.scheme(), "http" | "https") {
        return true;
    }
    match url.host() {
        Some(Host::Domain(name)) => {
            let name = name.trim_end_matches('.');
            name.rsplit_once('.').is_none_or(|(_, last)| WITHIN.contains(&last))
        }
        Some(Host::Ipv4(address)) => !is_public(address),
        Some(Host::Ipv6(address)) => !is_public_v6(address),
        None => true,
    }
}

/// RFC 6890 and what came after it.
fn is_public(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    let shared = a == 100 && (64..128).contains(&b);
    let protocols = (a, b, c) == (192, 0, 0);
    let benchmarks = a == 198 && (18..20).contains(&b);
    !(a == 0
        || a >= 224
        || shared
        || protocols
        || benchmarks
        || address.is_private()
        || address.is_loopback()
        || address.is_link_local())
}

/// Of version 6 only what is handed out to the public, and holds no address of
/// version 4.
fn is_public_v6(address: Ipv6Addr) -> bool {
    let [first, second, ..] = address.segments();
    let global = (0x2000..0x4000).contains(&first);
    let translated = first == 0x2002 || (first == 0x2001 && second == 0);
    global && !translated
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_public_reaches_is_told_from_what_lies_within() {
        for public in [
            "https://example.com/cat.png",
            "HTTP://Pictures.Example.ORG:8080/x?y=z",
            "https://8.8.8.8/x",
            "https://[2606:4700::1111]/x",
        ] {
            assert!(!may_lie_within(public), "{public}");
        }
        for within in [
            "http://localhost:11434/",
            "http://qdrant:6333/collections",
            "http://metadata.google.internal./x",
            "http://printer.LOCAL",
            "http://router.home.arpa/",
            "http://127.0.0.1/",
            "http://2130706433/",
            "http://0x7f.1/",
            " http://169.254.169.254/latest",
            "http://10.0.0.8",
            "http://172.16.0.1",
            "http://192.168.1.1",
            "http://100.100.0.1",
            "http://0.0.0.0",
            "http://[::1]/",
            "http://[::ffff:10.0.0.1]/",
            "http://[fd00::1]/",
            "http://[fe80::1]/",
            "http://[2002:7f00:1::]/",
            "http://[64:ff9b::7f00:1]/",
            "file:///etc/passwd",
            "ftp://example.com/x",
            "gs://bucket/x",
            "//example.com/x",
            "nonsense",
            "",
        ] {
            assert!(may_lie_within(within), "{within}");
        }
    }
}
