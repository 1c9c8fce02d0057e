//! Tests of the texts of errors of fields.

use pia_assistant::{TopUpError, UsageRangeError};
use pia_knowledge::KnowledgeError;
use pia_pods::ConnectorError;
use pia_policy::{ClientPolicyError, GroupError, NameError, SettingsError};

use super::*;

fn german(field: &str, message: &str) -> ErrorText {
    field_text(Language::De, field, "invalid", message)
}

#[test]
fn a_reason_that_only_the_message_states_is_quoted_in_german() {
    for code in ["invalid", "no_such_code"] {
        let text = |language| field_text(language, "url", code, "url must be short");

        let quoted = ErrorText::quoting(Language::De, INVALID, "Must be short.");
        assert_eq!(text(Language::De), quoted, "{code}");
        assert_eq!(text(Language::En), ErrorText::new("Must be short."), "{code}");
    }

    let message = "It must be a URL.";
    let by_code = field_text(Language::De, "url", "required", message);
    assert_eq!(by_code, ErrorText::new("Füllen Sie dieses Feld aus."));
    assert_eq!(field_text(Language::De, "url", MALFORMED, message), ErrorText::new(message));
}

#[test]
fn what_a_page_itself_refuses_is_not_quoted() {
    let text = Text::new("Choose a file.", "Wählen Sie eine Datei aus.");

    let body = field_error(Language::De, "icon", text).body();

    let error = &body["errors"][0];
    assert_eq!(error["field"], "icon");
    let code = error["code"].as_str().unwrap();
    let message = error["message"].as_str().unwrap();
    let expected = ErrorText::new("Wählen Sie eine Datei aus.");
    assert_eq!(field_text(Language::De, "icon", code, message), expected);
}

#[test]
fn a_message_has_its_text_without_the_names_of_programs() {
    for (field, message, en, de) in [
        (
            "configJson",
            "configJson must be a JSON object.",
            "Enter a JSON object in braces.",
            "Geben Sie ein JSON-Objekt in geschweiften Klammern ein.",
        ),
        (
            "displayName",
            "The name may have at most 200 characters.",
            "Enter at most 200 characters.",
            "Geben Sie höchstens 200 Zeichen ein.",
        ),
        (
            "value",
            "SVC-CFG-003 setting `Jwt:MaxSessions` from the console: expected a value from 1 to \
             100",
            "Jwt:MaxSessions: Enter a value from 1 to 100.",
            "Jwt:MaxSessions: Geben Sie einen Wert von 1 bis 100 ein.",
        ),
        (
            "value",
            "expected a number from 0 to 1 such as 0.4",
            "Enter a number from 0 to 1, such as 0.4.",
            "Geben Sie eine Zahl von 0 bis 1 ein, etwa 0.4.",
        ),
    ] {
        let text = |language| field_text(language, field, "invalid", message);

        assert_eq!(text(Language::En), ErrorText::new(en));
        assert_eq!(text(Language::De), ErrorText::new(de));
    }
}

#[test]
fn errors_of_settings_move_to_the_fields_that_change_them() {
    let error = |message: &str| FieldError {
        field: "value".to_owned(),
        code: "invalid",
        message: message.to_owned(),
    };
    let other = "SVC-CFG-003 setting `Smtp:Port`: expected a whole number";
    let err = ApiError::invalid(vec![
        error("SVC-CFG-003 setting `Smtp:From` from the console: expected a text"),
        error(other),
    ]);

    let body = at_fields(err, &[("host", "Smtp:Host"), ("from", "Smtp:From")]).body();

    assert_eq!(body["errors"][0]["field"], "from");
    assert_eq!(body["errors"][0]["message"], "expected a text");
    assert_eq!(body["errors"][1]["field"], "value");
    assert_eq!(body["errors"][1]["message"], other);
}

#[test]
fn errors_of_domains_at_fields_have_texts() {
    let settings = [
        SettingsError::Limit,
        SettingsError::Mode,
        SettingsError::PersonaType,
        SettingsError::Entry,
        SettingsError::TooManyTypes,
        SettingsError::TooManyModels,
    ];
    let names = [NameError::Empty, NameError::TooLong, NameError::Control];
    let mut messages = vec![
        GroupError::ExternalId.to_string(),
        ClientPolicyError::NameMissing.to_string(),
        ClientPolicyError::NameInvalid.to_string(),
        ClientPolicyError::DescriptionInvalid.to_string(),
        ConnectorError::InvalidName.to_string(),
        ConnectorError::InvalidMcp.to_string(),
        KnowledgeError::NameRequired.to_string(),
        KnowledgeError::NameTooLong.to_string(),
        KnowledgeError::OwnerRequired.to_string(),
        KnowledgeError::TooManyIds.to_string(),
        TopUpError::Amount.to_string(),
        UsageRangeError::From.to_string(),
        UsageRangeError::To.to_string(),
        UsageRangeError::Length.to_string(),
    ];
    messages.extend(settings.map(|it| it.to_string()));
    messages.extend(names.map(|it| it.to_string()));

    for message in messages {
        assert_eq!(german("name", &message).quote, "", "{message}");
    }
}

#[test]
fn texts_repeat_as_many_values_as_messages_have() {
    for (pattern, text) in FIELD_MESSAGES.iter().chain(SETTING_REASONS).copied().flatten() {
        let count = |text: &str| text.matches("{}").count();
        let in_english = count(text.of(Language::En));

        assert_eq!(in_english, count(text.of(Language::De)), "{pattern}");
        assert!(in_english <= count(pattern), "{pattern}");
    }
}
