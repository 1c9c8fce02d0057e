//! Descriptions of the settings of AI calls and credits.

use crate::ui::Text;

/// Descriptions of the settings of AI calls and credits.
pub(super) const CALLS: &[(&str, Text)] = &[
    (
        "Ai:MaxOptimizeTextLength",
        Text::new(
            "Maximum length of a text to be optimised, in characters, from 1 to 1000000, such as \
             20000.",
            "Maximale Länge eines zu optimierenden Textes in Zeichen, von 1 bis 1000000, etwa \
             20000.",
        ),
    ),
    (
        "Ai:MaxWait",
        Text::new(
            "How long a call waits for a model whose limits are exhausted before it fails, such as \
             10s.",
            "Wartezeit eines Aufrufs auf ein Modell, dessen Limits ausgeschöpft sind, bevor er \
             scheitert, etwa 10s.",
        ),
    ),
    (
        "Ai:MaxToolRounds",
        Text::new(
            "How often a model may use tools of the server, such as web search, before it must \
             answer, from 0 to 50.",
            "Wie oft ein Modell Werkzeuge des Servers nutzen darf, etwa die Websuche, bevor es \
             antworten muss, von 0 bis 50.",
        ),
    ),
    (
        "Ai:MaxOutputTokens",
        Text::new(
            "Maximum length of an answer in tokens, from 1000 to 10000000, such as 16000. Use what \
             your smallest model can generate.",
            "Maximale Länge einer Antwort in Token, von 1000 bis 10000000, etwa 16000. Richten Sie \
             sich nach Ihrem kleinsten Modell.",
        ),
    ),
    (
        "Ai:ConnectTimeout",
        Text::new(
            "How long to wait for a connection to a provider, such as 5s.",
            "Wartezeit auf die Verbindung zu einem Anbieter, etwa 5s.",
        ),
    ),
    (
        "Ai:FirstByteTimeout",
        Text::new(
            "How long to wait for the beginning of a streamed answer, such as 1m. Models that \
             think need more.",
            "Wartezeit auf den Beginn einer gestreamten Antwort, etwa 1m. Modelle, die nachdenken, \
             brauchen mehr.",
        ),
    ),
    (
        "Ai:SilenceTimeout",
        Text::new(
            "How long a streamed answer may pause before it is aborted, such as 1m.",
            "Wie lange eine gestreamte Antwort stocken darf, bevor sie abgebrochen wird, etwa 1m.",
        ),
    ),
    (
        "Ai:AnswerTimeout",
        Text::new(
            "How long to wait for an answer that is not streamed, such as 3m. Clients give up \
             after 5 minutes.",
            "Wartezeit auf eine Antwort, die nicht gestreamt wird, etwa 3m. Clients geben nach 5 \
             Minuten auf.",
        ),
    ),
    (
        "Ai:HeartbeatInterval",
        Text::new(
            "Interval of signals that keep a streamed answer open during pauses, such as 15s. Less \
             than the timeout of your proxy.",
            "Abstand der Signale, die eine gestreamte Antwort in Pausen offen halten, etwa 15s. \
             Kürzer als das Zeitlimit Ihres Proxys.",
        ),
    ),
    (
        "Ai:OpenAfter",
        Text::new(
            "Time after which the response to a client begins, even if the model has not answered \
             yet, such as 5s.",
            "Zeit, nach der die Antwort an den Client beginnt, auch wenn das Modell noch nicht \
             geantwortet hat, etwa 5s.",
        ),
    ),
    (
        "Ai:MaxEventBytes",
        Text::new(
            "Maximum size of one part of a streamed answer, from 1KiB to 256MiB, such as 8MiB.",
            "Maximale Größe eines Teils einer gestreamten Antwort, von 1KiB bis 256MiB, etwa 8MiB.",
        ),
    ),
    (
        "Ai:MaxAnswerBytes",
        Text::new(
            "Maximum size of an answer from a provider, from 1KiB to 256MiB, such as 64MiB.",
            "Maximale Größe einer Antwort des Anbieters, von 1KiB bis 256MiB, etwa 64MiB.",
        ),
    ),
    (
        "TokenUsage:WeekStartTimeZone",
        Text::new(
            "Time zone in which the weeks of budgets begin, on Monday at midnight, such as \
             Europe/London.",
            "Zeitzone, in der die Wochen der Budgets beginnen, montags um Mitternacht, etwa \
             Europe/London.",
        ),
    ),
    (
        "FreeTier:Suspended",
        Text::new(
            "Suspends the free tier: members of the free group cannot call models, and no account \
             can be created.",
            "Setzt die kostenlose Nutzung aus: Mitglieder der kostenlosen Gruppe können keine \
             Modelle aufrufen, und es können keine Konten erstellt werden.",
        ),
    ),
    (
        "FreeTier:GroupId",
        Text::new(
            "Id of the group whose members use the free tier. Leave it empty for the default \
             group.",
            "ID der Gruppe, deren Mitglieder den Server kostenlos nutzen. Ohne Angabe gilt die \
             Standardgruppe.",
        ),
    ),
];
