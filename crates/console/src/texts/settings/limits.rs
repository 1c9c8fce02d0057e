//! Descriptions of the settings of rate limits.

use crate::ui::Text;

/// Descriptions of the settings of rate limits.
pub(super) const LIMITS: &[(&str, Text)] = &[
    (
        "RateLimits:Global",
        Text::new(
            "Requests per minute of a signed-in person, or else of an IP address, where no other \
             limit applies, such as 200.",
            "Anfragen je Minute einer angemeldeten Person, sonst einer IP-Adresse, wo kein anderes \
             Limit gilt, etwa 200.",
        ),
    ),
    (
        "RateLimits:Auth",
        Text::new(
            "Requests per minute of an IP address for sessions and accounts, such as 20. Raise it \
             if many people share one address.",
            "Anfragen je Minute einer IP-Adresse zu Sitzungen und Konten, etwa 20. Erhöhen Sie das \
             Limit, wenn viele sich eine Adresse teilen.",
        ),
    ),
    (
        "RateLimits:LocalAuth",
        Text::new(
            "Attempts per minute of an IP address to sign in or to set a password, such as 10. \
             Raise it if many people share one address.",
            "Versuche je Minute einer IP-Adresse, sich anzumelden oder ein Passwort zu setzen, \
             etwa 10. Erhöhen Sie das Limit, wenn viele sich eine Adresse teilen.",
        ),
    ),
    (
        "RateLimits:Sync",
        Text::new(
            "Synchronisation requests per minute of one person, such as 600.",
            "Synchronisierungsanfragen einer Person je Minute, etwa 600.",
        ),
    ),
    (
        "RateLimits:Ai",
        Text::new(
            "AI requests per minute of one person, such as 60.",
            "KI-Anfragen einer Person je Minute, etwa 60.",
        ),
    ),
    (
        "RateLimits:Feedback",
        Text::new(
            "Reports on answers per hour of one person, such as 10.",
            "Rückmeldungen zu Antworten je Stunde und Person, etwa 10.",
        ),
    ),
    (
        "RateLimits:Scim",
        Text::new(
            "Requests per minute of a directory that manages accounts (SCIM), by IP address, such \
             as 3000.",
            "Anfragen je Minute eines Verzeichnisses, das Konten verwaltet (SCIM), je IP-Adresse, \
             etwa 3000.",
        ),
    ),
    (
        "RateLimits:PodUplink",
        Text::new(
            "Connections per minute that pods behind one IP address may open, such as 60.",
            "Verbindungen, die Pods hinter einer IP-Adresse je Minute öffnen dürfen, etwa 60.",
        ),
    ),
];
