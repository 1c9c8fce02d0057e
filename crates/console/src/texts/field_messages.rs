//! Texts for the messages of the errors of fields.
//!
//! The messages are sentences without their subject if that is the field: "Must be a single
//! line of text." In a message, `{}` stands for a value, which the text may repeat.

use crate::ui::Text;

const SINGLE_LINE: Text =
    Text::new("Enter a single line of text.", "Geben Sie eine einzelne Zeile Text ein.");
const LINE_OF: Text = Text::new(
    "Enter a single line of at most {} characters.",
    "Geben Sie eine einzelne Zeile mit höchstens {} Zeichen ein.",
);
const MAX_CHARS: Text =
    Text::new("Enter at most {} characters.", "Geben Sie höchstens {} Zeichen ein.");
const MIN_CHARS: Text =
    Text::new("Enter at least {} characters.", "Geben Sie mindestens {} Zeichen ein.");
const NO_NUL: Text = Text::new(
    "This contains a character that is not allowed.",
    "Diese Angabe enthält ein unzulässiges Zeichen.",
);
const NAME: Text = Text::new("Enter a name.", "Geben Sie einen Namen ein.");
const LISTED: Text =
    Text::new("Choose one of the values offered.", "Wählen Sie einen der angebotenen Werte.");
const FROM_ZERO: Text =
    Text::new("Enter a whole number from 0 to {}.", "Geben Sie eine ganze Zahl von 0 bis {} ein.");
const FROM_ONE: Text =
    Text::new("Enter a whole number from 1 to {}.", "Geben Sie eine ganze Zahl von 1 bis {} ein.");
const CATALOGUE_MODEL: Text =
    Text::new("Choose a model of the catalogue.", "Wählen Sie ein Modell des Katalogs.");
const PASSWORD: Text = Text::new("Enter your password.", "Geben Sie Ihr Passwort ein.");
const DAY: Text =
    Text::new("Enter a date such as 2026-01-31.", "Geben Sie ein Datum wie 2026-01-31 ein.");

/// Messages with their texts. A message has the text of the first that fits.
pub(super) const FIELD_MESSAGES: &[&[(&str, Text)]] =
    &[ANY_FIELD, ACCOUNTS, CREDENTIALS, CONTENTS, UPLOADS, GROUPS, OPERATORS];

/// Messages about any field.
const ANY_FIELD: &[(&str, Text)] = &[
    ("Must have at most {} characters and no control characters.", LINE_OF),
    (
        "Must have 1 to {} characters and no control characters.",
        Text::new(
            "Enter a single line of 1 to {} characters.",
            "Geben Sie eine einzelne Zeile mit 1 bis {} Zeichen ein.",
        ),
    ),
    ("Must have at most {} characters.", MAX_CHARS),
    ("May have at most {} characters.", MAX_CHARS),
    ("Can be at most {} characters long.", MAX_CHARS),
    ("Must be a single line of text.", SINGLE_LINE),
    ("Must not contain NUL characters.", NO_NUL),
    ("A value must not contain NUL characters.", NO_NUL),
    ("Is required.", Text::new("Fill in this field.", "Füllen Sie dieses Feld aus.")),
    (
        "Must have at most {} entries.",
        Text::new("At most {} entries are allowed.", "Erlaubt sind höchstens {} Einträge."),
    ),
    (
        "Choose one of {}.",
        Text::new("Choose one of these: {}.", "Wählen Sie eine dieser Angaben: {}."),
    ),
];

/// Messages about accounts and invitations.
const ACCOUNTS: &[(&str, Text)] = &[
    (
        "An email address is required.",
        Text::new("Enter an email address.", "Geben Sie eine E-Mail-Adresse ein."),
    ),
    (
        "The email address is too long.",
        Text::new("This email address is too long.", "Diese E-Mail-Adresse ist zu lang."),
    ),
    (
        "This is not a valid email address.",
        Text::new(
            "Enter an email address such as ada@example.com.",
            "Geben Sie eine E-Mail-Adresse wie ada@example.com ein.",
        ),
    ),
    (
        "Addresses of this domain are not allowed.",
        Text::new(
            "Addresses of this domain are not allowed.",
            "Adressen dieser Domain sind nicht erlaubt.",
        ),
    ),
    (
        "This is the current address.",
        Text::new("This is already your address.", "Das ist schon Ihre Adresse."),
    ),
    (
        "Your organisation's identity provider manages your name.",
        Text::new(
            "Your organisation’s identity provider manages your name. Change it there.",
            "Der Identitätsanbieter Ihrer Organisation verwaltet Ihren Namen. Ändern Sie ihn dort.",
        ),
    ),
    (
        "Confirm that you use the service for this company.",
        Text::new(
            "Confirm that you use the service for this company.",
            "Bestätigen Sie, dass Sie den Dienst für dieses Unternehmen nutzen.",
        ),
    ),
    (
        "A company name is required.",
        Text::new("Enter the company’s name.", "Geben Sie den Namen des Unternehmens ein."),
    ),
    (
        "Type DELETE to confirm.",
        Text::new("Type DELETE to confirm.", "Geben Sie zur Bestätigung DELETE ein."),
    ),
    (
        "An invitation is valid for 1 to {} days.",
        Text::new("An invitation is valid for 1 to {} days.", "Eine Einladung gilt 1 bis {} Tage."),
    ),
];

/// Messages about passwords, proofs, keys and tokens.
const CREDENTIALS: &[(&str, Text)] = &[
    (
        "The new password must differ from the current one.",
        Text::new(
            "The new password must differ from the current one.",
            "Das neue Passwort muss sich vom bisherigen unterscheiden.",
        ),
    ),
    ("A password is required.", Text::new("Enter a password.", "Geben Sie ein Passwort ein.")),
    ("The password must have at least {} characters.", MIN_CHARS),
    ("The password may have at most {} characters.", MAX_CHARS),
    (
        "This password is easy to guess. Choose a longer or less common one, for example several \
         words.",
        Text::new(
            "This password is easy to guess. Choose a longer or less common one, such as several \
             words.",
            "Dieses Passwort lässt sich leicht erraten. Nehmen Sie ein längeres oder \
             ungewöhnlicheres, zum Beispiel mehrere Wörter.",
        ),
    ),
    (
        "The password must not be your name, your email address or “Pia”.",
        Text::new(
            "The password must not be your name, your email address or “Pia”.",
            "Das Passwort darf weder Ihr Name noch Ihre E-Mail-Adresse noch „Pia“ sein.",
        ),
    ),
    ("`password` is required: the account's password.", PASSWORD),
    (
        "One of `password`, `code` or `recoveryCode` is required.",
        Text::new("Enter your password or a code.", "Geben Sie Ihr Passwort oder einen Code ein."),
    ),
    ("A name is required.", NAME),
    (
        "A name is required, so that you can recognise the app.",
        Text::new(
            "Enter a name by which you can recognise the app.",
            "Geben Sie einen Namen ein, an dem Sie die App erkennen.",
        ),
    ),
    (
        "A name is required, so that you can recognise the script.",
        Text::new(
            "Enter a name by which you can recognise the script.",
            "Geben Sie einen Namen ein, an dem Sie das Skript erkennen.",
        ),
    ),
    (
        "The key must expire in the future, or never.",
        Text::new(
            "Enter a date in the future, or none.",
            "Geben Sie ein Datum in der Zukunft ein oder keines.",
        ),
    ),
    ("Credits are a whole number, 0 to {}.", FROM_ZERO),
    ("The only scope is `ai`.", LISTED),
    (
        "The scopes are `users` and `groups`.",
        Text::new("Select at least one.", "Wählen Sie mindestens eines aus."),
    ),
    (
        "The token must expire in the future, within two years.",
        Text::new(
            "Enter a date in the future, at most two years from now.",
            "Geben Sie ein Datum in der Zukunft ein, höchstens zwei Jahre ab jetzt.",
        ),
    ),
];

/// Messages about personas, plugins, policies and knowledge bases.
const CONTENTS: &[(&str, Text)] = &[
    (
        "Enter a colour as #RRGGBB.",
        Text::new("Enter a colour as #RRGGBB.", "Geben Sie eine Farbe als #RRGGBB ein."),
    ),
    ("Must be 0, 1 or 2.", LISTED),
    ("Must be from 0 to 5.", LISTED),
    ("Must be 1.", LISTED),
    (
        "Must be a JSON object.",
        Text::new(
            "Enter a JSON object in braces.",
            "Geben Sie ein JSON-Objekt in geschweiften Klammern ein.",
        ),
    ),
    (
        "Transport must be stdio or sse.",
        Text::new(
            "The value of “transport” must be stdio or sse.",
            "Der Wert von „transport“ muss stdio oder sse sein.",
        ),
    ),
    ("The policy needs a name.", NAME),
    ("The description must have at most {} characters and no NUL.", MAX_CHARS),
    ("The knowledge base needs a name.", NAME),
    (
        "The knowledge base needs a group that owns it.",
        Text::new(
            "Choose the group that owns the knowledge base.",
            "Wählen Sie die Gruppe, der die Wissensdatenbank gehört.",
        ),
    ),
    (
        "The list may have at most 10,000 ids.",
        Text::new("Select fewer entries.", "Wählen Sie weniger Einträge aus."),
    ),
];

/// Messages about uploaded files.
const UPLOADS: &[(&str, Text)] = &[
    (
        "The file can't be read.",
        Text::new("The file can’t be read.", "Die Datei lässt sich nicht lesen."),
    ),
    (
        "The file is not an X.509 certificate in PEM or DER.",
        Text::new(
            "The file is not an X.509 certificate in PEM or DER.",
            "Die Datei ist kein X.509-Zertifikat in PEM oder DER.",
        ),
    ),
    (
        "Upload a PNG, JPEG, GIF, BMP or ICO image.",
        Text::new(
            "Upload a PNG, JPEG, GIF, BMP or ICO image.",
            "Laden Sie ein Bild in PNG, JPEG, GIF, BMP oder ICO hoch.",
        ),
    ),
    (
        "The image is damaged, or larger than 4096 by 4096 pixels.",
        Text::new(
            "The image is damaged, or larger than 4096 by 4096 pixels.",
            "Das Bild ist beschädigt oder größer als 4096 mal 4096 Pixel.",
        ),
    ),
    (
        "The image can't be converted.",
        Text::new("The image can’t be converted.", "Das Bild lässt sich nicht umwandeln."),
    ),
    (
        "The file is not a cabinet.",
        Text::new("The file is not a cabinet.", "Die Datei ist kein Cabinet-Archiv."),
    ),
    (
        "The cabinet is not signed.",
        Text::new("The cabinet is not signed.", "Das Cabinet-Archiv ist nicht signiert."),
    ),
    (
        "The cabinet is malformed: {}.",
        Text::new("The cabinet is damaged.", "Das Cabinet-Archiv ist beschädigt."),
    ),
    (
        "The cabinet is signed with an unsupported algorithm.",
        Text::new(
            "The cabinet is signed with an unsupported algorithm.",
            "Das Cabinet-Archiv ist mit einem nicht unterstützten Verfahren signiert.",
        ),
    ),
    (
        "The signature does not match the cabinet.",
        Text::new(
            "The signature does not match the cabinet: one of them was changed.",
            "Die Signatur passt nicht zum Cabinet-Archiv: Eines von beiden wurde verändert.",
        ),
    ),
];

/// Messages about groups, their settings and credits.
const GROUPS: &[(&str, Text)] = &[
    ("A group's name must not be empty.", NAME),
    ("A group's name has {} characters at most.", MAX_CHARS),
    ("A group's name has no control characters.", SINGLE_LINE),
    ("An external id has 1 to {} characters on one line.", LINE_OF),
    ("A limit is a whole number, 0 to {}.", FROM_ZERO),
    ("The modes are Optimize, Assistant and Research.", LISTED),
    ("A persona's type has 1 to {} characters that can be read.", LINE_OF),
    ("The id of a catalogue entry has 1 to {} characters that can be read.", CATALOGUE_MODEL),
    (
        "A group has entries for {} types of personas at most.",
        Text::new("At most {} types are allowed.", "Erlaubt sind höchstens {} Typen."),
    ),
    (
        "A group allows {} models at most.",
        Text::new("Select at most {} models.", "Wählen Sie höchstens {} Modelle aus."),
    ),
    ("The credits are a whole number, 1 to {}.", FROM_ONE),
    ("The first day is a date such as 2026-01-31.", DAY),
    ("The last day is a date such as 2026-01-31.", DAY),
    (
        "The range has 1 to {} days, and the first is not after the last.",
        Text::new(
            "Choose a range of 1 to {} days.",
            "Wählen Sie einen Zeitraum von 1 bis {} Tagen.",
        ),
    ),
];

/// Messages about operators, their webhooks and connectors.
const OPERATORS: &[(&str, Text)] = &[
    ("A skill is required.", Text::new("Enter a skill.", "Geben Sie eine Fähigkeit ein.")),
    (
        "The skill's name must have 1 to 100 letters, digits, hyphens, dots and underscores.",
        Text::new(
            "Use 1 to 100 letters, digits, hyphens, dots and underscores.",
            "Verwenden Sie 1 bis 100 Buchstaben ohne Umlaute, Ziffern, Bindestriche, Punkte und \
             Unterstriche.",
        ),
    ),
    (
        "The skill must have 1 to 50 steps.",
        Text::new("Enter 1 to 50 steps.", "Geben Sie 1 bis 50 Schritte ein."),
    ),
    (
        "A step must have a title, and instructions of at most 20000 characters.",
        Text::new(
            "A step needs a title, and instructions of at most 20,000 characters.",
            "Ein Schritt braucht einen Titel und Anweisungen mit höchstens 20.000 Zeichen.",
        ),
    ),
    (
        "MaxOutput must be positive.",
        Text::new(
            "Enter a whole number of at least 1, or nothing.",
            "Geben Sie eine ganze Zahl ab 1 oder nichts ein.",
        ),
    ),
    (
        "The URL must begin with https:// and name a host outside of this network.",
        Text::new(
            "Enter a URL that begins with https:// and whose host is outside this network.",
            "Geben Sie eine URL ein, die mit https:// beginnt und deren Host außerhalb dieses \
             Netzes liegt.",
        ),
    ),
    (
        "The URL or token of the MCP server is malformed, or the URL is not permitted.",
        Text::new(
            "The URL or the access token is malformed, or this URL is not permitted.",
            "Die URL oder das Zugriffstoken ist fehlerhaft, oder diese URL ist nicht erlaubt.",
        ),
    ),
];
