//! Usage on the first page of the console.

use futures_util::future::try_join3;
use pia_assistant::{Micros, UsageDetails, UsageGrouping, UsageRange, UsageSubject, UsageSum};
use pia_web::ApiError;

use crate::page_context::PageContext;
use crate::texts::common;
use crate::ui::chart::{Chart, ChartBar};
use crate::ui::view::{Link, SectionPart};
use crate::ui::{Cell, Row, Section, Table, Text, format};

/// Number of days in the charts.
const MONTH_DAYS: u32 = 30;

/// Usage of several days together.
#[derive(Clone, Copy, Default)]
pub(super) struct UsageTotals {
    pub(super) calls: i64,
    pub(super) spent: Micros,
    pub(super) details: UsageDetails,
}

impl UsageTotals {
    /// Adds up the usage of days.
    pub(super) fn of<'a>(days: impl IntoIterator<Item = &'a UsageSum>) -> Self {
        days.into_iter().fold(Self::default(), Self::plus)
    }

    fn plus(self, day: &UsageSum) -> Self {
        let total = self.details;
        let added = day.details.unwrap_or_default();
        Self {
            calls: self.calls.saturating_add(day.calls),
            spent: self.spent.plus(day.spent),
            details: UsageDetails {
                failed: total.failed.saturating_add(added.failed),
                input_tokens: total.input_tokens.saturating_add(added.input_tokens),
                cached_input_tokens: total
                    .cached_input_tokens
                    .saturating_add(added.cached_input_tokens),
                output_tokens: total.output_tokens.saturating_add(added.output_tokens),
                timed_calls: total.timed_calls.saturating_add(added.timed_calls),
                duration_millis: total.duration_millis.saturating_add(added.duration_millis),
            },
        }
    }
}

/// Figures of one period.
struct PeriodFigures {
    totals: UsageTotals,
    /// Number of people who called a model.
    people: i64,
}

/// Returns the numbers of today and of 30 days, with their charts.
pub(in crate::admin) async fn section(page: &PageContext) -> Result<Section, ApiError> {
    let month = page.api.usage.last_days(MONTH_DAYS);
    let (days, people_today, people_of_month) = page
        .run(|api| async move {
            try_join3(
                api.usage.sums(month, UsageGrouping::Day, None, MONTH_DAYS),
                api.usage.count_recent_users(1),
                api.usage.count_recent_users(MONTH_DAYS),
            )
            .await
        })
        .await?;
    let today = PeriodFigures { totals: UsageTotals::of(days.last()), people: people_today };
    let last_month = PeriodFigures { totals: UsageTotals::of(&days), people: people_of_month };
    let table = figures_table(page, &today, &last_month);
    let more = Link { label: page.t(MORE).to_owned(), path: usage_path(month) };
    let section = Section::new("usage", page.t(TITLE)).table(table).links(vec![more]);
    if last_month.totals.calls == 0 {
        return Ok(section);
    }

    let charts = usage_charts(page, &days).map(SectionPart::Chart);
    Ok(charts.into_iter().fold(section, Section::part))
}

/// Returns a chart of each figure.
fn usage_charts(page: &PageContext, days: &[UsageSum]) -> [Chart; 5] {
    let details = |it: &UsageSum| it.details.unwrap_or_default();
    [
        chart(page, PEOPLE_BY_DAY, days, |it| Figure::number(page, it.users.unwrap_or_default())),
        chart(page, CALLS_BY_DAY, days, |it| Figure::number(page, it.calls)),
        chart(page, CREDITS_BY_DAY, days, |it| Figure::credits(page, it.spent)),
        chart(page, RESPONSE_TIME_BY_DAY, days, |it| Figure::response_time(page, details(it))),
        chart(page, ERRORS_BY_DAY, days, |it| Figure::number(page, details(it).failed)),
    ]
}

/// Number of a chart, with its text.
struct Figure {
    text: String,
    value: i64,
}

impl Figure {
    fn number(page: &PageContext, value: i64) -> Self {
        Self { text: format::number(page.language, value), value }
    }

    /// Returns an amount of credits. The text is rounded up.
    fn credits(page: &PageContext, spent: Micros) -> Self {
        Self { text: format::number(page.language, spent.rounded_up()), value: spent.0 }
    }

    /// Returns the mean duration of calls, in milliseconds.
    fn response_time(page: &PageContext, details: UsageDetails) -> Self {
        match details.mean_millis() {
            Some(millis) => Self { text: format::duration(page.language, millis), value: millis },
            None => Self { text: "–".to_owned(), value: 0 },
        }
    }
}

fn usage_path(range: UsageRange) -> String {
    format!("admin/usage?by=user&from={}&to={}", range.first_day(), range.last_day())
}

fn figures_table(page: &PageContext, today: &PeriodFigures, month: &PeriodFigures) -> Table {
    let row = |name: Text, figure: fn(&PageContext, &PeriodFigures) -> String| {
        let cell = |it: &PeriodFigures| Cell::number(figure(page, it));
        Row::new(vec![Cell::text(page.t(name)), cell(today), cell(month)])
    };

    Table {
        caption: page.t(TITLE).to_owned(),
        columns: [FIGURE, TODAY, MONTH].map(|it| page.t(it).to_owned()).into(),
        rows: vec![
            row(CALLS, |page, it| format::number(page.language, it.totals.calls)),
            row(ERRORS, |page, it| format::number(page.language, it.totals.details.failed)),
            row(CREDITS, |page, it| format::number(page.language, it.totals.spent.rounded_up())),
            row(RESPONSE_TIME, |page, it| Figure::response_time(page, it.totals.details).text),
            row(PEOPLE, |page, it| format::number(page.language, it.people)),
        ],
        ..Table::default()
    }
}

fn chart(
    page: &PageContext,
    title: Text,
    days: &[UsageSum],
    figure_of: impl Fn(&UsageSum) -> Figure,
) -> Chart {
    let bars = days.iter().map(|it| {
        let Figure { text, value } = figure_of(it);
        ChartBar::new(day_text(page, &it.subject), text, value)
    });
    Chart {
        title: page.t(title).to_owned(),
        numbers_label: page.t(common::AS_TABLE).to_owned(),
        label_heading: page.t(DAY).to_owned(),
        bars: bars.collect(),
    }
}

/// Formats the day of a sum that is grouped by day.
fn day_text(page: &PageContext, subject: &UsageSubject) -> String {
    match subject {
        UsageSubject::Day(day) => format::date(page.language, *day),
        _ => String::new(),
    }
}

pub(super) const TITLE: Text = Text::new("Usage", "Nutzung");
pub(super) const DAY: Text = Text::new("Day", "Tag");
pub(super) const CALLS: Text = Text::new("Calls", "Aufrufe");
pub(super) const ERRORS: Text = Text::new("Errors", "Fehler");
pub(super) const CREDITS: Text = Text::new("Credits", "Credits");
const PEOPLE: Text = Text::new("People", "Personen");
const FIGURE: Text = Text::new("Metric", "Kennzahl");
const TODAY: Text = Text::new("Today (UTC)", "Heute (UTC)");
const MONTH: Text = Text::new("30 days", "30 Tage");
const PEOPLE_BY_DAY: Text = Text::new("People by day", "Personen je Tag");
const CALLS_BY_DAY: Text = Text::new("Calls by day", "Aufrufe je Tag");
const CREDITS_BY_DAY: Text = Text::new("Credits by day", "Credits je Tag");
const RESPONSE_TIME: Text = Text::new("Average response time", "Durchschnittliche Antwortzeit");
const RESPONSE_TIME_BY_DAY: Text =
    Text::new("Average response time by day", "Durchschnittliche Antwortzeit je Tag");
const ERRORS_BY_DAY: Text = Text::new("Errors by day", "Fehler je Tag");
const MORE: Text =
    Text::new("Usage by person, group and model", "Nutzung nach Person, Gruppe und Modell");
