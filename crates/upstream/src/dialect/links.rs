//! Citations of an upstream as Markdown: callers read only the text.

/// Maximum length of a title in characters.
const MAX_TITLE_CHARS: usize = 120;
/// Maximum length of a URL in bytes.
const MAX_URL_BYTES: usize = 2048;
/// Maximum number of citations of a response.
const MAX_LINKS: usize = 50;

/// Sources that a response cites, each once.
#[derive(Debug, Default)]
pub(super) struct Links(Vec<Link>);

#[derive(Debug)]
struct Link {
    url: String,
    title: String,
}

impl Links {
    /// Adds a source and returns whether it is new and can be linked.
    pub(super) fn add(&mut self, url: &str, title: Option<&str>) -> bool {
        let is_web = url.starts_with("https://") || url.starts_with("http://");
        let is_plain = url.len() <= MAX_URL_BYTES && !url.contains(char::is_control);
        let is_new = self.0.len() < MAX_LINKS && !self.0.iter().any(|it| it.url == url);
        if !(is_web && is_plain && is_new) {
            return false;
        }
        let title = title
            .map(plain_title)
            .filter(|it| !it.is_empty())
            .unwrap_or_else(|| plain_title(host(url)));
        self.0.push(Link { url: url.to_owned(), title });
        true
    }

    /// Returns a link to the last added source, to follow the text that cites
    /// it.
    pub(super) fn last(&self) -> Option<String> {
        self.0.last().map(|it| format!(" ({})", it.markdown()))
    }

    /// Returns a list of the sources that a text does not link, or an empty
    /// string.
    pub(super) fn missing_in(&self, text: &str) -> String {
        let lines: Vec<String> = self
            .0
            .iter()
            .filter(|it| !text.contains(&it.url))
            .map(|it| format!("- {}", it.markdown()))
            .collect();
        if lines.is_empty() { String::new() } else { format!("\n\n{}", lines.join("\n")) }
    }
}

impl Link {
    fn markdown(&self) -> String {
        let url = self
            .url
            .replace('(', "%28")
            .replace(')', "%29")
            .replace(' ', "%20")
            .replace('<', "%3C")
            .replace('>', "%3E");
        format!("[{}]({url})", self.title)
    }
}

/// Returns a title on one line, without characters that Markdown interprets.
fn plain_title(title: &str) -> String {
    let words: Vec<&str> = title.split_whitespace().collect();
    let line: String = words.join(" ").chars().take(MAX_TITLE_CHARS).collect();
    line.replace('\\', "").replace('[', "(").replace(']', ")").replace('`', "'")
}

fn host(url: &str) -> &str {
    let without_scheme = url.split_once("://").map_or(url, |(_scheme, rest)| rest);
    without_scheme.split(['/', '?', '#']).next().unwrap_or(without_scheme)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_is_listed_once_and_only_if_it_is_missing() {
        let mut links = Links::default();

        assert!(links.add("https://a.example/x", Some("The [A]\n page")));
        assert!(links.add("https://b.example/y?z", None));
        assert!(!links.add("https://a.example/x", Some("Again")));

        assert_eq!(
            links.missing_in("see [b](https://b.example/y?z)."),
            "\n\n- [The (A) page](https://a.example/x)"
        );
        assert_eq!(links.missing_in("https://a.example/x https://b.example/y?z"), "");
        assert_eq!(links.last().unwrap(), " ([b.example](https://b.example/y?z))");
    }

    #[test]
    fn only_web_addresses_are_linked() {
        let mut links = Links::default();

        for url in ["javascript:alert(1)", "file:///etc/passwd", "", "https://a\n.example"] {
            assert!(!links.add(url, Some("x")), "{url}");
        }
        links.add("https://a.example/(b) c", Some("x"));

        assert_eq!(links.last().unwrap(), " ([x](https://a.example/%28b%29%20c))");
    }
}
