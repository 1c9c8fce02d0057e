//! Errors of licences, by their codes.

use crate::ui::Text;

/// Texts of errors.
pub(super) const LICENCE_ERRORS: &[(&str, Text)] = &[
    (
        "license_truncated",
        Text::new(
            "This is no licence, or a part of it is missing.",
            "Das ist keine Lizenz, oder ein Teil davon fehlt.",
        ),
    ),
    (
        "license_foreign",
        Text::new(
            "The licence was issued with another key than this server accepts.",
            "Die Lizenz wurde mit einem anderen Schlüssel ausgestellt, als dieser Server annimmt.",
        ),
    ),
    (
        "license_forged",
        Text::new(
            "The signature of the licence is wrong: it was changed or forged.",
            "Die Signatur der Lizenz ist falsch: Sie wurde verändert oder gefälscht.",
        ),
    ),
    (
        "license_unreadable",
        Text::new(
            "This server is too old for the licence, or the licence is malformed.",
            "Dieser Server ist zu alt für die Lizenz, oder die Lizenz ist fehlerhaft.",
        ),
    ),
    ("license_expired", Text::new("The licence has expired.", "Die Lizenz ist abgelaufen.")),
];
