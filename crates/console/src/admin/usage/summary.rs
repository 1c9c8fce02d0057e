//! Usage on the first page of the console.

use futures_util::future::try_join3;
use pia_assistant::{Micros, UsageDetails, UsageGrouping, UsageRange, UsageSubject, UsageSum};
use pia_web::ApiError;

use crate::page_context::PageContext;
use crate::texts::common;
use crate::ui::chart::{Chart, ChartBar};
use crate::ui::view::{Link, SectionPart};
use crate::ui::{Cell, Row, Section, Table, Text, format};

pub(super) const TITLE: Text = Text::new("Usage", "Nutzung");
pub(super) const DAY: Text = Text::new("Day", "Tag");
pub(super) const CALLS: Text = Text::new("Calls", "Aufrufe");
pub(super) const ERRORS: Text = Text::new("Errors", "Fehler");
pub(super) const CREDITS: Text = Text::new("Credits", "Credits");
const PEOPLE: Text = Text::new("People", "Personen");
const FIGURE: Text = Text::new("Figure", "Kennzahl");
const TODAY: Text = Text::new("Today (UTC)", "Heute (UTC)");
const MONTH: Text = Text::new("30 days", "30 Tage");
const CALLS_BY_DAY: Text = Text::new("Calls by day", "Aufrufe je Tag");
const CREDITS_BY_DAY: Text = Text::new("Credits by day", "Credits je Tag");
const MORE: Text =
    Text::new("Usage by person, group and model", "Nutzung nach Person, Gruppe und Modell");

/// Number of days that the charts show.
const MONTH_DAYS: u32 = 30;

/// Returns the sum of the sums of days.
pub(super) fn total(days: &[UsageSum]) -> (i64, Micros, UsageDetails) {
    let none = (0, Micros(0), UsageDetails::default());
    days.iter().fold(none, |(calls, spent, sum), day| {
        let it = day.details.unwrap_or_default();
        let details = UsageDetails {
            failed: sum.failed.saturating_add(it.failed),
            input_tokens: sum.input_tokens.saturating_add(it.input_tokens),
            cached_input_tokens: sum.cached_input_tokens.saturating_add(it.cached_input_tokens),
            output_tokens: sum.output_tokens.saturating_add(it.output_tokens),
        };
        (calls.saturating_add(day.calls), spent.plus(day.spent), details)
    })
}

/// Returns the numbers of today and of 30 days, with their charts.
pub(in crate::admin) async fn section(page: &PageContext) -> Result<Section, ApiError> {
    let report = page.api.usage.clone();
    let month = report.last_days(MONTH_DAYS);
    let read = async move {
        try_join3(
            report.sums(month, UsageGrouping::Day, MONTH_DAYS),
            report.count_recent_users(1),
            report.count_recent_users(MONTH_DAYS),
        )
        .await
    };
    let (days, people_today, people) = page.run(read).await?;
    let last = days.len().saturating_sub(1);
    let table = table(
        page,
        total(days.get(last..).unwrap_or_default()),
        total(&days),
        (people_today, people),
    );
    let more = Link { label: page.t(MORE).to_owned(), path: path(month) };
    let section = Section::new("usage", page.t(TITLE)).table(table).links(vec![more]);
    if total(&days).0 == 0 {
        return Ok(section);
    }

    let calls = |it: &UsageSum| (format::number(page.language, it.calls), it.calls);
    let credits =
        |it: &UsageSum| (format::number(page.language, it.spent.rounded_up()), it.spent.0);
    let section = section.part(SectionPart::Chart(chart(page, CALLS_BY_DAY, &days, calls)));

    Ok(section.part(SectionPart::Chart(chart(page, CREDITS_BY_DAY, &days, credits))))
}

fn path(range: UsageRange) -> String {
    format!("admin/usage?by=user&from={}&to={}", range.first_day(), range.last_day())
}

fn table(
    page: &PageContext,
    today: (i64, Micros, UsageDetails),
    month: (i64, Micros, UsageDetails),
    people: (i64, i64),
) -> Table {
    let row = |name: Text, today: i64, month: i64| {
        let number = |it: i64| Cell::number(format::number(page.language, it));
        Row::new(vec![Cell::text(page.t(name)), number(today), number(month)])
    };

    Table {
        caption: page.t(TITLE).to_owned(),
        columns: [FIGURE, TODAY, MONTH].map(|it| page.t(it).to_owned()).into(),
        rows: vec![
            row(CALLS, today.0, month.0),
            row(ERRORS, today.2.failed, month.2.failed),
            row(CREDITS, today.1.rounded_up(), month.1.rounded_up()),
            row(PEOPLE, people.0, people.1),
        ],
        ..Table::default()
    }
}

fn chart(
    page: &PageContext,
    title: Text,
    days: &[UsageSum],
    value: impl Fn(&UsageSum) -> (String, i64),
) -> Chart {
    let bars = days.iter().map(|it| {
        let (text, value) = value(it);
        ChartBar::new(day_of(page, &it.subject), text, value)
    });
    Chart {
        title: page.t(title).to_owned(),
        numbers_label: page.t(common::AS_TABLE).to_owned(),
        label_heading: page.t(DAY).to_owned(),
        bars: bars.collect(),
    }
}

/// Returns the day of a sum of one.
fn day_of(page: &PageContext, subject: &UsageSubject) -> String {
    match subject {
        UsageSubject::Day(day) => format::date(page.language, *day),
        _ => String::new(),
    }
}
