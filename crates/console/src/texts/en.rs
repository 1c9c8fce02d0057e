//! English texts.

use pia_identity::FirstAdminError;
use pia_policy::InstallError;

use super::{
    EmailPageTexts, FieldErrorTexts, FrontTexts, NoticeTexts, ReasonTexts, RefusalTexts,
    RegisterTexts, ResetTexts, SetupTexts, Texts, VerifyTexts,
};
use crate::refusal::sentence;

pub(super) static TEXTS: Texts = Texts {
    other_language: "Deutsch",
    error: "Error: ",
    problem: "There is a problem",
    optional: "(optional)",
    register: RegisterTexts {
        title: "Create account",
        intro: "With an account you can use this Pia server from the Pia app.",
        email: "Email address",
        password: "Password",
        password_hint: |fewest| {
            format!(
                "At least {fewest} characters. Several words are easy to remember and hard to \
                 guess."
            )
        },
        name: "Your name",
        customer: "How do you use Pia?",
        business: "As a business or in my profession",
        consumer: "Privately, as a consumer",
        company: "Company",
        company_hint: "Required if you use Pia as a business.",
        invitation: "Invitation code",
        invitation_hint: "It is in the invitation that you received.",
        send: "Create account",
        forgotten: "Forgot your password?",
        done: NoticeTexts {
            title: "Your account is ready",
            paragraphs: &[
                "Go back to the Pia app and sign in with your email address and password.",
            ],
        },
        mailed: NoticeTexts {
            title: "Check your inbox",
            paragraphs: &[
                "We have sent an email to your address. Open the link in it to confirm the \
                 address, then go back to the Pia app and sign in.",
                "No email? It can take a few minutes. Check the spam folder too.",
            ],
        },
        closed: NoticeTexts {
            title: "Registration is closed",
            paragraphs: &["Ask the administrator of this server for an account."],
        },
        not_you: "You cannot create an account with this address on this server. Contact its \
                  administrator.",
        not_invited: "Registration is by invitation only, and this invitation is not valid: it was \
                      already used, has expired or is for another address. Ask for a new one.",
        seats_taken: "This server has reached its maximum number of accounts. Contact its \
                      administrator.",
        email_taken: "There is an account with this address already. Sign in to it in the Pia app.",
    },
    forgot: EmailPageTexts {
        title: "Forgot your password?",
        intro: "Enter the email address of your account. We will send you a link to choose a new \
                password.",
        send: "Send link",
        mailed: NoticeTexts {
            title: "Check your inbox",
            paragraphs: &[
                "If there is an account with this address, we have sent a link to it. It works \
                 once and for a limited time.",
                "No email? It can take a few minutes. Check the spam folder too.",
            ],
        },
        no_mail: NoticeTexts {
            title: "This server does not send emails",
            paragraphs: &["Contact its administrator to reset your password."],
        },
    },
    resend: EmailPageTexts {
        title: "Confirm your email address",
        intro: "Enter the email address of your account. We will send you a new link to confirm \
                it.",
        send: "Send link",
        mailed: NoticeTexts {
            title: "Check your inbox",
            paragraphs: &[
                "If there is an account with this address that is not confirmed yet, we have sent \
                 a link to it. It works once and for a limited time.",
                "No email? It can take a few minutes. Check the spam folder too.",
            ],
        },
        no_mail: NoticeTexts {
            title: "This server does not send emails",
            paragraphs: &["Contact its administrator to confirm your address."],
        },
    },
    reset: ResetTexts {
        title: "Choose a new password",
        intro: "Changing the password signs you out everywhere. Sign in again with the new one.",
        account: "Email address of the account",
        password: "New password",
        send: "Change password",
        done: NoticeTexts {
            title: "Password changed",
            paragraphs: &["Go back to the Pia app and sign in with the new password."],
        },
        spent: NoticeTexts {
            title: "This link is no longer valid",
            paragraphs: &["It was already used, has expired, or was replaced by a newer one."],
        },
        again: "Request a new link",
    },
    verify: VerifyTexts {
        title: "Confirm your email address",
        intro: "Confirm that this address is yours to start using your account.",
        send: "Confirm address",
        done: NoticeTexts {
            title: "Email address confirmed",
            paragraphs: &["Go back to the Pia app and sign in."],
        },
        spent: NoticeTexts {
            title: "This link is no longer valid",
            paragraphs: &[
                "It was already used or has expired. If you have already confirmed your address, \
                 go back to the Pia app and sign in.",
            ],
        },
        again: "Request a new link",
    },
    field_errors: FieldErrorTexts {
        email_missing: "Enter your email address.",
        email_invalid: "Enter an email address such as name@example.com.",
        password_missing: "Choose a password.",
        password_short: |fewest| format!("The password must have at least {fewest} characters."),
        password_long: "The password may have at most 128 characters.",
        password_common: "This password is easy to guess. Choose a longer or less common one, such \
                          as several words.",
        password_personal: "The password must not be your name, your address or “Pia”.",
        name_invalid: "The name must be a single line of at most 200 characters.",
        customer_missing: "Select whether you use Pia as a business or privately.",
        company_missing: "Enter the name of your company.",
        company_invalid: "The company must be a single line of at most 200 characters.",
        other: "Check your entries.",
    },
    reasons: ReasonTexts {
        title: "You are not signed in",
        then: "You can close this window, go back to the Pia app and try again.",
        access_denied: "The sign-in was cancelled or not allowed.",
        email_exists: "There is an account with your email address already. Sign in the way you \
                       did when you created it.",
        email_missing: "Your identity provider did not share your email address, which an account \
                        here requires.",
        email_not_verified: "Your identity provider has not confirmed your email address. Confirm \
                             it there first.",
        user_limit_reached: "This server has reached its maximum number of accounts. Contact its \
                             administrator.",
        license_expired: "The licence of this server has expired. No accounts can be created until \
                          it is renewed. Contact its administrator.",
        registration_closed: "You have no account on this server and cannot create one. Contact \
                              its administrator.",
        free_tier_suspended: "Free accounts are not available at the moment.",
        provider_error: "Your identity provider reported an error.",
        provider_unreachable: "Your identity provider is not responding at the moment.",
        provider_not_configured: "Your identity provider is not set up on this server. Contact its \
                                  administrator.",
        unknown_provider: "The app requested an identity provider that this server does not know.",
        code_challenge_required: "Your Pia app is too old for this server. Update it first.",
        invalid_request: "The app sent an invalid sign-in request.",
        invalid_state: "This sign-in was not started in this browser or has already ended.",
        expired: "The sign-in took too long.",
        feature_not_licensed: "The licence of this server does not include sign-in with an \
                               identity provider. Contact its administrator.",
        account_deactivated: "Your account is deactivated. Contact the administrator of this \
                              server.",
        unavailable: "Part of the server is down or busy. Try again in a moment.",
        server_error: "Something went wrong on the server. Try again in a few minutes.",
        other: "The sign-in failed.",
    },
    refusals: RefusalTexts {
        broken_link: NoticeTexts {
            title: "This link is incomplete",
            paragraphs: &[
                "Part of it is missing or was changed. Copy the whole link from the email.",
            ],
        },
        broken_form: NoticeTexts {
            title: "The form could not be read",
            paragraphs: &["Go back, fill it in again and submit it once more."],
        },
        no_page: NoticeTexts {
            title: "Page not found",
            paragraphs: &[
                "Check the address: part of it may be missing or misspelled. Or the content of the \
                 page was deleted.",
            ],
        },
        only_form: NoticeTexts {
            title: "This address only takes a form",
            paragraphs: &["Open the page with the form and submit it there."],
        },
        foreign_form: NoticeTexts {
            title: "This form was not accepted",
            paragraphs: &[
                "It was sent from another website, or the page was open for too long. Nothing \
                 was changed. Go back, reload the page and try again.",
            ],
        },
        forbidden: NoticeTexts {
            title: "You do not have access",
            paragraphs: &[
                "Your role does not include this page. Ask an administrator if you need it.",
            ],
        },
        undeclared: NoticeTexts {
            title: "Declare your business first",
            paragraphs: &[
                "This server is for businesses only. Declare on your profile which company you use \
                 it for, then try this again.",
            ],
        },
        unverified: NoticeTexts {
            title: "Verify your email address first",
            paragraphs: &[
                "Open the link that we emailed you, then try this again. You can request another \
                 email on your profile.",
            ],
        },
        too_long: NoticeTexts {
            title: "Too much text",
            paragraphs: &["The form is longer than allowed. Go back and shorten it."],
        },
        no_license: NoticeTexts {
            title: "No licence yet",
            paragraphs: &["This server has no valid licence. Install one on the setup page."],
        },
        license_expired: NoticeTexts {
            title: "The licence has expired",
            paragraphs: &["Data can still be read; renew the licence to make changes."],
        },
        unlicensed: NoticeTexts {
            title: "Not included in the licence",
            paragraphs: &[
                "The licence of this server does not allow this. Contact its administrator.",
            ],
        },
        too_many: NoticeTexts {
            title: "Too many attempts",
            paragraphs: &["Wait a while, then try again."],
        },
        unavailable: NoticeTexts {
            title: "Temporarily unavailable",
            paragraphs: &["Part of the server is down or busy. Try again in a moment."],
        },
        failed: NoticeTexts {
            title: "Something went wrong",
            paragraphs: &["The error is in the server’s log. Try again in a few minutes."],
        },
    },
    front: FrontTexts {
        intro: "This is a Pia server. To use it, open the Pia app and enter the address of this \
                page as your server.",
        unlicensed: "The licence of this server has expired. Until it is renewed, you can sign in \
                     and read, but not change anything.",
        set_up: "Set up this server",
        account: "Your account",
        console: "Console for administrators",
        register: "Create account",
        forgot: "Forgot your password?",
        api: "API description (OpenAPI)",
    },
    setup: SetupTexts {
        title: "Set up this server",
        no_license: "This server has no licence yet. Install one to continue.",
        refused: |error| {
            format!("The licence file of this server is not accepted. {}", sentence(error))
        },
        ended: |at| {
            format!(
                "The licence of this server expired at {at}. Until it is renewed, people can sign \
                 in and read, but not change anything."
            )
        },
        no_admin: "The licence is installed. Now create the administrator account.",
        done: NoticeTexts {
            title: "This server is set up",
            paragraphs: &[
                "The licence is installed, and there is an administrator account.",
                "Next, sign in to that account and set up a second factor. Then continue in the console.",
            ],
        },
        next: "Continue with the first steps",
        token: "Setup token",
        token_hint: "It is in the file at Setup:TokenPath, by default .setup-token in the server’s \
                     folder. The server’s log shows the path.",
        license: "Licence",
        license_hint: "The whole text of the licence file, which begins with pia-license-v1. Line \
                       breaks do not matter.",
        install: "Install licence",
        password_hint: "Choose a long password that you use nowhere else, such as a few random \
                        words.",
        create: "Create administrator account",
        install_error: |err| match err {
            InstallError::Unavailable(_) => "The server could not store the licence or read its \
                                             setup token. Its log has the reason."
                .to_owned(),
            other => sentence(other),
        },
        admin_error: |err| match err {
            FirstAdminError::Unavailable(_) => {
                "Part of the server is not responding. Its log has the reason.".to_owned()
            }
            other => sentence(other),
        },
    },
};
