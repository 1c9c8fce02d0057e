//! `Feedback`: recipients and retention of reports on answers.

use std::time::Duration;

use pia_mail::SenderAddress;
use pia_policy::FeedbackSettings;

use super::section::Section;

const DAY: Duration = Duration::from_hours(24);

pub(super) fn from_section(from: &mut Section<'_>) -> FeedbackSettings {
    let operator = from.reload("NotifyAddress").optional::<SenderAddress>();
    let provider = from.reload("ProviderAddress").optional::<SenderAddress>();
    let forwards = from.reload("ForwardToProvider").or(true);
    let forwarding_address = if forwards { provider } else { None };
    let mut recipients: Vec<_> =
        operator.into_iter().chain(forwarding_address).map(|it| it.to_string()).collect();
    recipients.dedup();

    FeedbackSettings {
        recipients,
        answer_retention: DAY * from.reload("AnswerRetentionDays").within(90_u32, 1..=3650),
        report_retention: DAY * from.reload("RetentionDays").within(365_u32, 1..=3650),
    }
}
