//! Where an address leads whoever fetches it.

use std::net::{Ipv4Addr, Ipv6Addr};

use url::{Host, Url};

/// The last parts of names that are given within one network alone.
const WITHIN: [&str; 9] =
    ["localhost", "local", "localdomain", "internal", "intranet", "lan", "home", "corp", "arpa"];

/// Schemes of which many readers take the host from behind any slashes.
const SPECIAL: [&str; 6] = ["http", "https", "ws", "wss", "ftp", "file"];

/// Whether it may lead to something that only those within a network reach. Of
/// a name it is told by the name alone: who resolves it is not asked. An
/// address that readers take for different hosts may lead to each of them.
pub(crate) fn may_lie_within(address: &str) -> bool {
    let Some(host) = plain_host(address) else { return true };
    let Ok(url) = Url::parse(address) else { return true };
    match url.host() {
        Some(Host::Domain(name)) => {
            let name = name.trim_end_matches('.');
            name.rsplit_once('.').is_none_or(|(_, last)| WITHIN.contains(&last))
        }
        // Written in octal, in hex, or short, it is another one to some.
        Some(Host::Ipv4(address)) => host != address.to_string() || !is_public(address),
        Some(Host::Ipv6(address)) => !is_public_v6(address),
        None => true,
    }
}

/// Whether a text is meant as an address: it begins as one does. Two slashes
/// alone do not make it one, as sounds in Base64 begin with them too.
pub(crate) fn is_address(text: &str) -> bool {
    let text = text.trim_start_matches(|it: char| it.is_whitespace() || it.is_control());
    if let Some(rest) = text.strip_prefix(['/', '\\']) {
        let Some(rest) = rest.strip_prefix(['/', '\\']) else { return false };
        let host = rest.split(['/', '\\']).next().unwrap_or_default();
        let named = host.contains(['.', ':']) || host.eq_ignore_ascii_case("localhost");
        return named || text.get(..2).is_some_and(|it| it.contains('\\'));
    }
    // Some take out line breaks and tabs, wherever they are.
    let text: String = text.chars().filter(|it| !it.is_control()).take(64).collect();
    let Some((scheme, rest)) = text.split_once(':') else { return false };
    let is_scheme = scheme.starts_with(|it: char| it.is_ascii_alphabetic())
        && scheme.chars().all(|it| it.is_ascii_alphanumeric() || matches!(it, '+' | '-' | '.'));
    let is_special = SPECIAL.iter().any(|it| it.eq_ignore_ascii_case(scheme));
    is_scheme && (is_special || rest.starts_with(['/', '\\']))
}

/// The host of an address of the web, as it is written, with its port; nothing
/// where readers may differ about it.
fn plain_host(address: &str) -> Option<&str> {
    let is_odd = |it: char| it.is_whitespace() || it.is_control() || it == '\\';
    if address.contains(is_odd) {
        return None;
    }
    let (scheme, rest) = address.split_once("://")?;
    if !["http", "https"].iter().any(|it| it.eq_ignore_ascii_case(scheme)) {
        return None;
    }
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (host, rest) = rest.split_at(end);
    // Whom one signs in as, or what hides a sign.
    let hides = host.contains(['@', '%']) || !rest.starts_with('/') && rest.contains('@');
    if host.is_empty() || hides {
        return None;
    }
    if host.starts_with('[') {
        return Some(host);
    }
    Some(host.split_once(':').map_or(host, |(host, _port)| host))
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
            "https://8.8.8.8:8443",
            "https://example.com?a=b#c",
            "https://example.com/@someone/x%20y?z=a@b",
            "https://b\u{fc}cher.example/x.png",
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

    #[test]
    fn what_readers_take_for_different_hosts_may_lie_within() {
        for odd in [
            r"http://ex.com\@10.0.0.1/",
            r"http:\\10.0.0.1\",
            "http://ex.com@10.0.0.1/",
            "http://ex.com:80@10.0.0.1/",
            "http://someone@example.com/",
            "http://@example.com/",
            "http://ex.com#@10.0.0.1/",
            "http://ex.com?@10.0.0.1/",
            "http://ex.com%2f@10.0.0.1/",
            "http://ex%2ecom/",
            "http://%31%30.0.0.1/",
            "http://ex.com/ @10.0.0.1/",
            "http://ex.com\t/",
            "http://ex.com/\u{7f}",
            "http:/10.0.0.1/",
            "http:10.0.0.1",
            "http:///10.0.0.1/",
            "http:example.com",
            "http://010.0.0.1/",
            "http://8.8.8.010/",
            "http://0x08.8.8.8/",
            "http://8.8.2056/",
            "http://134744072/",
            "http://8.8.8.8./",
            "http://8.8.8.0x8/",
        ] {
            assert!(may_lie_within(odd), "{odd}");
        }
    }

    #[test]
    fn an_address_is_told_from_a_text_by_its_beginning() {
        for address in [
            "http://h",
            "HTTPS:h",
            " \u{a0}http://h",
            "ht\ntp://h",
            "//h.example/x",
            "//10.0.0.1",
            "//[::1]/x",
            "//LocalHost/x",
            r"/\h/x",
            r"\\h\x",
            "gs://bucket/x",
            "file:///etc/passwd",
            "made-up+1.0:/x",
        ] {
            assert!(is_address(address), "{address}");
        }
        for text in [
            "",
            "file-7",
            "note: see http://h",
            "a/b",
            "/x",
            "7:/x",
            "AAAA+/==",
            "//uQxAAAAAAA/AA==",
            "////AP//",
            "see //h",
            "a:b",
        ] {
            assert!(!is_address(text), "{text}");
        }
    }
}
