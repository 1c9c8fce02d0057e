//! Names of programs, from their user agents.

/// Browsers by a part of their user agent. The first match counts, since most
/// of them claim to be others as well.
const BROWSERS: [(&str, &str); 6] = [
    ("Edg", "Edge"),
    ("OPR/", "Opera"),
    ("Firefox/", "Firefox"),
    ("Chromium/", "Chromium"),
    ("Chrome/", "Chrome"),
    ("Safari/", "Safari"),
];
/// Operating systems by a part of the user agent; the first match counts.
const SYSTEMS: [(&str, &str); 6] = [
    ("Windows", "Windows"),
    ("Android", "Android"),
    ("iPhone", "iOS"),
    ("iPad", "iPadOS"),
    ("Mac OS", "macOS"),
    ("Linux", "Linux"),
];

/// Maximum length of the name of an unknown program.
const MAX_PRODUCT_CHARS: usize = 24;

/// Returns a program's display name: `Firefox, Windows`.
///
/// Anybody can cause an email and choose a user agent. So only known names are
/// displayed, or else a single word, which cannot be the address of a website.
pub(super) fn program(agent: &str) -> Option<String> {
    let browser = if agent.starts_with("Mozilla/") { name_in(&BROWSERS, agent) } else { None };
    let product = match browser {
        Some(name) => name.to_owned(),
        None => word(agent)?,
    };

    Some(match name_in(&SYSTEMS, agent) {
        Some(system) => format!("{product}, {system}"),
        None => product,
    })
}

/// Returns the first name whose part is in a user agent.
fn name_in(names: &[(&str, &'static str)], agent: &str) -> Option<&'static str> {
    let (_, name) = names.iter().find(|(part, _)| agent.contains(part))?;
    Some(*name)
}

/// Returns the product name of a program that is not a browser.
fn word(agent: &str) -> Option<String> {
    let word = agent.split(['/', ' ', '(']).next().unwrap_or_default();
    let is_plain = word.chars().all(|it| it.is_ascii_alphanumeric() || it == '-');
    let fits = !word.is_empty() && word.len() <= MAX_PRODUCT_CHARS;
    (is_plain && fits && word != "Mozilla").then(|| word.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_has_its_usual_name() {
        let windows = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like \
                       Gecko) Chrome/141.0.0.0 Safari/537.36";
        let mac = "Mozilla/5.0 (Macintosh; Intel Mac OS X 14_5) AppleWebKit/605.1.15 (KHTML, like \
                   Gecko) Version/17.5 Safari/605.1.15";
        for (agent, expected) in [
            (windows, "Chrome, Windows"),
            (&*format!("{windows} Edg/141.0.0.0"), "Edge, Windows"),
            (mac, "Safari, macOS"),
            (
                "Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0",
                "Firefox, Linux",
            ),
            ("PiaDesktop/1.4.2 (Windows NT 10.0)", "PiaDesktop, Windows"),
            ("curl/8.1", "curl"),
        ] {
            assert_eq!(program(agent).as_deref(), Some(expected), "{agent}");
        }
    }

    #[test]
    fn invented_user_agents_are_not_displayed() {
        for agent in [
            "",
            "Your account is blocked: call 555 1234",
            "evil.example/x",
            "https://evil.example",
            "<b>bold</b>",
            "a\r\nBcc: eve@example.org",
            "Mozilla/5.0 visit evil.example",
            "abcdefghijklmnopqrstuvwxyz",
        ] {
            let name = program(agent).unwrap_or_default();
            assert!(!name.contains(['.', ':', '<', '\n', '@']), "{name}");
            assert!(name.is_empty() || name == "Your", "{name}");
        }
    }
}
