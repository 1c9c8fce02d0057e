//! Tests of the texts of emails.

use pia_kernel::Timestamp;

use super::*;

const NAMES: [&str; 26] = [
    "verify-address",
    "password-reset",
    "invitation",
    "address-taken",
    "password-changed",
    "new-device",
    "factor-enabled",
    "factor-disabled",
    "second-factor-failed",
    "recovery-codes-regenerated",
    "recovery-code-used",
    "passkey-added",
    "passkey-removed",
    "passkey-cloned",
    "app-password-added",
    "app-password-removed",
    "api-key-added",
    "api-key-removed",
    "device-registered",
    "device-approved",
    "device-revoked",
    "recovery-key-changed",
    "sync-reset",
    "account-deactivated",
    "account-deleted",
    "answer-reported",
];
const LINK: &str = "https://pia.example/auth/verify-email?userId=1&token=abc";

fn letter(name: &str, language: Language) -> OutgoingEmail {
    let fields = [
        ("link", LINK),
        ("hours", "24"),
        ("name", "My key"),
        ("left", "7"),
        ("id", "0199f0e0-0000-7000-8000-00000000000e"),
        ("comment", "Wrong\nsum"),
    ];
    OutgoingEmail {
        to: "ada@example.org".to_owned(),
        name: name.to_owned(),
        fields: fields.iter().map(|(name, it)| ((*name).to_owned(), (*it).to_owned())).collect(),
        language: Some(language),
        at: Timestamp::from_micros(1_795_273_445_000_000),
        address: Some("192.0.2.7".parse().unwrap()),
        agent: Some("PiaDesktop/1.4.2 (Windows NT 10.0)".to_owned()),
    }
}

fn with(name: &str, field: &str, value: &str) -> OutgoingEmail {
    let mut letter = letter(name, Language::En);
    letter.fields.insert(field.to_owned(), value.to_owned());
    letter
}

fn render(letter: &OutgoingEmail) -> Result<EmailContent, RenderError> {
    EmailTemplates::new("https://pia.example", LiveSetting::new(Language::De)).render(letter)
}

fn rendered(letter: &OutgoingEmail) -> EmailContent {
    render(letter).unwrap_or_else(|err| panic!("{}: {err}", letter.name))
}

fn failure(letter: &OutgoingEmail) -> Option<RenderError> {
    render(letter).err()
}

#[test]
fn every_letter_is_there_in_both_languages_as_text_and_page() {
    for name in NAMES {
        let [english, german] = [Language::En, Language::De].map(|it| rendered(&letter(name, it)));

        assert!(english.subject != german.subject, "{name}");
        assert!(english.text.starts_with("Hello,\n\n"), "{name}: {}", english.text);
        assert!(german.text.starts_with("Guten Tag,\n\n"), "{name}: {}", german.text);
        assert!(english.html.contains(r#"<html lang="en">"#), "{name}");
        assert!(german.html.contains(r#"<html lang="de">"#), "{name}");
    }
}

#[test]
fn a_letter_is_laid_out_in_paragraphs() {
    let requests = rendered(&letter("verify-address", Language::En)).text;
    let reports = rendered(&letter("passkey-added", Language::En)).text;
    let invites = rendered(&with("invitation", "hours", "")).text;

    assert_eq!(
        requests,
        "Hello,\n\nSomeone, most likely you, created an account with this address. Confirm that it \
         is yours.\n\nConfirm e-mail address:\n\
         https://pia.example/auth/verify-email?userId=1&token=abc\n\n\
         The link works once, for 24 hours.\n\nWhen: 2026-11-21 15:04 UTC\n\
         IP address: 192.0.2.7\nApp: PiaDesktop, Windows\n\n\
         If this was not you, do not follow the link: you would confirm an account whose password \
         someone else knows. Without your confirmation the address is not used.\n\n\
         -- \nThis e-mail was sent by the Pia server https://pia.example"
    );
    assert_eq!(
        reports,
        "Hello,\n\nThe passkey “My key” was added to your account. It can sign in.\n\n\
         When: 2026-11-21 15:04 UTC\nIP address: 192.0.2.7\n\
         App: PiaDesktop, Windows\n\nIf this was you, there is nothing to do.\n\n\
         If this was not you, reset your password now, which signs out all devices: \
         https://pia.example/auth/forgot-password.html – and tell the administrator of the \
         server.\n\n\
         -- \nThis e-mail was sent by the Pia server https://pia.example"
    );
    assert_eq!(
        invites,
        "Hello,\n\nYou are invited to create an account on this server.\n\nCreate account:\n\
         https://pia.example/auth/verify-email?userId=1&token=abc\n\n\
         If you do not know what this is about, ignore this e-mail.\n\n\
         -- \nThis e-mail was sent by the Pia server https://pia.example"
    );
}

#[test]
fn a_reported_answer_is_displayed_with_its_comment_alone() {
    let reported = rendered(&letter("answer-reported", Language::En)).text;
    let silent = rendered(&with("answer-reported", "comment", "")).text;

    assert_eq!(
        reported,
        "Hello,\n\nA user reported a bad answer of the assistant.\n\nComment: “Wrong sum”\n\n\
         Report 0199f0e0-0000-7000-8000-00000000000e is listed in the administration of the \
         server.\n\n-- \nThis e-mail was sent by the Pia server https://pia.example"
    );
    assert!(!silent.contains("Comment"), "{silent}");
}

#[test]
fn a_changed_password_reports_what_still_opens_the_account() {
    for (app_passwords, api_keys, reported) in [
        ("0", "0", "All other devices were signed out.\n\n"),
        ("1", "0", "signed out. Still valid: one app password. Revoke"),
        ("0", "1", "signed out. Still valid: one API key. Revoke"),
        ("2", "3", "signed out. Still valid: 2 app passwords and 3 API keys. Revoke"),
    ] {
        let mut letter = with("password-changed", "appPasswords", app_passwords);
        letter.fields.insert("apiKeys".to_owned(), api_keys.to_owned());

        let text = rendered(&letter).text;
        assert!(text.contains(reported), "{text}");
    }
}

#[test]
fn a_letter_is_in_the_operators_language_where_the_readers_is_not_known() {
    let unknown = OutgoingEmail { language: None, ..letter("new-device", Language::En) };

    assert!(rendered(&unknown).html.contains(r#"<html lang="de">"#));
}

#[test]
fn a_letter_states_how_long_its_link_works() {
    for (hours, reported) in
        [("1", "for one hour."), ("24", "for 24 hours."), ("168", "for 7 days.")]
    {
        let text = rendered(&with("password-reset", "hours", hours)).text;

        assert!(text.contains(reported), "{text}");
    }
    for other in ["", "0", "-1", "soon"] {
        assert!(!rendered(&with("password-reset", "hours", other)).text.contains("works once"));
    }
}

#[test]
fn a_device_that_requests_is_not_simply_to_be_allowed() {
    let text = rendered(&with("device-registered", "name", "DESKTOP-7")).text;

    assert!(text.contains("The device “DESKTOP-7” requests access"), "{text}");
    assert!(text.contains("compare the fingerprints") && text.contains("reject it"), "{text}");
    assert!(!text.contains("nothing to do"), "{text}");
}

#[test]
fn who_invites_or_manages_others_is_not_reported_them() {
    for name in ["invitation", "account-deactivated"] {
        let rendition = rendered(&letter(name, Language::En));

        assert!(!rendition.text.contains("192.0.2.7") && !rendition.html.contains("PiaDesktop"));
    }
}

#[test]
fn nothing_is_fetched_when_a_letter_is_read() {
    for name in NAMES {
        let html = rendered(&letter(name, Language::En)).html;

        for part in ["src=", "url(", "<img", "<link", "<script", "<style", "@import", "<iframe"] {
            assert!(!html.contains(part), "{name}: {part}");
        }
    }
}

#[test]
fn what_others_chose_stands_in_a_letter_as_text() {
    let rendition = rendered(&with("passkey-added", "name", "<a href='x'>\r\nBcc: a\u{202E}b</a>"));

    assert!(!rendition.html.contains("<a href='x'>"), "{}", rendition.html);
    assert!(rendition.text.contains("“<a href='x'>  Bcc: a b</a>”"), "{}", rendition.text);
    let long = rendered(&with("passkey-added", "name", &"x".repeat(5000)));
    assert!(!long.text.contains(&"x".repeat(101)));
}

#[test]
fn a_link_leads_to_a_page() {
    for link in ["", "javascript:alert(1)", "https://a\r\nb", "https://a b", "https://a\"b", "/x"] {
        let failed = failure(&with("password-reset", "link", link));

        assert_eq!(failed, Some(RenderError::Field("link")), "{link}");
    }
    let html = rendered(&letter("verify-address", Language::En)).html;
    assert!(html.contains("userId=1&#38;token=abc"), "{html}");
}

#[test]
fn a_letter_without_what_it_needs_is_refused() {
    for (name, field) in [("verify-address", "link"), ("passkey-removed", "name")] {
        let mut letter = letter(name, Language::En);
        letter.fields.clear();

        assert_eq!(failure(&letter), Some(RenderError::Field(field)));
    }
    assert_eq!(failure(&letter("unheard-of", Language::En)), Some(RenderError::Unknown));
}

#[test]
fn the_last_recovery_codes_are_reported() {
    for (left, reported) in [("0", "None is left"), ("1", "One is left"), ("5", "5 are left.")] {
        assert!(
            rendered(&with("recovery-code-used", "left", left)).text.contains(reported),
            "{left}"
        );
    }
    let failed = failure(&with("recovery-code-used", "left", "some"));
    assert_eq!(failed, Some(RenderError::Field("left")));
}

#[test]
fn how_many_recovery_codes_are_left_is_reported_only_where_it_is_known() {
    let mut letter = letter("recovery-code-used", Language::En);
    letter.fields.remove("left");

    let EmailContent { text, html, .. } = rendered(&letter);

    assert!(text.contains("\n\nA recovery code of your account was used.\n\n"), "{text}");
    assert!(html.contains("A recovery code of your account was used.<"), "{html}");
}
