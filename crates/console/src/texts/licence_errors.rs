//! Errors of licences, by their codes.

use crate::ui::Text;

/// Texts of the errors of licences, by their codes.
pub(super) const LICENCE_ERRORS: &[(&str, Text)] = &[
    (
        "license_truncated",
        Text::new(
            "This is not a licence, or part of it is missing. Paste the whole text of the licence \
             file.",
            "Das ist keine Lizenz, oder ein Teil davon fehlt. Fügen Sie den ganzen Text der \
             Lizenzdatei ein.",
        ),
    ),
    (
        "license_foreign",
        Text::new(
            "The licence was issued with a key that this server does not accept.",
            "Die Lizenz wurde mit einem Schlüssel ausgestellt, den dieser Server nicht akzeptiert.",
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
