//! Texts for the reasons why values of settings are refused.
//!
//! In a reason, `{}` stands for a value, which the text may repeat.

use crate::ui::Text;

const URL: Text = Text::new(
    "Enter a URL such as https://pia.example.com.",
    "Geben Sie eine URL wie https://pia.example.com ein.",
);
const TOO_LONG: Text =
    Text::new("Enter at most {} characters.", "Geben Sie höchstens {} Zeichen ein.");
const TOO_SHORT: Text = Text::new(
    "Enter at least {} random characters.",
    "Geben Sie mindestens {} zufällige Zeichen ein.",
);
const ONE_OF: Text = Text::new("Enter one of these: {}.", "Geben Sie eines davon ein: {}.");
const GUESSED: Text = Text::new(
    "This is easily guessed. Use random characters.",
    "Das lässt sich leicht erraten. Verwenden Sie zufällige Zeichen.",
);
const NO_ENTRY: Text =
    Text::new("Ai:Providers has no such entry.", "Ai:Providers hat keinen solchen Eintrag.");
const NO_CHAT_MODEL: Text = Text::new(
    "Enter the id of a chat model from Ai:Providers.",
    "Geben Sie die ID eines Chatmodells aus Ai:Providers ein.",
);
const CHAT_MODELS: Text =
    Text::new("Only chat models are possible here.", "Hier sind nur Chatmodelle möglich.");
const NO_EMBEDDINGS: Text = Text::new(
    "Providers of this type have no embeddings.",
    "Anbieter dieses Typs haben keine Embeddings.",
);
const VECTORS: Text = Text::new(
    "Enter embedded:FOLDER, the URL of a server, or Endpoint=URL;Key=KEY.",
    "Geben Sie embedded:ORDNER, die URL eines Servers oder Endpoint=URL;Key=SCHLÜSSEL ein.",
);

const FROM_ONE: Text =
    Text::new("Enter a whole number from 1 to {}.", "Geben Sie eine ganze Zahl von 1 bis {} ein.");

/// Reasons with their texts. A reason has the text of the first that fits.
pub(super) const SETTING_REASONS: &[&[(&str, Text)]] =
    &[FORMS, ADDRESSES, SECRETS, MODELS, COMBINATIONS];

/// Reasons about the form of a value.
const FORMS: &[(&str, Text)] = &[
    (
        "Is missing: the type {} needs {}.",
        Text::new(
            "Providers of type {} need a value here.",
            "Anbieter vom Typ {} brauchen hier einen Wert.",
        ),
    ),
    ("Is missing: {}.", Text::new("Enter a value.", "Geben Sie einen Wert ein.")),
    ("Expected a text.", Text::new("Enter a value.", "Geben Sie einen Wert ein.")),
    ("Expected a single value.", Text::new("Enter a single value.", "Geben Sie einen Wert ein.")),
    (
        "Expected the index of an item.",
        Text::new("Items are numbered from 0.", "Einträge sind ab 0 nummeriert."),
    ),
    (
        "Expected a section.",
        Text::new("A section is expected here.", "Hier muss ein Abschnitt stehen."),
    ),
    ("Expected one of {}.", ONE_OF),
    (
        "Expected a value from {} to {}.",
        Text::new("Enter a value from {} to {}.", "Geben Sie einen Wert von {} bis {} ein."),
    ),
    (
        "Expected at most 16 KiB.",
        Text::new("Enter at most 16 KiB.", "Geben Sie höchstens 16 KiB ein."),
    ),
    ("Expected at most {} characters.", TOO_LONG),
    (
        "Expected no line breaks or other control characters.",
        Text::new(
            "Line breaks and other control characters are not allowed.",
            "Zeilenumbrüche und andere Steuerzeichen sind nicht erlaubt.",
        ),
    ),
    (
        "Expected a whole number.",
        Text::new("Enter a whole number.", "Geben Sie eine ganze Zahl ein."),
    ),
    (
        "Expected a whole number up to {}.",
        Text::new("Enter a whole number up to {}.", "Geben Sie eine ganze Zahl bis {} ein."),
    ),
    (
        "Expected a number from 0 to 1 such as 0.4.",
        Text::new(
            "Enter a number from 0 to 1, such as 0.4.",
            "Geben Sie eine Zahl von 0 bis 1 ein, etwa 0.4.",
        ),
    ),
    (
        "Expected a number from 0 to {}.",
        Text::new("Enter a number from 0 to {}.", "Geben Sie eine Zahl von 0 bis {} ein."),
    ),
    (
        "Expected a number of bytes, or a size such as 256MiB.",
        Text::new(
            "Enter a number of bytes, or a size such as 256MiB.",
            "Geben Sie eine Zahl von Bytes oder eine Größe wie 256MiB ein.",
        ),
    ),
    (
        "Expected a duration such as 00:15:00, 1.12:00:00, 15m or 500ms.",
        Text::new(
            "Enter a duration such as 00:15:00, 1.12:00:00, 15m or 500ms.",
            "Geben Sie eine Dauer wie 00:15:00, 1.12:00:00, 15m oder 500ms ein.",
        ),
    ),
    (
        "Expected a level or a filter such as info,pia_server=debug.",
        Text::new(
            "Enter a level, or a filter such as info,pia_server=debug.",
            "Geben Sie eine Stufe oder einen Filter wie info,pia_server=debug ein.",
        ),
    ),
    (
        "Expected the id of a group.",
        Text::new("Enter the id of a group.", "Geben Sie die ID einer Gruppe ein."),
    ),
    (
        "Expected a name of 1 to {} characters in one line.",
        Text::new(
            "Enter a single line of 1 to {} characters.",
            "Geben Sie eine einzelne Zeile mit 1 bis {} Zeichen ein.",
        ),
    ),
];

/// Reasons about addresses, hosts and paths.
const ADDRESSES: &[(&str, Text)] = &[
    ("Expected a URL such as https://pia.example.com.", URL),
    (
        "Expected a URL such as https://login.example.com.",
        Text::new(
            "Enter a URL such as https://login.example.com.",
            "Geben Sie eine URL wie https://login.example.com ein.",
        ),
    ),
    (
        "Expected a URL without a name or a password in it.",
        Text::new(
            "Enter a URL without a user name and a password.",
            "Geben Sie eine URL ohne Benutzernamen und Passwort ein.",
        ),
    ),
    (
        "Expected a URL without `?` and `#`.",
        Text::new("Enter a URL without ? and #.", "Geben Sie eine URL ohne ? und # ein."),
    ),
    (
        "Expected an https address, or one of this machine.",
        Text::new(
            "Enter an https address, or one of this machine.",
            "Geben Sie eine https-Adresse oder eine dieses Rechners ein.",
        ),
    ),
    (
        "Expected an address and a port such as 127.0.0.1:8080 or [::]:8080.",
        Text::new(
            "Enter an address and a port, such as 127.0.0.1:8080 or [::]:8080.",
            "Geben Sie eine Adresse und einen Port ein, etwa 127.0.0.1:8080 oder [::]:8080.",
        ),
    ),
    (
        "Expected an address or a network such as 10.0.0.0/8.",
        Text::new(
            "Enter an address, or a network such as 10.0.0.0/8.",
            "Geben Sie eine Adresse oder ein Netz wie 10.0.0.0/8 ein.",
        ),
    ),
    (
        "Expected a path such as /pia, with a slash before it and none behind.",
        Text::new(
            "Enter a path such as /pia, without a slash at its end.",
            "Geben Sie einen Pfad wie /pia ein, ohne Schrägstrich am Ende.",
        ),
    ),
    (
        "Expected a domain such as example.com.",
        Text::new("Enter domains such as example.com.", "Geben Sie Domains wie example.com ein."),
    ),
    (
        "Expected a host such as smtp.example.com, without a scheme or a port.",
        Text::new(
            "Enter a host such as smtp.example.com, without https:// and without a port.",
            "Geben Sie einen Host wie smtp.example.com ein, ohne https:// und ohne Port.",
        ),
    ),
    (
        "Expected an address such as pia@example.com.",
        Text::new(
            "Enter an email address such as pia@example.com.",
            "Geben Sie eine E-Mail-Adresse wie pia@example.com ein.",
        ),
    ),
    ("Must be embedded:FOLDER, the URL of a server, or Endpoint=URL;Key=KEY.", VECTORS),
    ("Embedded: must be followed by a folder.", VECTORS),
    (
        "The URL must be http or https, with a host and a port alone: http://localhost:6334.",
        Text::new(
            "Enter a URL that has only a host and a port, such as http://localhost:6334.",
            "Geben Sie eine URL ein, die nur Host und Port hat, etwa http://localhost:6334.",
        ),
    ),
    (
        "Expected `off` or `max-age=<seconds>`, also with `; includeSubDomains`.",
        Text::new(
            "Enter off or max-age=<seconds>, also with ; includeSubDomains.",
            "Geben Sie off oder max-age=<Sekunden> ein, auch mit ; includeSubDomains.",
        ),
    ),
];

/// Reasons about secrets.
const SECRETS: &[(&str, Text)] = &[
    ("Expected at least {} random characters.", TOO_SHORT),
    ("Expected at least {} characters.", TOO_SHORT),
    (
        "Expected plain letters, digits and signs without blanks.",
        Text::new(
            "Use plain letters, digits and signs without blanks.",
            "Verwenden Sie einfache Buchstaben, Ziffern und Zeichen ohne Leerzeichen.",
        ),
    ),
    (
        "The key must consist of visible ASCII characters.",
        Text::new(
            "The key must consist of visible ASCII characters.",
            "Der Schlüssel muss aus sichtbaren ASCII-Zeichen bestehen.",
        ),
    ),
    (
        "Expected 64 hexadecimal characters.",
        Text::new("Enter 64 hexadecimal characters.", "Geben Sie 64 hexadezimale Zeichen ein."),
    ),
    ("Is easily guessed; expected random characters.", GUESSED),
    ("Is known from examples or easily guessed; expected random characters.", GUESSED),
    (
        "Expected another secret than Encryption:MasterKey.",
        Text::new(
            "Use another secret than Encryption:MasterKey.",
            "Verwenden Sie ein anderes Geheimnis als Encryption:MasterKey.",
        ),
    ),
];

/// Reasons about models and their providers.
const MODELS: &[(&str, Text)] = &[
    ("Names no entry of Ai:Providers.", NO_ENTRY),
    ("Names an entry that Ai:Providers does not have.", NO_ENTRY),
    ("Names no chat model of Ai:Providers.", NO_CHAT_MODEL),
    ("Expected a chat model, not Linkup.", NO_CHAT_MODEL),
    ("Expected a chat model, not one of embeddings.", NO_CHAT_MODEL),
    ("Linkup searches the web and is no chat model.", NO_CHAT_MODEL),
    ("Expected chat models, not Linkup.", CHAT_MODELS),
    ("Expected chat models, not one of embeddings.", CHAT_MODELS),
    (
        "Expected an entry of type Linkup.",
        Text::new(
            "Enter the id of an entry of type Linkup.",
            "Geben Sie die ID eines Eintrags vom Typ Linkup ein.",
        ),
    ),
    (
        "Names an entry whose EnableVision is off.",
        Text::new(
            "This entry can’t read images: its EnableVision is off.",
            "Dieser Eintrag liest keine Bilder: EnableVision ist ausgeschaltet.",
        ),
    ),
    (
        "Names the entry itself.",
        Text::new(
            "An entry can’t stand for itself.",
            "Ein Eintrag kann nicht für sich einspringen.",
        ),
    ),
    (
        "Is that of another entry, whatever its case.",
        Text::new("Another entry has this id.", "Ein anderer Eintrag hat diese ID."),
    ),
    ("This type of provider has no embeddings.", NO_EMBEDDINGS),
    (
        "This type of provider has no rerankers.",
        Text::new(
            "Providers of this type have no rerankers.",
            "Anbieter dieses Typs haben keine Reranker.",
        ),
    ),
    (
        "Expected no comma: ids stand in lists.",
        Text::new("An id can’t have a comma.", "Eine ID darf kein Komma haben."),
    ),
    (
        "`{}` stands for the model of a mode, not for an entry.",
        Text::new(
            "“{}” stands for the model of a mode. Choose another id.",
            "„{}“ steht für das Modell eines Modus. Wählen Sie eine andere ID.",
        ),
    ),
    (
        "Expected a version such as 2024-10-21.",
        Text::new(
            "Enter a version such as 2024-10-21.",
            "Geben Sie eine Version wie 2024-10-21 ein.",
        ),
    ),
    (
        "Expected temperature, top_p or top_k.",
        Text::new(
            "Enter temperature, top_p or top_k.",
            "Geben Sie temperature, top_p oder top_k ein.",
        ),
    ),
    (
        "Expected no type twice.",
        Text::new("Enter each type only once.", "Geben Sie jeden Typ nur einmal ein."),
    ),
    (
        "Expected types with prices in credits, such as web_search=10.",
        Text::new(
            "Enter types with prices in credits, such as web_search=10.",
            "Geben Sie Typen mit Preisen in Credits ein, etwa web_search=10.",
        ),
    ),
    (
        "Function and custom are run by callers, at no price.",
        Text::new(
            "function and custom have no price: callers run them.",
            "function und custom haben keinen Preis: Aufrufer führen sie aus.",
        ),
    ),
];

/// Reasons about values that depend on other settings.
const COMBINATIONS: &[(&str, Text)] = &[
    (
        "Expected no less than {}.",
        Text::new("Must not be less than {}.", "Darf nicht kleiner als {} sein."),
    ),
    (
        "Expected no more than {}.",
        Text::new("Must not be more than {}.", "Darf nicht größer als {} sein."),
    ),
    (
        "Expected at most half of {}.",
        Text::new("Must be at most half of {}.", "Darf höchstens die Hälfte von {} sein."),
    ),
    ("Needs {} beside.", Text::new("Set {} as well.", "Setzen Sie auch {}.")),
    (
        "Needs the TenantId, or an Authority.",
        Text::new(
            "Set the TenantId or the Authority as well.",
            "Setzen Sie auch TenantId oder Authority.",
        ),
    ),
    ("Needs an Authority.", Text::new("Set the Authority as well.", "Setzen Sie auch Authority.")),
    (
        "Requires Workflow:Tls, so that it is encrypted.",
        Text::new(
            "Turn on Workflow:Tls as well, so that it is encrypted.",
            "Schalten Sie auch Workflow:Tls ein, damit es verschlüsselt wird.",
        ),
    ),
    (
        "Expected the tenant's id, a GUID.",
        Text::new(
            "Enter the tenant’s id, a GUID.",
            "Geben Sie die ID des Mandanten ein, eine GUID.",
        ),
    ),
    (
        "Expected names of scopes with blanks between.",
        Text::new(
            "Enter names of scopes, separated by blanks.",
            "Geben Sie Namen von Scopes ein, durch Leerzeichen getrennt.",
        ),
    ),
    (
        "Expected `openid` among the scopes.",
        Text::new("The scopes must include openid.", "Zu den Scopes muss openid gehören."),
    ),
    (
        "A hash takes at least 8 KiB of memory for each lane, and at most {} KiB.",
        Text::new(
            "Enter at least 8 KiB of memory for each lane, and at most {} KiB.",
            "Geben Sie mindestens 8 KiB Speicher je Lane ein, höchstens {} KiB.",
        ),
    ),
    ("The number of iterations must be 1 to {}.", FROM_ONE),
    ("The parallelism must be 1 to {}.", FROM_ONE),
];
