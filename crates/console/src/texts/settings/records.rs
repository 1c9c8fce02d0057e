//! Descriptions of the settings of records and monitoring.

use crate::ui::Text;

/// Descriptions of the settings of records and monitoring.
pub(super) const RECORDS: &[(&str, Text)] = &[
    (
        "Audit:RetentionDays",
        Text::new(
            "Days for which entries of the audit log are stored, from 1 to 3650, such as 730.",
            "Tage, die Einträge des Audit-Protokolls gespeichert bleiben, von 1 bis 3650, etwa \
             730.",
        ),
    ),
    (
        "Feedback:NotifyAddress",
        Text::new(
            "Email address that is notified of each negative report on an answer, without the \
             answer itself.",
            "E-Mail-Adresse, die über jede negative Rückmeldung zu einer Antwort benachrichtigt \
             wird, ohne die Antwort selbst.",
        ),
    ),
    (
        "Feedback:ProviderAddress",
        Text::new(
            "Email address of your service provider, which is also notified of each negative \
             report on an answer.",
            "E-Mail-Adresse Ihres Dienstleisters, der ebenfalls über jede negative Rückmeldung zu \
             einer Antwort benachrichtigt wird.",
        ),
    ),
    (
        "Feedback:ForwardToProvider",
        Text::new(
            "Notifies your service provider, too, of each negative report on an answer.",
            "Benachrichtigt auch Ihren Dienstleister über jede negative Rückmeldung zu einer \
             Antwort.",
        ),
    ),
    (
        "Feedback:AnswerRetentionDays",
        Text::new(
            "Days for which the text of a reported answer is stored, from 1 to 3650, such as 30.",
            "Tage, die der Text einer gemeldeten Antwort gespeichert bleibt, von 1 bis 3650, etwa \
             30.",
        ),
    ),
    (
        "Feedback:RetentionDays",
        Text::new(
            "Days for which a report on an answer is stored, from 1 to 3650, such as 180.",
            "Tage, die eine Rückmeldung gespeichert bleibt, von 1 bis 3650, etwa 180.",
        ),
    ),
    (
        "Logging:Level",
        Text::new(
            "How much the server logs: error, warn, info, debug or trace, or a filter such as \
             info,pia_server=debug.",
            "Ausführlichkeit des Protokolls: error, warn, info, debug oder trace, oder ein Filter \
             wie info,pia_server=debug.",
        ),
    ),
    (
        "Logging:Format",
        Text::new(
            "Format of the log: json for programs that collect it, or text for reading.",
            "Format des Protokolls: json für Programme, die es einsammeln, oder text zum Lesen.",
        ),
    ),
    (
        "Metrics:Token",
        Text::new(
            "Token that a monitoring system needs to read the metrics: at least 16 random \
             characters. Without it, only this machine can read them.",
            "Token, mit dem ein Überwachungssystem die Metriken abruft: mindestens 16 zufällige \
             Zeichen. Ohne Token kann sie nur dieser Rechner abrufen.",
        ),
    ),
];
