//! Citations of an upstream, as Markdown: callers read nothing but the text.

/// Maximum length of a title.
const MAX_TITLE_CHARS: usize = 120;
/// Longer than any address that is meant.
const MAX_URL_CHARS: usize = 2048;
/// Maximum number of citations of an answer.
const MAX_LINKS: usize = 50;

/// The places that an answer cites, each once.
#[derive(Debug, Default)]
pub(super) struct Links(Vec<Link>);

#[derive(Debug)]
struct Link {
    url: String,
    title: String,
}

impl Links {
    /// Adds a place, and answers whether it is a new one that can be shown.
    pub(super) fn add(&mut self, url: &str, title: Option<&str>) -> bool {
        let presented = url.starts_with("https://") || url.starts_with("http://");
        let plain = url.len() <= MAX_URL_CHARS && !url.contains(char::is_control);
        let new = self.0.len() < MAX_LINKS && !self.0.iter().any(|it| it.url == url);
        if !(presented && plain && new) {
            return false;
        }
        let title = title.map(readable).filter(|it| !it.is_empty());
        let title = title.unwrap_or_else(|| readable(host(url)));
        self.0.push(Link { url: url.to_owned(), title });
        true
    }

    /// The last place that was added, to stand behind the words it is for.
    pub(super) fn last(&self) -> Option<String> {
        self.0.last().map(|it| format!(" ({})", it.markdown()))
    }

    /// A list of those that a text does not hold yet; empty if it holds all.
    pub(super) fn missing_in(&self, text: &str) -> String {
        let missing = self.0.iter().filter(|it| !text.contains(&it.url));
        let lines: Vec<String> = missing.map(|it| format!("- {}", it.markdown())).collect();
        if lines.is_empty() { String::new() } else { format!("\n\n{}", lines.join("\n")) }
    }
}

impl Link {
    fn markdown(&self) -> String {
        let url = self.url.replace('(', "%28").replace(')', "%29").replace(' ', "%20");
        let url = url.replace('<', "%3C").replace('>', "%3E");
        format!("[{}]({url})", self.title)
    }
}

/// A title on one line, in which nothing can be mistaken for Markdown's signs.
fn readable(title: &str) -> String {
    let words: Vec<&str> = title.split_whitespace().collect();
    let title: String = words.join(" ").chars().take(MAX_TITLE_CHARS).collect();
    title.replace('\\', "").replace('[', "(").replace(']', ")").replace('`', "'")
}

fn host(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    rest.split(['/', '?', '#']).next().unwrap_or(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_listed_once_and_only_where_it_is_missing() {
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
    fn only_addresses_of_the_web_are_linked() {
        let mut links = Links::default();

        for url in ["javascript:alert(1)", "file:///etc/passwd", "", "https://a\n.example"] {
            assert!(!links.add(url, Some("x")), "{url}");
        }
        links.add("https://a.example/(b) c", Some("x"));

        assert_eq!(links.last().unwrap(), " ([x](https://a.example/%28b%29%20c))");
    }
}
