//! Choice of the language in which pages and emails are written.

/// Language of pages and emails.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Default, Hash, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum Language {
    /// English, also for users whose language is unknown or not supported.
    #[default]
    En,
    /// German, as spoken in any country.
    De,
}

impl Language {
    /// Returns the name in HTML and in settings: `en`.
    pub fn tag(self) -> &'static str {
        match self {
            Self::En => "en",
            Self::De => "de",
        }
    }

    /// Returns the language of a tag; only the part before the hyphen counts:
    /// `de-AT` is German.
    pub fn from_tag(tag: &str) -> Option<Self> {
        let primary = tag.trim().split(['-', '_']).next().unwrap_or_default();
        [Self::En, Self::De].into_iter().find(|it| it.tag().eq_ignore_ascii_case(primary))
    }

    /// Returns the language that an `Accept-Language` header prefers among the
    /// available ones.
    pub fn preferred(header: &str) -> Option<Self> {
        let mut best: Option<(f32, Self)> = None;
        // Clients control the header: the work for it is bounded. Among equal
        // weights the first range wins.
        for range in header.split(',').take(20) {
            let (tag, parameter) = range.split_once(';').unwrap_or((range, ""));
            let weight =
                parameter.trim().strip_prefix("q=").map_or(Some(1.0), |it| it.parse().ok());
            let (Some(language), Some(weight)) = (Self::from_tag(tag), weight) else { continue };
            if weight > 0.0 && best.is_none_or(|(max, _)| weight > max) {
                best = Some((weight, language));
            }
        }
        best.map(|(_, language)| language)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_language_with_the_greatest_weight_is_preferred() {
        for (header, expected) in [
            ("de", Some(Language::De)),
            ("de-AT,de;q=0.9,en;q=0.8", Some(Language::De)),
            ("fr, en;q=0.4, de;q=0.7", Some(Language::De)),
            ("EN-us, de", Some(Language::En)),
            ("de;q=0, en;q=0.1", Some(Language::En)),
            ("de;q=x", None),
            ("fr, *", None),
            ("", None),
        ] {
            assert_eq!(Language::preferred(header), expected, "{header}");
        }
    }
}
