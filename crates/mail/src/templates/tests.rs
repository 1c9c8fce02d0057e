//! Tests of the texts of emails.

use pia_kernel::Timestamp;

use super::*;

const LINK: &str = "https://pia.example/auth/verify-email?userId=1&token=abc";

/// Returns the names of all emails, as their parser lists them.
fn names() -> Vec<&'static str> {
    let arms = include_str!("kind.rs").lines().map(str::trim_start);
    let names = arms.filter_map(|it| it.strip_prefix('"')?.split_once("\" => Self::"));
    names.map(|(name, _)| name).collect()
}

fn email(name: &str, language: Language) -> OutgoingEmail {
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

fn email_with(name: &str, field: &str, value: &str) -> OutgoingEmail {
    let mut changed_email = email(name, Language::En);
    changed_email.fields.insert(field.to_owned(), value.to_owned());
    changed_email
}

fn render(email: &OutgoingEmail) -> Result<EmailContent, RenderError> {
    EmailTemplates::new("https://pia.example", LiveSetting::new(Language::De)).render(email)
}

fn rendered(email: &OutgoingEmail) -> EmailContent {
    render(email).unwrap_or_else(|err| panic!("{}: {err}", email.name))
}

fn failure(email: &OutgoingEmail) -> Option<RenderError> {
    render(email).err()
}

#[test]
fn every_email_exists_in_both_languages_as_text_and_html() {
    let email_names = names();
    assert!(email_names.contains(&"verify-address"), "{email_names:?}");

    for name in email_names {
        let [english, german] = [Language::En, Language::De].map(|it| rendered(&email(name, it)));

        assert!(english.subject != german.subject, "{name}");
        assert!(english.text.starts_with("Hello,\n\n"), "{name}: {}", english.text);
        assert!(german.text.starts_with("Guten Tag,\n\n"), "{name}: {}", german.text);
        assert!(english.html.contains(r#"<html lang="en">"#), "{name}");
        assert!(german.html.contains(r#"<html lang="de">"#), "{name}");
    }
}

#[test]
fn an_email_is_laid_out_in_paragraphs() {
    let verification = rendered(&email("verify-address", Language::En)).text;
    let notice = rendered(&email("passkey-added", Language::En)).text;
    let invitation = rendered(&email_with("invitation", "hours", "")).text;

    assert_eq!(
        verification,
        "Hello,\n\nSomeone, most likely you, created an account with this address. Confirm that it \
         is yours.\n\nConfirm email address:\n\
         https://pia.example/auth/verify-email?userId=1&token=abc\n\n\
         The link works once, for 24 hours.\n\nWhen: 2026-11-21 15:04 UTC\n\
         IP address: 192.0.2.7\nApp: PiaDesktop, Windows\n\n\
         If this was not you, do not follow the link: you would confirm an account whose password \
         someone else knows. Without your confirmation the address is not used.\n\n\
         -- \nThis email was sent by the Pia server https://pia.example"
    );
    assert_eq!(
        notice,
        "Hello,\n\nThe passkey “My key” was added to your account. It can be used to sign in.\n\n\
         When: 2026-11-21 15:04 UTC\nIP address: 192.0.2.7\n\
         App: PiaDesktop, Windows\n\nIf this was you, there is nothing to do.\n\n\
         If this was not you, reset your password now, which signs out all devices: \
         https://pia.example/auth/forgot-password.html – and tell the administrator of the \
         server.\n\n\
         -- \nThis email was sent by the Pia server https://pia.example"
    );
    assert_eq!(
        invitation,
        "Hello,\n\nYou are invited to create an account on this server.\n\nCreate account:\n\
         https://pia.example/auth/verify-email?userId=1&token=abc\n\n\
         If you do not know what this is about, ignore this email.\n\n\
         -- \nThis email was sent by the Pia server https://pia.example"
    );
}

#[test]
fn a_reported_answer_is_listed_with_its_comment_only() {
    let with_comment = rendered(&email("answer-reported", Language::En)).text;
    let without_comment = rendered(&email_with("answer-reported", "comment", "")).text;

    assert_eq!(
        with_comment,
        "Hello,\n\nA user reported a bad answer of the assistant.\n\nComment: “Wrong sum”\n\n\
         Report 0199f0e0-0000-7000-8000-00000000000e is listed in the console of the \
         server.\n\n-- \nThis email was sent by the Pia server https://pia.example"
    );
    assert!(!without_comment.contains("Comment"), "{without_comment}");
}

#[test]
fn a_changed_password_lists_the_remaining_access() {
    for (app_passwords, api_keys, expected) in [
        ("0", "0", "All other devices were signed out.\n\n"),
        ("1", "0", "signed out. Still valid: one app password. Revoke"),
        ("0", "1", "signed out. Still valid: one API key. Revoke"),
        ("2", "3", "signed out. Still valid: 2 app passwords and 3 API keys. Revoke"),
    ] {
        let mut email = email_with("password-changed", "appPasswords", app_passwords);
        email.fields.insert("apiKeys".to_owned(), api_keys.to_owned());

        let text = rendered(&email).text;
        assert!(text.contains(expected), "{text}");
    }
}

#[test]
fn the_operators_language_is_the_default() {
    let unknown = OutgoingEmail { language: None, ..email("new-device", Language::En) };

    assert!(rendered(&unknown).html.contains(r#"<html lang="de">"#));
}

#[test]
fn the_lifetime_of_a_link_is_displayed() {
    for (hours, expected) in
        [("1", "for one hour."), ("24", "for 24 hours."), ("168", "for 7 days.")]
    {
        let text = rendered(&email_with("password-reset", "hours", hours)).text;

        assert!(text.contains(expected), "{text}");
    }
    for hours in ["", "0", "-1", "soon"] {
        assert!(
            !rendered(&email_with("password-reset", "hours", hours)).text.contains("works once")
        );
    }
}

#[test]
fn a_device_registration_advises_to_compare_fingerprints() {
    let text = rendered(&email_with("device-registered", "name", "DESKTOP-7")).text;

    assert!(text.contains("The device “DESKTOP-7” requests access"), "{text}");
    assert!(text.contains("compare the fingerprints") && text.contains("reject it"), "{text}");
    assert!(!text.contains("nothing to do"), "{text}");
}

#[test]
fn senders_of_invitations_and_administrators_are_not_located() {
    for name in ["invitation", "account-deactivated"] {
        let rendition = rendered(&email(name, Language::En));

        assert!(!rendition.text.contains("192.0.2.7") && !rendition.html.contains("PiaDesktop"));
    }
}

#[test]
fn an_email_loads_nothing() {
    for name in names() {
        let html = rendered(&email(name, Language::En)).html;

        for part in ["src=", "url(", "<img", "<link", "<script", "<style", "@import", "<iframe"] {
            assert!(!html.contains(part), "{name}: {part}");
        }
    }
}

#[test]
fn values_are_escaped() {
    let rendition =
        rendered(&email_with("passkey-added", "name", "<a href='x'>\r\nBcc: a\u{202E}b</a>"));

    assert!(!rendition.html.contains("<a href='x'>"), "{}", rendition.html);
    assert!(rendition.text.contains("“<a href='x'>  Bcc: a b</a>”"), "{}", rendition.text);
    let long = rendered(&email_with("passkey-added", "name", &"x".repeat(5000)));
    assert!(!long.text.contains(&"x".repeat(101)));
}

#[test]
fn only_http_links_are_accepted() {
    for link in ["", "javascript:alert(1)", "https://a\r\nb", "https://a b", "https://a\"b", "/x"] {
        let error = failure(&email_with("password-reset", "link", link));

        assert_eq!(error, Some(RenderError::Field("link")), "{link}");
    }
    let html = rendered(&email("verify-address", Language::En)).html;
    assert!(html.contains("userId=1&#38;token=abc"), "{html}");
}

#[test]
fn an_email_without_its_fields_is_rejected() {
    for (name, field) in [("verify-address", "link"), ("passkey-removed", "name")] {
        let mut empty_email = email(name, Language::En);
        empty_email.fields.clear();

        assert_eq!(failure(&empty_email), Some(RenderError::Field(field)));
    }
    assert_eq!(failure(&email("unheard-of", Language::En)), Some(RenderError::Unknown));
}

#[test]
fn the_number_of_recovery_codes_is_displayed() {
    for (left, expected) in [("0", "None is left"), ("1", "One is left"), ("5", "5 are left.")] {
        assert!(
            rendered(&email_with("recovery-code-used", "left", left)).text.contains(expected),
            "{left}"
        );
    }
    let error = failure(&email_with("recovery-code-used", "left", "some"));
    assert_eq!(error, Some(RenderError::Field("left")));
}

#[test]
fn an_unknown_number_of_recovery_codes_is_omitted() {
    let mut notice = email("recovery-code-used", Language::En);
    notice.fields.remove("left");

    let EmailContent { text, html, .. } = rendered(&notice);

    assert!(text.contains("\n\nA recovery code of your account was used.\n\n"), "{text}");
    assert!(html.contains("A recovery code of your account was used.<"), "{html}");
}
